#include "place.h"

#include <assert.h>

#include "base/clock.h"
#include "core/lifecycle.h"
#include "store/attempt.h"
#include "store/letter.h"

/* As pending_totals() counts a row. */
static int64_t event_bytes(const struct event *ev)
{
	size_t n = ev->payload.len + ev->topic.len;

	for (unsigned i = 0; i < ev->properties_len; i++)
		n += ev->properties[i].name.len + ev->properties[i].value.len;
	return (int64_t)n;
}

int64_t group_now_ms(const struct batch *b, const struct work *w)
{
	return breaker_group_ms(&w->group->change.breaker, b->now_ms);
}

/* A move that is not drawn is a mistake of ours: the store is safe, we end. */
static void moves_to(const struct work *w, enum place to)
{
	assert(lifecycle_allows(is_delivery(w) ? PLACE_NEW : PLACE_PENDING,
				to));
}

enum err note_run(struct batch *b, const struct work *w, const struct run *run)
{
	const struct attempt_record a = {
		.key = w->p.who.key,
		.fingerprint = w->p.who.fingerprint,
		.n = w->p.runs + 1,
		.started_ms = b->now_ms,
		.started_wall_ms = clock_wall_ms(),
		.took_ms = run->took_ms,
		.outcome = run->result.outcome,
		.type = run->result.type,
	};

	return attempt_put(b->store, &a);
}

/* What keeps the event's order key from ageing while it waits or is dead. */
static struct span order_key_of(const struct work *w)
{
	if (!w->order.key.data)
		return (struct span){ 0 };
	return span_of(w->order.hash.bytes, sizeof(w->order.hash.bytes));
}

/* done */

enum err put_marker(struct batch *b, const struct work *w, int state)
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
	int64_t more = 0;
	enum err e = marker_put(b->store, &w->p.who.key, &m, b->now_ms, ttl_ms,
				&more);

	w->group->change.counters.markers += more;
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

enum err finish(struct batch *b, const struct work *w, const struct run *run)
{
	enum err e = OK;

	moves_to(w, PLACE_DONE);
	w->group->change.counters.done++;
	if (!w->group->config->natural)
		e = put_marker(b, w, MARKER_DONE);
	if (!e && w->p.runs)
		e = note_run(b, w, run);
	if (!e)
		e = drop_pending(b, w);
	return e;
}

enum err supersede(struct batch *b, const struct work *w)
{
	enum err e = OK;

	moves_to(w, PLACE_DONE);
	w->group->change.counters.superseded++;
	if (!w->group->config->natural)
		e = put_marker(b, w, MARKER_SUPERSEDED);
	return e ? e : drop_pending(b, w);
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

/* Its age in group time: the age on the store clock less what the group lost. */
static int64_t first_seen_ms(const struct batch *b, const struct work *w)
{
	if (is_delivery(w))
		return b->now_ms;
	return b->now_ms - (group_now_ms(b, w) - w->p.window_start_ms);
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
		.first_seen_ms = first_seen_ms(b, w),
		.first_seen_wall_ms = p->event.received_wall_ms,
		.dead_ms = b->now_ms,
		.dead_wall_ms = clock_wall_ms(),
		.dead_sync = clock_synchronised(),
		.order_key = order_key_of(w),
	};
	enum err e = letter_put(b->store, &l);

	w->group->change.open_letters++;
	w->group->change.kept_letters += p->event.payload.data != NULL;
	return e;
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

enum err bury(struct batch *b, const struct work *w, enum dead_kind kind,
	      const struct error_type *type, unsigned attempts)
{
	struct counters *c = &w->group->change.counters;
	bool keep = w->group->config->dead_letter;
	enum err e = keep ? put_letter(b, w, kind, type, attempts)
			  : put_dead_marker(b, w, kind);

	moves_to(w, PLACE_DEAD);
	/* A history belongs to a letter: without one nothing would end it. */
	if (!e && !keep && w->p.runs + attempts)
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
	enum err e;

	p.order_key = order_key_of(w);
	e = pending_put(b->store, &p);
	w->group->change.pending_rows++;
	w->group->change.pending_bytes += event_bytes(&p.event);
	return e;
}

enum err postpone(struct batch *b, const struct work *w)
{
	struct work later = *w;

	moves_to(w, PLACE_PENDING);
	later.p.window_start_ms = group_now_ms(b, w);
	later.p.due_ms = later.p.window_start_ms;
	later.p.untouched = b->careful;
	return put_pending(b, &later);
}

static struct work after_run(const struct work *w, const struct run *run)
{
	struct work later = *w;

	later.p.runs++;
	later.p.last_type = run->result.type;
	if (!*later.p.first_type.text)
		later.p.first_type = run->result.type;
	return later;
}

enum err wait_for(struct batch *b, const struct work *w, const struct run *run,
		  int64_t due_ms, int64_t window_start_ms)
{
	struct group_change *c = &w->group->change;
	struct work later = after_run(w, run);

	moves_to(w, PLACE_PENDING);
	later.p.attempts++;
	later.p.window_start_ms = window_start_ms;
	later.p.due_ms = due_ms;
	c->waits++;
	c->wait_ms = due_ms - group_now_ms(b, w);
	c->last_type = run->result.type;
	return is_delivery(w) ? put_pending(b, &later)
			      : pending_wait(b->store, &later.p);
}

enum err wait_on(struct batch *b, const struct work *w, const struct run *run)
{
	struct work later = after_run(w, run);

	moves_to(w, PLACE_PENDING);
	return pending_wait(b->store, &later.p);
}
