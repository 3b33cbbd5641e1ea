/*
 * A batch: events that are handled and committed together.
 *
 * No neighbour pays for an event that takes the transaction down: the events
 * before it are run again and committed, then it alone, then the rest.
 */
#ifndef FLOW_BATCH_H
#define FLOW_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "flow/group.h"
#include "core/order.h"
#include "store/pending.h"
#include "store/store.h"

/* One event in one group, from the wire or from the store. */
struct work {
	struct group *group;	/* NULL: the delivery matches none */
	struct pending p;	/* p.id is 0 for a delivery */
	struct order order;
	bool stale;		/* by the order guard, when it was settled */

	bool probe;		/* to be run though the breaker is open */
	bool over;		/* beyond the limits: to be buried, not run */
	bool alone;		/* to be run by itself before it is believed */
	bool decided;		/* result stands: not to be run again */
	struct result result;
};

struct batch {
	struct store *store;		/* kept */
	struct group *groups;		/* kept */
	unsigned groups_len;
	struct counters *ungrouped;	/* kept; of deliveries of no group */

	struct work *work;		/* kept */
	unsigned len;

	int64_t boot_ms;		/* CLOCK_BOOTTIME of the turn */
	int64_t now_ms;			/* store clock of the turn */
	int64_t stop_boot_ms;		/* deliveries not run by then wait */
	bool careful;			/* deliveries wait to be run alone */
	bool wrote;			/* the transaction changes more than
					   a redelivery's suppression */
	bool fruitful;			/* this owner committed events, or was
					   connected for long */
	int64_t clock_saved_ms;		/* store clock when last written down */
};

/*
 * Handles and commits all of @b->work; a transaction is open and has read
 * nothing yet.  OK: each is committed at its place.  Otherwise the store
 * failed, no transaction is open, and what is not committed never happened.
 */
MUST_CHECK enum err batch_run(struct batch *b);

/*
 * Writes down the counters that duplicates left behind, and the clock; drops a
 * slice of the payloads that are owed.
 */
MUST_CHECK enum err batch_save(struct batch *b);

/* The clock too while something waits, so that short boots add up. */
MUST_CHECK enum err batch_save_clock(struct batch *b);

/* Whether letters beyond max_dead still have the payload they must lose. */
bool batch_owes_payloads(const struct batch *b);

#endif
