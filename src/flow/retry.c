#include "flow/retry.h"

#include "base/clock.h"
#include "base/log.h"

#define NOMEM_WAIT_MS	60000	/* what found no memory finds none at once */

void retry_init(struct retry *r, const struct retry_options *o)
{
	*r = (struct retry){
		.batch = { .store = o->store, .groups = o->groups,
			   .groups_len = o->groups_len, .ungrouped = o->ungrouped },
		.careful = store_last_end(o->store) == STORE_DIED,
	};
	r->batch.work = r->work;
	arena_init(&r->arena, 64 << 10, o->max_bytes);
}

void retry_fini(struct retry *r)
{
	arena_fini(&r->arena);
}

enum err retry_refresh(struct retry *r)
{
	struct batch *b = &r->batch;
	enum err e = OK;

	for (unsigned i = 0; !e && i < b->groups_len; i++)
		e = pending_next_due(b->store, b->groups[i].record.group_no,
				     &b->groups[i].next_due_ms);
	return e;
}

/* Milliseconds until the group has something to run; INT64_MAX: it has not. */
static int64_t group_wait_ms(const struct group *g, int64_t now_ms)
{
	const struct breaker *k = &g->record.breaker;
	int64_t wait;

	if (g->record.paused || g->next_due_ms == INT64_MAX)
		return INT64_MAX;
	wait = k->open ? k->probe_ms - now_ms
		       : g->next_due_ms - breaker_group_ms(k, now_ms);
	return wait > 0 ? wait : 0;
}

int64_t retry_wait_ms(const struct retry *r, int64_t boot_ms)
{
	const struct batch *b = &r->batch;
	int64_t now = store_now_ms(b->store, boot_ms), wait = INT64_MAX;

	if (boot_ms < r->hold_boot_ms)
		return r->hold_boot_ms - boot_ms;
	if (!r->review.over)
		return 0;
	for (unsigned i = 0; i < b->groups_len; i++) {
		int64_t w = group_wait_ms(&b->groups[i], now);

		wait = w < wait ? w : wait;
	}
	return wait == INT64_MAX ? -1 : wait;
}

/* False when there is no room for what the order guard reads. */
static bool add_work(struct retry *r, struct group *g, const struct pending *p,
		     bool probe)
{
	struct work *w = &r->work[r->batch.len];

	*w = (struct work){ .group = g, .p = *p, .probe = probe };
	if (!order_of(g->config, g->record.group_no,
		      store_seed(r->batch.store), p->who.tenant, &w->p.event,
		      &r->arena, &w->order))
		return false;
	r->batch.len++;
	return true;
}

/* The probes go round: one event that never succeeds must not be all of them. */
static enum err load_probe(struct retry *r, struct group *g)
{
	struct batch *b = &r->batch;
	struct pending p;
	enum err e;

	e = pending_after(b->store, g->record.group_no, g->probed_due_ms,
			  g->probed_id, &r->arena, &p);
	if (e)
		return e == ERR_NO ? OK : e;
	if (!add_work(r, g, &p, true))
		return ERR_NOMEM;
	g->probed_due_ms = p.due_ms;
	g->probed_id = p.id;
	return OK;
}

static enum err load_due(struct retry *r, struct group *g, unsigned max)
{
	struct batch *b = &r->batch;
	unsigned n = 0;
	enum err e = pending_due(b->store, g->record.group_no,
				 breaker_group_ms(&g->record.breaker,
						  b->now_ms),
				 max, &r->arena, r->rows, &n);

	for (unsigned i = 0; !e && i < n; i++)
		e = add_work(r, g, &r->rows[i], false) ? OK : ERR_NOMEM;
	/* Full of other groups' events: they first, this one next time. */
	return e == ERR_NOMEM && b->len ? OK : e;
}

/*
 * Each group that has something gets its share of the turn, and each turn
 * begins with another group.
 */
static enum err load(struct retry *r)
{
	struct batch *b = &r->batch;
	unsigned ready = 0, share;
	enum err e = OK;

	for (unsigned i = 0; i < b->groups_len; i++)
		ready += !group_wait_ms(&b->groups[i], b->now_ms);
	share = ready ? (RETRY_ROWS + ready - 1) / ready : 0;
	for (unsigned i = 0; !e && i < b->groups_len; i++) {
		struct group *g = &b->groups[(r->first + i) % b->groups_len];
		unsigned room = RETRY_ROWS - b->len;

		if (!room || group_wait_ms(g, b->now_ms))
			continue;
		e = g->record.breaker.open
			    ? load_probe(r, g)
			    : load_due(r, g, share < room ? share : room);
	}
	r->first++;
	return e;
}

/* Whoever dies now leaves word of what it died of. */
static enum err claim(struct batch *b, const struct work *w)
{
	enum err e = store_begin(b->store);

	if (e)
		return e;
	e = pending_claim(b->store, w->p.id);
	if (e)
		store_rollback(b->store);
	else
		e = store_commit(b->store);
	return e;
}

static enum err run_alone(struct batch *b, struct work *w)
{
	enum err e = w->p.untouched ? claim(b, w) : OK;

	if (!e)
		e = store_begin(b->store);
	if (e)
		return e;
	w->alone = true;
	b->work = w;
	b->len = 1;
	return batch_run(b);
}

/* Those nobody died of first, so that they are not kept waiting by the others. */
static enum err run_carefully(struct retry *r)
{
	struct batch *b = &r->batch;
	unsigned len = b->len;
	enum err e = OK;

	store_rollback(b->store);	/* which has only looked so far */
	for (unsigned crashes = 0; crashes < RETRY_CRASHES; crashes++)
		for (unsigned i = 0; !e && i < len; i++) {
			struct work *w = &r->work[i];
			bool open = w->group->record.breaker.open;

			if (w->p.crashes == crashes && open == w->probe &&
			    clock_boot_ms() < b->stop_boot_ms)
				e = run_alone(b, w);
		}
	b->work = r->work;
	return e;
}

static bool has_untouched(const struct batch *b)
{
	for (unsigned i = 0; i < b->len; i++)
		if (b->work[i].p.untouched)
			return true;
	return false;
}

static enum err run_due(struct retry *r)
{
	struct batch *b = &r->batch;
	enum err e = store_begin(b->store);

	if (e)
		return e;
	arena_reset(&r->arena);
	b->len = 0;
	e = load(r);
	if (e)
		store_rollback(b->store);
	else if (r->careful && has_untouched(b))
		e = run_carefully(r);
	else
		e = batch_run(b);
	return e;
}

enum err retry_turn(struct retry *r, int64_t boot_ms)
{
	struct batch *b = &r->batch;
	enum err e;

	if (retry_wait_ms(r, boot_ms) != 0)
		return OK;
	b->boot_ms = boot_ms;
	b->now_ms = store_now_ms(b->store, boot_ms);
	b->stop_boot_ms = boot_ms + RETRY_TURN_MS;
	e = r->review.over ? run_due(r)
			   : review_turn(&r->review, b, &r->arena);
	if (e == ERR_NOMEM) {
		r->hold_boot_ms = boot_ms + NOMEM_WAIT_MS;
		log_err("retry.memory", "action=wait in_ms=%d "
			"advice=\"raise [limits] memory\"", NOMEM_WAIT_MS);
	}
	return e ? e : retry_refresh(r);
}
