#include "settle.h"

#include "base/clock.h"
#include "base/crash.h"
#include "core/retry.h"
#include "place.h"
#include "store/job.h"
#include "store/letter.h"
#include "store/order.h"
#include "store/record.h"
#include "store/space.h"

static void count_attempt(struct counters *c, enum outcome o)
{
	switch (o) {
	case OUTCOME_OK:	c->attempts_ok++; return;
	case OUTCOME_TRANSIENT:	c->attempts_transient++; return;
	case OUTCOME_PERMANENT:	c->attempts_permanent++; return;
	case OUTCOME_POISON:	c->attempts_poison++; return;
	}
}

/* Different for each event and attempt, the same when it is run again. */
static uint32_t jitter_of(const struct pending *p)
{
	uint32_t v;

	memcpy(&v, p->who.key.bytes, sizeof(v));
	return v + p->attempts * 2654435761u;
}

/* A failure that counts: it waits, or was the last. */
static enum err carry_out_failure(struct batch *b, const struct work *w,
				  const struct run *run)
{
	int64_t now = group_now_ms(b, w);
	/* An event that never ran starts its window now. */
	int64_t window_start_ms = w->p.attempts ? w->p.window_start_ms : now;
	const struct retry_history h = {
		.attempts = w->p.attempts + 1,
		.window_start_ms = window_start_ms,
		.jitter = jitter_of(&w->p),
	};
	struct verdict v = retry_judge(&w->group->config->retry,
				       run->result.outcome, &h, now);

	switch (v.kind) {
	case VERDICT_WAIT:
		return wait_for(b, w, run, v.due_ms, window_start_ms);
	case VERDICT_BURY:
		return bury(b, w, v.dead, &run->result.type,
			    w->p.attempts + 1);
	case VERDICT_DONE:
		break;
	}
	return ERR_BUG;
}

/* What happens to an event after an attempt. */
static enum err carry_out(struct batch *b, const struct work *w,
			  const struct run *run)
{
	struct group_change *c = &w->group->change;
	enum outcome outcome = run->result.outcome;
	enum err e;

	b->wrote = true;
	count_attempt(&c->counters, outcome);
	breaker_note(&c->breaker, outcome, &w->p.who.key, b->now_ms);
	if (outcome == OUTCOME_OK)
		return finish(b, w, run);
	e = note_run(b, w, run);
	if (e)
		return e;
	if (w->probe && outcome == OUTCOME_TRANSIENT)
		return wait_on(b, w, run);
	return carry_out_failure(b, w, run);
}

/* The transaction is the handler's until keep or undo. */
static enum err attempt(struct batch *b, struct work *w, struct result *r)
{
	const struct handler *h = &w->group->handler;
	const struct attempt a = {
		.event = &w->p.event,
		.id = &w->p.who,
		.group = span_str(w->group->config->name),
		.number = w->p.attempts + 1,
		.order_key = w->order.key,
		.order_by = w->order.by,
		.stale = w->stale,
	};
	enum err e = store_event_begin(b->store);

	crash_point("attempt");
	if (!e)
		e = h->attempt(h->self, &a, r);
	if (e || !store_in_transaction(b->store))
		return e;
	if (r->outcome != OUTCOME_OK)
		return store_event_undo(b->store);
	if (w->order.by.data && !w->stale)
		e = order_put(b->store, w->p.group_no, &w->order, b->now_ms);
	return e ? e : store_event_keep(b->store);
}

/* It took the transaction down, or is to be believed only when alone. */
static bool is_spoilt(struct batch *b, struct work *w, const struct result *r,
		      enum settled *ret_how)
{
	if (store_in_transaction(b->store) && !(r->doubtful && !w->alone))
		return false;
	w->decided = !r->doubtful || w->alone;
	w->alone = true;
	w->result = *r;
	*ret_how = SETTLED_NOT;
	return true;
}

/* An event that found no room in a store without any is not too big. */
static enum err is_stores_fault(struct batch *b)
{
	int64_t room = 0;
	enum err e = space_headroom(b->store, &room);

	if (!e && room < space_reserve(b->store))
		return ERR_FULL;
	return e;
}

/*
 * One attempt.  An event that took the transaction down, or whose failure may
 * be its neighbours' doing, is not settled but marked, and comes again alone.
 */
static enum err try(struct batch *b, struct work *w, enum settled *ret_how)
{
	struct result r = w->result;
	int64_t before = clock_boot_ms();
	enum err e = w->decided ? OK : attempt(b, w, &r);

	if (e)
		return e;
	if (is_spoilt(b, w, &r, ret_how))
		return OK;
	e = r.full ? is_stores_fault(b) : OK;
	if (e)
		return e;
	return carry_out(b, w, &(struct run){ r, clock_boot_ms() - before });
}

static enum err suppress(struct batch *b, const struct work *w,
			 const struct record *known)
{
	struct counters *c = &w->group->change.counters;

	switch (known->place) {
	case PLACE_PENDING:
		c->suppressed_pending++;
		return OK;
	case PLACE_DONE:
		c->suppressed_done++;
		return OK;
	case PLACE_DEAD:
		c->suppressed_dead++;
		if (!known->letter_id)
			return OK;
		b->wrote = true;
		return letter_count_copy(b->store, known->letter_id);
	case PLACE_NEW:
	case PLACE_COUNT:
		break;
	}
	return ERR_BUG;
}

/* Nothing of the group is attempted: the operator, or its breaker. */
static bool is_held(const struct work *w)
{
	const struct group *g = w->group;

	return g->record.paused || (g->change.breaker.open && !w->probe);
}

/* The turn's time is up. */
static bool is_late(const struct batch *b, const struct work *w)
{
	return clock_boot_ms() >= b->stop_boot_ms && !w->alone;
}

static enum err settle_stale(struct batch *b, const struct work *w)
{
	static const struct error_type stale = { "order.stale" };

	b->wrote = true;
	if (w->group->config->stale == STALE_SKIP)
		return supersede(b, w);
	return bury(b, w, DEAD_PERMANENT, &stale, w->p.attempts);
}

/* Later: a delivery is committed as it came, a pending one stays. */
static enum err put_off(struct batch *b, const struct work *w)
{
	if (!is_delivery(w))
		return OK;
	b->wrote = true;
	return postpone(b, w);
}

/*
 * An event that is to take effect.  The order is asked before each run: what
 * waited, or was dead, may have been overtaken.
 */
static enum err settle_wanted(struct batch *b, struct work *w,
			      enum settled *ret_how)
{
	enum err e = OK;

	if (*w->order.poison.text) {
		b->wrote = true;
		return bury(b, w, DEAD_POISON, &w->order.poison,
			    w->p.attempts);
	}
	if (w->order.by.data)
		e = order_is_stale(b->store, &w->order, &w->stale);
	if (e)
		return e;
	if (w->stale && w->group->config->stale != STALE_HANDLE)
		return settle_stale(b, w);
	if (is_held(w) || is_late(b, w) || b->careful)
		return put_off(b, w);
	return try(b, w, ret_how);
}

/* A delivery is looked up before anything is done for it. */
static enum err settle_delivery(struct batch *b, struct work *w,
				enum settled *ret_how)
{
	static const struct error_type conflict = { "identity.conflict" };
	const struct record_query q = {
		.key = &w->p.who.key,
		.fingerprint = w->p.who.fingerprint,
		.recipe = w->p.recipe,
		.now_ms = b->now_ms,
		.ttl_ms = w->group->config->ttl_ms,
	};
	struct record known;
	enum err e = record_find(b->store, &q, &known);

	if (e)
		return e;
	w->group->change.counters.received++;
	if (known.kind == RECORD_SAME)
		return suppress(b, w, &known);
	b->wrote = true;
	if (known.kind == RECORD_OTHER)
		return bury(b, w, DEAD_CONFLICT, &conflict, 0);
	if (*w->p.who.poison.text)
		return bury(b, w, DEAD_POISON, &w->p.who.poison, 0);
	return settle_wanted(b, w, ret_how);
}

/* A replay: one attempt, and the letter is resolved or open again. */

static enum err end_replay(struct batch *b, const struct work *w,
			   enum job_result how)
{
	b->wrote = true;
	return job_end_item(b->store, w->p.job_id, w->p.letter_id, w->p.id, how,
			    b->now_ms);
}

/* Its own marker or another's: the event was done meanwhile. */
static enum err was_done(struct batch *b, const struct work *w, bool *ret_done)
{
	struct marker m;
	enum err e = marker_find(b->store, &w->p.who.key, b->now_ms,
				 w->group->config->ttl_ms, &m, ret_done);

	if (!e && *ret_done)
		*ret_done = m.state < MARKER_DEAD;
	return e;
}

static enum err fail_replay(struct batch *b, const struct work *w,
			    const struct error_type *type, unsigned attempts)
{
	enum err e = letter_note_replay(b->store, w->p.letter_id, type,
					attempts);

	return e ? e : end_replay(b, w, JOB_FAILED);
}

static enum err carry_out_replay(struct batch *b, const struct work *w,
				 const struct run *run, bool conflict)
{
	struct group_change *c = &w->group->change;
	const struct result *r = &run->result;
	enum err e;

	count_attempt(&c->counters, r->outcome);
	breaker_note(&c->breaker, r->outcome, &w->p.who.key, b->now_ms);
	e = note_run(b, w, run);
	if (!e && r->outcome != OUTCOME_OK)
		return fail_replay(b, w, &r->type, w->p.attempts + 1);
	c->counters.done++;
	/* A conflict's id belongs to the event that came first. */
	if (!e && !conflict && !w->group->config->natural)
		e = put_marker(b, w, MARKER_DONE);
	if (!e)
		e = letter_note_replay(b->store, w->p.letter_id, &r->type,
				       w->p.attempts + 1);
	return e ? e : end_replay(b, w, JOB_DONE);
}

static enum err run_replay(struct batch *b, struct work *w, bool conflict,
			   enum settled *ret_how)
{
	struct result r = w->result;
	int64_t before = clock_boot_ms();
	enum err e = w->decided ? OK : attempt(b, w, &r);

	if (e)
		return e;
	b->wrote = true;
	if (is_spoilt(b, w, &r, ret_how))
		return OK;
	e = r.full ? is_stores_fault(b) : OK;
	if (e)
		return e;
	return carry_out_replay(b, w, &(struct run){ r, clock_boot_ms() -
							 before }, conflict);
}

/* Overtaken since: superseded, or failed once more; handled if so wanted. */
static enum err end_stale_replay(struct batch *b, const struct work *w)
{
	static const struct error_type stale = { "order.stale" };

	if (w->group->config->stale == STALE_BURY)
		return fail_replay(b, w, &stale, w->p.attempts);
	w->group->change.counters.superseded++;
	return end_replay(b, w, JOB_SUPPRESSED);
}

static enum err settle_replay(struct batch *b, struct work *w,
			      enum settled *ret_how)
{
	bool conflict = false, done = false;
	enum err e = letter_is_conflict(b->store, w->p.letter_id, &conflict);

	if (!e && !conflict)
		e = was_done(b, w, &done);
	if (!e && !done && w->order.by.data)
		e = order_is_stale(b->store, &w->order, &w->stale);
	if (e)
		return e;
	if (done)
		return end_replay(b, w, JOB_SUPPRESSED);
	if (*w->order.poison.text)
		return fail_replay(b, w, &w->order.poison, w->p.attempts);
	if (w->stale && w->group->config->stale != STALE_HANDLE)
		return end_stale_replay(b, w);
	if (is_held(w) || is_late(b, w))
		return OK;
	return run_replay(b, w, conflict, ret_how);
}

/* What the policy as it is now does not let wait: no run, no new history. */
static enum err settle_over(struct batch *b, const struct work *w)
{
	static const struct error_type crash = { "handler.crash" };

	b->wrote = true;
	if (w->p.letter_id)
		return fail_replay(b, w, &crash, w->p.attempts);
	if (w->p.crashes >= RETRY_CRASHES)
		return bury(b, w, DEAD_CRASH_LOOP, &crash, w->p.attempts);
	return bury(b, w, DEAD_EXHAUSTED, &w->p.last_type, w->p.attempts);
}

static enum err settle_pending(struct batch *b, struct work *w,
			       enum settled *ret_how)
{
	if (w->over)
		return settle_over(b, w);
	if (w->p.letter_id)
		return settle_replay(b, w, ret_how);
	return settle_wanted(b, w, ret_how);
}

enum err settle(struct batch *b, struct work *w, enum settled *ret_how)
{
	const struct event *ev = &w->p.event;

	*ret_how = SETTLED;
	if (!w->group)
		return OK;
	if (!is_delivery(w))
		return settle_pending(b, w, ret_how);
	if (ev->retain && w->group->config->retained == RETAINED_IGNORE) {
		w->group->change.counters.retained++;
		return OK;
	}
	return settle_delivery(b, w, ret_how);
}
