# Boards include this last: one static file with musl in it, and no tables for
# unwinding, for nothing unwinds.  LIBC=glibc takes the compiler's own C library.
LIBC		?= musl
DEPS		:= $(DEPS)$(if $(filter glibc,$(LIBC)),-glibc)
BOARD_CFLAGS	+= -fno-unwind-tables -fno-asynchronous-unwind-tables
BOARD_LDFLAGS	:= -static -s
