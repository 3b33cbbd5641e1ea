# This machine, as one static binary.
DEPS		?= host-static
SIZE_TLS	:= 7000000
SIZE_PLAIN	:= 2300000
include board/common/static.mk
