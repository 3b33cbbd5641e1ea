/*
 * The seam between flows and handlers: a flow calls attempt(), and never
 * learns what kind of handler made the effect.
 */
#ifndef CORE_HANDLER_H
#define CORE_HANDLER_H

#include "base/defs.h"
#include "base/err.h"
#include "core/event.h"
#include "core/identity.h"
#include "core/outcome.h"

struct attempt { /* in: one run for one event */
	const struct event *event;
	const struct identity *id;
	struct span group;
	unsigned number;		 /* from 1 */
	struct span order_key, order_by; /* absent without an order guard */
	bool stale;			 /* older than its key's last value */
};

struct result { /* out */
	enum outcome outcome;
	struct error_type type; /* empty if ok */
	/*
	 * The failure may be the neighbours' doing (memory, space, size): the
	 * event is to be run alone before it is believed.
	 */
	bool doubtful;
	bool full; /* and it was for want of space */
};

/*
 * OK with *ret_r filled; the handler ran inside the caller's transaction and
 * may have taken it down: ask the store.  Any other value means that the store
 * failed: no outcome, the batch is to be abandoned.
 */
typedef enum err handler_attempt_fn(void *self, const struct attempt *a,
				    struct result *ret_r);

struct handler {
	handler_attempt_fn *attempt;
	void *self; /* kept */
};

#endif
