/*
 * Runs pending events again when they are due, a few per turn and of each group
 * its share.  A paused group runs nothing, one with an open breaker a probe now
 * and then.  At a start all that waits is reviewed first, and after an owner
 * that died what may have killed it is claimed, committed, and run alone.
 */
#ifndef FLOW_RETRY_H
#define FLOW_RETRY_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "flow/batch.h"
#include "flow/review.h"

#define RETRY_ROWS	20	/* per turn, so that live events keep flowing */
#define RETRY_TURN_MS	500

struct retry {
	struct batch batch;
	struct arena arena;
	struct work work[RETRY_ROWS];
	struct pending rows[RETRY_ROWS];
	struct review review;
	bool careful;		/* the last owner died: of what it had not run
				   yet, each is run alone */
	int64_t hold_boot_ms;	/* not before: memory was short */
	unsigned first;		/* the group that begins the next turn */
};

struct retry_options {		/* all kept */
	struct store *store;
	struct group *groups;
	unsigned groups_len;
	struct counters *ungrouped;
	size_t max_bytes;	/* memory for one turn */
};

void retry_init(struct retry *r, const struct retry_options *o);
void retry_fini(struct retry *r);

/*
 * One turn; nothing happens while nothing is due.  ERR_BUSY: the store is
 * locked by someone.
 */
MUST_CHECK enum err retry_turn(struct retry *r, int64_t boot_ms);

/* Milliseconds until something is due; 0: now, -1: nothing waits. */
int64_t retry_wait_ms(const struct retry *r, int64_t boot_ms);

/* Something may have become pending: look again when the next one is due. */
MUST_CHECK enum err retry_refresh(struct retry *r);

#endif
