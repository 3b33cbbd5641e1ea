/* The one place where the program waits: epoll over a few descriptors. */
#ifndef OS_LOOP_H
#define OS_LOOP_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"

enum loop_source {
	LOOP_SIGNALS,
	LOOP_LINK,
	LOOP_RESOLVER,
	LOOP_SERVER,
	LOOP_SOURCES
};

struct loop;

/* *ret_l is given: loop_free().  ERR_NOMEM; ERR_IO: no descriptor is left. */
MUST_CHECK enum err loop_new(struct loop **ret_l);
void loop_free(struct loop *l); /* safe on NULL; closes no watched one */

/*
 * Waits on @fd of @source for @events (POLLIN, POLLOUT; 0: errors only) from
 * now on; -1: no longer.  Call it again once a watched descriptor was closed:
 * its number may come back as another's.  ERR_IO: @fd cannot be watched.
 */
MUST_CHECK enum err loop_watch(struct loop *l, enum loop_source source, int fd,
			       short events);

/*
 * Waits for at most @timeout_ms (-1: without limit), or a minute.
 * ret_events[source] is POLLIN and POLLOUT as they came, errors as both.
 */
MUST_CHECK enum err loop_wait(struct loop *l, int64_t timeout_ms,
			      short ret_events[LOOP_SOURCES]);

#endif
