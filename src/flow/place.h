/*
 * Where an event ends up: each function is the fixed list of steps that takes
 * it there, inside the batch's transaction.
 */
#ifndef FLOW_PLACE_H
#define FLOW_PLACE_H

#include "flow/batch.h"
#include "store/marker.h"

/* What one run came to. */
struct run {
	struct result result;
	int64_t took_ms;
};

/* Not in the store yet: it came over the wire in this batch. */
static inline bool is_delivery(const struct work *w)
{
	return w->p.id == 0;
}

/* The group's time, as the batch has left it so far. */
int64_t group_now_ms(const struct batch *b, const struct work *w);

/* One line of history for the run that was made. */
MUST_CHECK enum err note_run(struct batch *b, const struct work *w,
			     const struct run *run);

/* Part of getting to done or dead; enum marker_state, plus a dead kind. */
MUST_CHECK enum err put_marker(struct batch *b, const struct work *w,
			       int state);

/* done: the effect stands. */
MUST_CHECK enum err finish(struct batch *b, const struct work *w,
			   const struct run *run);

/* done, without effect: a newer event of its order key was handled. */
MUST_CHECK enum err supersede(struct batch *b, const struct work *w);

/* dead; @attempts counted ones. */
MUST_CHECK enum err bury(struct batch *b, const struct work *w,
			 enum dead_kind kind, const struct error_type *type,
			 unsigned attempts);

/* pending, as it came, with 0 attempts. */
MUST_CHECK enum err postpone(struct batch *b, const struct work *w);

/* pending, after a run that counts. */
MUST_CHECK enum err wait_for(struct batch *b, const struct work *w,
			     const struct run *run, int64_t due_ms,
			     int64_t window_start_ms);

/* pending as before, after a probe: it does not count. */
MUST_CHECK enum err wait_on(struct batch *b, const struct work *w,
			    const struct run *run);

#endif
