/* The owner's socket: operators' requests, carried out between turns. */
#ifndef CMD_DESK_H
#define CMD_DESK_H

#include "daemon.h"

/* Whether the socket can be where @c has it; if not @why names the line. */
MUST_CHECK enum err desk_check(const struct config *c, struct err_detail *why);

/* Opens @d->server.  A socket that cannot be had is told of, not fatal. */
void desk_open(struct daemon *d);

/* Whether operators still get in; one line if not, and one when they do. */
void desk_look(struct daemon *d, int64_t boot_ms);
void desk_close(struct daemon *d);

#endif
