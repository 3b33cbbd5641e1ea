#include "settle.h"

#include "base/clock.h"
#include "core/retry.h"
#include "store/attempt.h"
#include "store/job.h"
#include "store/letter.h"
#include "store/marker.h"
#include "store/record.h"
#include "store/space.h"

/* As pending_totals() counts a row. */
static int64_t event_bytes(const struct event *ev)
{
	size_t n = ev->payload.len + ev->topic.len;

	for (unsigned i = 0; i < ev->properties_len; i++)
		n += ev->properties[i].name.len + ev->properties[i].value.len;
	return (int64_t)n;
}

static bool is_delivery(const struct work *w)
{
	return w->p.id == 0;
}

/* done */

static enum err put_marker(struct batch *b, const struct work *w, int state)
{
	const struct group *g = w->group;
	const struct marker m = {
		.state = state,
		.fingerprint = w->p.who.fingerprint,
		.recipe = w->p.recipe,
	};
	/*
	 * What waited was new by the ttl of then; a ttl that was raised since
	 * must not find the marker that had expired.
	 */
	int64_t ttl_ms = is_delivery(w) ? g->config->ttl_ms : 0;
	enum err e = marker_put(b->store, &w->p.who.key, &m, b->now_ms, ttl_ms);

	if (!e)
		w->group->change.counters.markers++;
	return e;
}

static enum err drop_pending(struct batch *b, const struct work *w)
{
	enum err e;

	if (is_delivery(w))
		return OK;
	e = pending_drop(b->store, w->p.id);
	w->group->change.pending_rows--;
	w->group->change.pending_bytes -= event_bytes(&w->p.event);
	return e;
}

static enum err note_attempt(struct batch *b, const struct work *w,
			     const struct result *r, int64_t took_ms)
{
	const struct attempt_record a = {
		.key = w->p.who.key,
		.fingerprint = w->p.who.fingerprint,
		.n = w->p.attempts + 1,
		.started_ms = b->now_ms,
		.started_wall_ms = clock_wall_ms(),
		.took_ms = took_ms,
		.outcome = r->outcome,
		.type = r->type,
	};

	return attempt_put(b->store, &a);
}

static enum err finish(struct batch *b, const struct work *w,
		       const struct result *r, int64_t took_ms)
{
	enum err e = OK;

	w->group->change.counters.done++;
	if (!w->group->config->natural)
		e = put_marker(b, w, MARKER_DONE);
	if (!e && w->p.attempts)
		e = note_attempt(b, w, r, took_ms);
	if (!e)
		e = drop_pending(b, w);
	return e;
}

/* dead */

static int64_t *dead_counter(struct counters *c, enum dead_kind kind)
{
	switch (kind) {
	case DEAD_PERMANENT:	return &c->dead_permanent;
	case DEAD_POISON:	return &c->dead_poison;
	case DEAD_CONFLICT:	return &c->dead_conflict;
	case DEAD_EXHAUSTED:	return &c->dead_exhausted;
	case DEAD_CRASH_LOOP:
	case DEAD_KIND_COUNT:	break;
	}
	return &c->dead_crash_loop;
}

static enum err put_letter(struct batch *b, const struct work *w,
			   enum dead_kind kind, const struct error_type *type,
			   unsigned attempts)
{
	const struct pending *p = &w->p;
	const struct letter l = {
		.group_no = w->group->record.group_no,
		.recipe = p->recipe,
		.who = p->who,
		.event = p->event,
		.kind = kind,
		.first_type = *p->first_type.text ? p->first_type : *type,
		.last_type = *type,
		.attempts = attempts,
		.first_seen_ms = is_delivery(w) ? b->now_ms : p->window_ms,
		.first_seen_wall_ms = p->event.received_ms,
		.dead_ms = b->now_ms,
		.dead_wall_ms = clock_wall_ms(),
		.dead_sync = clock_synchronised(),
	};

	return letter_put(b->store, &l);
}

/*
 * With dead_letter = off the payload goes; a marker and a count stay.  A
 * conflict leaves no marker: its id's belongs to the event that came first.
 */
static enum err put_dead_marker(struct batch *b, const struct work *w,
				enum dead_kind kind)
{
	if (kind == DEAD_CONFLICT)
		return OK;
	return put_marker(b, w, MARKER_DEAD + (int)kind);
}

static enum err bury(struct batch *b, const struct work *w, enum dead_kind kind,
		     const struct error_type *type, unsigned attempts)
{
	struct counters *c = &w->group->change.counters;
	bool keep = w->group->config->dead_letter;
	enum err e = keep ? put_letter(b, w, kind, type, attempts)
			  : put_dead_marker(b, w, kind);

	/* A history belongs to a letter: without one nothing would end it. */
	if (!e && !keep && attempts)
		e = attempt_drop(b->store, &w->p.who.key,
				 w->p.who.fingerprint);
	if (!e)
		e = drop_pending(b, w);
	++*dead_counter(c, kind);
	c->dropped += !keep;
	w->group->change.last_type = *type;
	return e;
}

/* pending */

static enum err put_pending(struct batch *b, const struct work *w)
{
	struct pending p = w->p;
	enum err e = pending_put(b->store, &p);

	w->group->change.pending_rows++;
	w->group->change.pending_bytes += event_bytes(&p.event);
	return e;
}

/* Committed as it came, with 0 attempts, to be run in a later turn. */
static enum err postpone(struct batch *b, const struct work *w)
{
	struct work later = *w;

	later.p.window_ms = b->now_ms;
	later.p.due_ms = b->now_ms;
	return put_pending(b, &later);
}

static enum err wait(struct batch *b, const struct work *w,
		     const struct result *r, int64_t due_ms, int64_t window_ms)
{
	struct work later = *w;

	later.p.attempts++;
	later.p.window_ms = window_ms;
	later.p.due_ms = due_ms;
	later.p.last_type = r->type;
	if (!*later.p.first_type.text)
		later.p.first_type = r->type;
	w->group->change.waits++;
	w->group->change.wait_ms = due_ms - b->now_ms;
	w->group->change.last_type = r->type;
	return is_delivery(w) ? put_pending(b, &later)
			      : pending_wait(b->store, &later.p);
}

/* outcomes */

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

/* What happens to an event after an attempt. */
static enum err carry_out(struct batch *b, const struct work *w,
			  const struct result *r, int64_t took_ms)
{
	/* An event that never ran starts its window now. */
	int64_t window_ms = w->p.attempts ? w->p.window_ms : b->now_ms;
	const struct retry_history h = {
		.attempts = w->p.attempts + 1,
		.window_start_ms = window_ms,
		.jitter = jitter_of(&w->p),
	};
	struct verdict v = retry_judge(&w->group->config->retry, r->outcome, &h,
				       b->now_ms);
	enum err e;

	b->wrote = true;
	count_attempt(&w->group->change.counters, r->outcome);
	if (v.kind == VERDICT_DONE)
		return finish(b, w, r, took_ms);
	e = note_attempt(b, w, r, took_ms);
	if (e)
		return e;
	switch (v.kind) {
	case VERDICT_WAIT:
		return wait(b, w, r, v.due_ms, window_ms);
	case VERDICT_BURY:
		return bury(b, w, v.dead, &r->type, w->p.attempts + 1);
	case VERDICT_DONE:
		break;
	}
	return ERR_BUG;
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
	};
	enum err e = store_event_begin(b->store);

	if (!e)
		e = h->attempt(h->self, &a, r);
	if (e || !store_in_transaction(b->store))
		return e;
	if (r->outcome == OUTCOME_OK)
		return store_event_keep(b->store);
	return store_event_undo(b->store);
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
	return carry_out(b, w, &r, clock_boot_ms() - before);
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
	if (clock_boot_ms() >= b->stop_boot_ms && !w->alone)
		return postpone(b, w);
	return try(b, w, ret_how);
}

/* A replay: one attempt, and the letter is resolved or open again. */

static enum err end_replay(struct batch *b, const struct work *w,
			   enum job_result how)
{
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

static enum err carry_out_replay(struct batch *b, const struct work *w,
				 const struct result *r, bool conflict,
				 int64_t took_ms)
{
	bool ok = r->outcome == OUTCOME_OK;
	enum err e;

	count_attempt(&w->group->change.counters, r->outcome);
	e = note_attempt(b, w, r, took_ms);
	if (!e && ok) {
		w->group->change.counters.done++;
		/* A conflict's id belongs to the event that came first. */
		if (!conflict && !w->group->config->natural)
			e = put_marker(b, w, MARKER_DONE);
	}
	if (!e)
		e = letter_note_replay(b->store, w->p.letter_id, &r->type,
				       w->p.attempts + 1);
	return e ? e : end_replay(b, w, ok ? JOB_DONE : JOB_FAILED);
}

static enum err settle_replay(struct batch *b, struct work *w,
			      enum settled *ret_how)
{
	struct result r = w->result;
	int64_t before = clock_boot_ms();
	bool conflict = false, done = false;
	enum err e = letter_is_conflict(b->store, w->p.letter_id, &conflict);

	if (!e && !conflict)
		e = was_done(b, w, &done);
	if (e)
		return e;
	b->wrote = true;
	if (done)
		return end_replay(b, w, JOB_SUPPRESSED);
	if (!w->decided)
		e = attempt(b, w, &r);
	if (e)
		return e;
	if (is_spoilt(b, w, &r, ret_how))
		return OK;
	return carry_out_replay(b, w, &r, conflict, clock_boot_ms() - before);
}

enum err settle(struct batch *b, struct work *w, enum settled *ret_how)
{
	const struct event *ev = &w->p.event;

	*ret_how = SETTLED;
	if (!w->group)
		return OK;
	if (!is_delivery(w)) {
		if (clock_boot_ms() >= b->stop_boot_ms && !w->alone)
			return OK;	/* still due: the next turn */
		if (w->p.letter_id)
			return settle_replay(b, w, ret_how);
		return try(b, w, ret_how);
	}
	if (ev->retain && w->group->config->retained == RETAINED_IGNORE) {
		w->group->change.counters.retained++;
		return OK;
	}
	return settle_delivery(b, w, ret_how);
}
