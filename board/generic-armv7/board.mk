# Any 32-bit ARMv7-A with hard float and Linux 4.14 or later.  Time and file
# offsets have 64 bits in every library.
DEPS		?= generic-armv7
CROSS_COMPILE	:= arm-linux-gnueabihf-
BOARD_PACKAGES	:= gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
BOARD_CFLAGS	:= -march=armv7-a+fp -mfloat-abi=hard -mthumb \
		   -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
OPENSSL_TARGET	:= linux-armv4
QEMU		:= qemu-arm-static
SIZE_TLS	:= 3200000
SIZE_PLAIN	:= 1300000
include board/common/static.mk
