#include "flow/review.h"

#include "base/log.h"
#include "place.h"

/* The row's group, or NULL if it is not configured. */
static struct group *find_group(struct batch *b, int64_t group_no)
{
	for (unsigned i = 0; i < b->groups_len; i++)
		if (b->groups[i].record.group_no == group_no)
			return &b->groups[i];
	return NULL;
}

static enum err mark_over(struct batch *b, struct group *g, int64_t id,
			  struct arena *a)
{
	struct work *w = &b->work[b->len];
	enum err e;

	*w = (struct work){ .group = g, .over = true };
	e = pending_load(b->store, id, a, &w->p);
	if (!e && !order_of(g->config, g->record.group_no, store_seed(b->store),
			    w->p.who.tenant, &w->p.event, a, &w->order))
		e = ERR_NOMEM;
	if (!e)
		b->len++;
	return e;
}

static enum err review_row(struct review *v, struct batch *b,
			   const struct pending *p, struct arena *a)
{
	struct group *g = find_group(b, p->group_no);
	const struct retry_history h = {
		.attempts = p->attempts,
		.window_start_ms = p->window_start_ms,
		.jitter = (uint32_t)p->id * 2654435761u,
	};
	struct verdict now;

	if (!g) {
		v->orphans++;
		return OK;
	}
	now = retry_recheck(&g->config->retry, &h, p->due_ms,
			  breaker_group_ms(&g->record.breaker, b->now_ms));
	/* A replay is one attempt, whatever there were before. */
	if ((now.kind == VERDICT_BURY && !p->letter_id) ||
	    p->crashes >= RETRY_CRASHES)
		return mark_over(b, g, p->id, a);
	return now.kind == VERDICT_WAIT && now.due_ms < p->due_ms
		       ? pending_advance(b->store, p->id, now.due_ms) : OK;
}

/* Moves @v behind the last row that was decided on. */
static enum err review_rows(struct review *v, struct batch *b, struct arena *a)
{
	struct pending *rows = arena_take(a, REVIEW_ROWS * sizeof(*rows));
	unsigned n = 0, i = 0;
	enum err e = rows ? pending_scan(b->store, v->last_id, REVIEW_ROWS,
					 rows, &n) : ERR_NOMEM;

	for (; !e && i < n && b->len < REVIEW_BURIALS; i++) {
		e = review_row(v, b, &rows[i], a);
		if (e == ERR_NOMEM && b->len) {
			e = OK;		/* these first, the rest next time */
			break;
		}
	}
	if (e)
		return e;
	if (i)
		v->last_id = rows[i - 1].id;
	v->over = i == n && n < REVIEW_ROWS;
	return OK;
}

enum err review_turn(struct review *v, struct batch *b, struct arena *a)
{
	struct review next = *v;
	enum err e = store_begin(b->store);

	if (e)
		return e;
	arena_reset(a);
	b->len = 0;
	e = review_rows(&next, b, a);
	if (e)
		store_rollback(b->store);
	else
		e = batch_run(b);
	if (e)
		return e;
	*v = next;
	if (v->over && v->orphans)
		log_warn("pending.orphan", "n=%u why=\"their groups are not "
			 "configured\" action=keep", v->orphans);
	return OK;
}
