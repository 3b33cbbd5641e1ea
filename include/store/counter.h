/* Totals per group that survive restarts. */
#ifndef STORE_COUNTER_H
#define STORE_COUNTER_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"

struct store;

#define COUNTER_LIST(X)							\
	X(received) X(done) X(suppressed_done) X(suppressed_pending)	\
	X(suppressed_dead) X(retained) X(attempts_ok)			\
	X(attempts_transient) X(attempts_permanent) X(attempts_poison)	\
	X(dead_permanent) X(dead_poison) X(dead_conflict)		\
	X(dead_exhausted) X(dead_crash_loop) X(dropped) X(markers)	\
	X(unmatched) X(sessions_lost) X(superseded)

struct counters {
#define COUNTER_FIELD_(name) int64_t name;
	COUNTER_LIST(COUNTER_FIELD_)
#undef COUNTER_FIELD_
};

/* Group number of what belongs to no group. */
#define COUNTER_NO_GROUP	0

/* Adds @delta to the group's row; part of a transaction. */
MUST_CHECK enum err counter_add(struct store *st, int64_t group_no,
				const struct counters *delta);

/* All 0 for a group that has no row. */
MUST_CHECK enum err counter_get(struct store *st, int64_t group_no,
				struct counters *ret_c);

#endif
