# Any 64-bit ARM with Linux 4.14 or later: ARMv8-A without extensions.
DEPS		?= generic-arm64
CROSS_COMPILE	:= aarch64-linux-gnu-
BOARD_PACKAGES	:= gcc-aarch64-linux-gnu libc6-dev-arm64-cross
OPENSSL_TARGET	:= linux-aarch64
QEMU		:= qemu-aarch64-static
# The most the program may be, in bytes, with TLS and without.
SIZE_TLS	:= 4500000
SIZE_PLAIN	:= 1800000
include board/common/static.mk
