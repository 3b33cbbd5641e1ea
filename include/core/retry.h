/* The retry policy: a pure function from an outcome to what happens next. */
#ifndef CORE_RETRY_H
#define CORE_RETRY_H

#include <stdint.h>

#include "core/lifecycle.h"
#include "core/outcome.h"

/* Owners that may die while an event runs before it is given up on. */
#define RETRY_CRASHES 3

struct retry_policy {
	unsigned max_attempts; /* at least 1 */
	int64_t window_ms;     /* from the first attempt to the last */
	int64_t initial_ms;    /* wait after the first failure; at least 1 */
	int64_t max_ms;	       /* longest wait; at least initial_ms */
};

struct retry_history {
	unsigned attempts;	 /* counted ones, with the one just made */
	int64_t window_start_ms; /* store clock, group time */
	uint32_t jitter;	 /* any number; spreads the waits */
};

enum verdict_kind {
	VERDICT_DONE,
	VERDICT_WAIT, /* until verdict.due_ms */
	VERDICT_BURY, /* as verdict.dead */
};

struct verdict {
	enum verdict_kind kind;
	int64_t due_ms;
	enum dead_kind dead;
};

/*
 * The line that decides what happens to a failed event.  Waits double from
 * initial_ms to max_ms and vary by 20 % either way.  A wait that would end
 * behind the window ends at the window's end; at that point the event is
 * exhausted.
 */
struct verdict retry_judge(const struct retry_policy *p, enum outcome outcome,
			   const struct retry_history *h, int64_t now_ms);

/*
 * What becomes of an event that waits until @due_ms when the policy may have
 * been tightened since: VERDICT_WAIT with the same time or an earlier one, or
 * VERDICT_BURY.  @h counts the attempts that were made.
 */
struct verdict retry_recheck(const struct retry_policy *p,
			     const struct retry_history *h, int64_t due_ms,
			     int64_t now_ms);

/*
 * The longest time the policy's attempts can last, without jitter.  `check`
 * holds it against the window.
 */
int64_t retry_span_ms(const struct retry_policy *p);

#endif
