# Not a gateway: a big-endian machine for the tests.
DEPS		?= qemu-s390x
CROSS_COMPILE	:= s390x-linux-gnu-
BOARD_PACKAGES	:= gcc-s390x-linux-gnu libc6-dev-s390x-cross
OPENSSL_TARGET	:= linux64-s390x
QEMU		:= qemu-s390x-static
# A test that opens the store beside the program would read a WAL index in the
# other byte order: only tests that run emulated themselves.
ON_HOST		:=
include board/common/static.mk
