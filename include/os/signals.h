/* Signals as a descriptor (signalfd(2)), so that they come between turns. */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include <stdbool.h>

#include "base/defs.h"
#include "base/err.h"

/* What came since the last look. */
struct signals {
	bool stop;   /* SIGTERM, SIGINT */
	bool reload; /* SIGHUP */
};

/*
 * Blocks them for the process and ignores SIGPIPE.  *ret_fd is given: close().
 * ERR_IO: no descriptor is left.
 */
MUST_CHECK enum err signals_open(int *ret_fd);

/* Never waits. */
void signals_take(int fd, struct signals *ret_s);

#endif
