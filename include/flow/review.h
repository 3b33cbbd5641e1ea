/*
 * The walk over all that waits at a start, a slice per turn: what limits that
 * were tightened no longer let wait is buried or made due earlier, and what
 * several owners died of is buried.
 */
#ifndef FLOW_REVIEW_H
#define FLOW_REVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "flow/batch.h"

#define REVIEW_ROWS	200	/* looked at in one turn */
#define REVIEW_BURIALS	20	/* and buried */

struct review {
	int64_t last_id;	/* all up to here are done */
	unsigned orphans;	/* of groups that are not configured */
	bool over;		/* and behind it there is nothing */
};

/*
 * One slice, through @b, whose clocks are set; @a is reset.  ERR_BUSY: the
 * store is locked by someone.
 */
MUST_CHECK enum err review_turn(struct review *v, struct batch *b,
				struct arena *a);

#endif
