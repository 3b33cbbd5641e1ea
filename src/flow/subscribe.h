/* Which filters the broker is asked for, and which are taken back. */
#ifndef FLOW_SUBSCRIBE_H
#define FLOW_SUBSCRIBE_H

#include "flow/session.h"

/* Gathers the filters of all groups, each once. */
void subscribe_collect(struct session *s);

/* Whether the store remembers filters at this broker: a session is expected. */
MUST_CHECK enum err subscribe_known(struct session *s, bool *ret_known);

/*
 * Subscribes to all that is wanted and unsubscribes what no longer is; the
 * store remembers.  ERR_LINK, or the store's failure.
 */
MUST_CHECK enum err subscribe_all(struct session *s);

/* A link_suback_fn: a filter that is not granted at QoS 1 is an error state. */
void subscribe_on_suback(void *session, unsigned index, int code);

#endif
