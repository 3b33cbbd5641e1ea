# This machine, as one static binary.
DEPS		?= host
BOARD_LDFLAGS	:= -static -s
SIZE_TLS	:= 7000000
SIZE_PLAIN	:= 2300000
