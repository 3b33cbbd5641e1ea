/* What waits, which groups there are, what operators did: looking only. */
#include <stdio.h>

#include "act.h"
#include "store/audit.h"
#include "store/counter.h"
#include "store/group.h"
#include "store/pending.h"
#include "store/store.h"

#define PAGE_ROWS	200

struct page {
	struct act *a;
	const struct act_context *c;
	struct rows *out;
	unsigned n;
};

static enum err take(struct page *p, int64_t id)
{
	if (!row_end(p->out))
		return ERR_NO;		/* it comes with the next page */
	p->a->cursor = id;
	p->n++;
	return OK;
}

/* ERR_NO from a row only ends the page. */
static enum err finish(struct page *p, enum err e, bool *ret_more)
{
	*ret_more = e == ERR_NO || (!e && p->n == PAGE_ROWS);
	return e == ERR_NO ? OK : e;
}

static enum err audit_row(void *arg, const struct audit_record *r)
{
	struct page *p = arg;

	row_begin(p->out);
	row_int(p->out, "id", r->id);
	row_int(p->out, "at_wall_ms", r->at_wall_ms);
	row_int(p->out, "uid", r->uid);
	row_text(p->out, "act", r->act);
	row_text(p->out, "what", r->what);
	row_int(p->out, "n", r->n);
	return take(p, r->id);
}

enum err act_audit_list(struct act *a, const struct act_context *c,
			struct rows *out, bool *ret_more,
			struct err_detail *why UNUSED)
{
	struct page p = { a, c, out, 0 };

	if (!a->step++)
		a->cursor = INT64_MAX;
	return finish(&p, audit_list(c->store, a->cursor, PAGE_ROWS, audit_row,
				     &p), ret_more);
}

/* A pending row's times stand still while its group's breaker is open. */
static int64_t group_time_ms(const struct act_context *c, struct span name)
{
	int64_t now = store_now_ms(c->store, c->boot_ms);
	struct group_record g;
	char buf[72];

	snprintf(buf, sizeof(buf), "%.*s", SPAN_FMT(name));
	if (group_find(c->store, buf, &g))
		return now;
	return breaker_group_ms(&g.breaker, now);
}

static enum err pending_row(void *arg, const struct pending_line *l)
{
	struct page *p = arg;
	int64_t now = group_time_ms(p->c, l->group);

	row_begin(p->out);
	row_int(p->out, "id", l->id);
	row_text(p->out, "group", l->group);
	row_text(p->out, "tenant", l->tenant);
	row_text(p->out, "event_id", l->event_id);
	row_text_cut(p->out, "topic", l->topic);
	row_int(p->out, "payload_bytes", l->payload_bytes);
	row_int(p->out, "attempts", l->attempts);
	row_int(p->out, "due_in_ms", l->due_ms > now ? l->due_ms - now : 0);
	row_text(p->out, "last_type", l->last_type);
	row_int(p->out, "received_wall_ms", l->received_wall_ms);
	return take(p, l->id);
}

enum err act_pending_list(struct act *a, const struct act_context *c,
			  struct rows *out, bool *ret_more,
			  struct err_detail *why)
{
	struct page p = { a, c, out, 0 };
	int64_t group_no = 0;
	enum err e = act_group(a, c, &group_no, why);

	if (e)
		return e;
	return finish(&p, pending_list(c->store, a->cursor, group_no, PAGE_ROWS,
				       pending_row, &p), ret_more);
}

static enum err group_row(void *arg, const struct group_line *l)
{
	struct page *p = arg;
	int64_t rows = 0, bytes = 0;
	struct group_record g;
	struct counters k;
	char name[72];
	enum err e = counter_get(p->c->store, l->group_no, &k);

	snprintf(name, sizeof(name), "%.*s", SPAN_FMT(l->name));
	if (!e)
		e = group_find(p->c->store, name, &g);

	if (!e)
		e = pending_totals(p->c->store, l->group_no, &rows, &bytes);
	if (e)
		return e;
	row_begin(p->out);
	row_text(p->out, "group", l->name);
	row_bool(p->out, "configured", config_group(p->c->config, l->name) != NULL);
	row_text(p->out, "state", span_str(g.paused ? "paused"
					   : g.breaker.open ? "breaker open"
							    : "running"));
	row_int(p->out, "ttl_ms", l->ttl_ms);
	row_int(p->out, "done", k.done);
	row_int(p->out, "pending", rows);
	row_int(p->out, "dead", k.dead_permanent + k.dead_poison +
		k.dead_conflict + k.dead_exhausted + k.dead_crash_loop);
	return row_end(p->out) ? OK : ERR_FULL;
}

enum err act_group_list(struct act *a UNUSED, const struct act_context *c,
			struct rows *out, bool *ret_more,
			struct err_detail *why UNUSED)
{
	struct page p = { a, c, out, 0 };

	*ret_more = false;
	return group_list(c->store, group_row, &p);
}
