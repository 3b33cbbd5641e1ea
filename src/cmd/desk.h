/* The owner's socket: operators' requests, carried out between turns. */
#ifndef CMD_DESK_H
#define CMD_DESK_H

#include "daemon.h"

/* Opens @d->server.  A socket that cannot be had is told of, not fatal. */
void desk_open(struct daemon *d);
void desk_close(struct daemon *d);

#endif
