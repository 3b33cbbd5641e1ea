# This machine, as one static binary.
DEPS		?= host-static
SIZE_TLS	:= 5600000
SIZE_PLAIN	:= 1800000
include board/common/static.mk
