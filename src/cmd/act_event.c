/* One event's whole story, and what waits told to hurry. */
#include <stdio.h>

#include "act_letters.h"
#include "daemon.h"
#include "store/attempt.h"
#include "store/counter.h"
#include "store/group.h"
#include "store/marker.h"
#include "store/pending.h"
#include "store/store.h"

#define SLICE	1000

struct story {
	struct rows *out;
	const struct act_context *c;
	bool any;
};

static enum err take(struct story *s)
{
	s->any = true;
	return row_end(s->out) ? OK : ERR_FULL;	/* a story is short */
}

static enum err marker_row(void *arg, int generation, const struct marker *m)
{
	struct story *s = arg;
	int64_t now = store_now_ms(s->c->store, s->c->boot_ms);
	int kind = m->state - MARKER_DEAD;

	row_begin(s->out);
	row_text(s->out, "record", span_str("marker"));
	row_text(s->out, "state",
		 span_str(place_text(kind >= 0 ? PLACE_DEAD : PLACE_DONE)));
	row_text(s->out, "type", span_str(
		kind >= 0 ? dead_kind_text((enum dead_kind)kind)
		: m->state == MARKER_SUPERSEDED ? "superseded" : "ok"));
	row_int(s->out, "age_ms", now - m->at_s * 1000);
	row_int(s->out, "id", generation);
	return take(s);
}

static enum err letter_row(void *arg, const struct letter *l)
{
	struct story *s = arg;
	int64_t now = store_now_ms(s->c->store, s->c->boot_ms);

	row_begin(s->out);
	row_text(s->out, "record", span_str("letter"));
	row_text(s->out, "state", l->state);
	row_text(s->out, "type", span_str(l->last_type.text));
	row_int(s->out, "age_ms", now - l->dead_ms);
	row_int(s->out, "id", l->id);
	return take(s);
}

static enum err pending_row(void *arg, const struct pending_line *l)
{
	struct story *s = arg;

	row_begin(s->out);
	row_text(s->out, "record", span_str("pending"));
	row_text(s->out, "state", span_str(place_text(PLACE_PENDING)));
	row_text(s->out, "type", l->last_type);
	row_int(s->out, "age_ms", 0);
	row_int(s->out, "id", l->id);
	return take(s);
}

struct event_asked {
	int64_t group_no;
	struct hash_key key;
	char id[256], tenant[256];
};

static enum err asked(const struct act *a, const struct act_context *c,
		      struct event_asked *q, struct err_detail *why)
{
	struct span id = { 0 }, tenant = { 0 };
	enum err e = act_group(a, c, &q->group_no, why);

	if (!e)
		e = act_text(a, "event", q->id, sizeof(q->id), &id, why);
	if (!e)
		e = act_text(a, "tenant", q->tenant, sizeof(q->tenant),
			     &tenant, why);
	if (!e && (!q->group_no || !id.data))
		e = err_say(why, ERR_USAGE, "name the event: --group G, the "
			    "event's id, and --tenant T if the group has "
			    "tenants");
	if (!e)
		q->key = identity_key(q->group_no, store_seed(c->store),
				      tenant.data ? tenant : span_str(""), id);
	return e;
}

static enum err tell(const struct act_context *c, const struct event_asked *q,
		     struct story *s)
{
	const struct letter_filter f = { .group_no = q->group_no,
					 .event_id = span_str(q->id) };
	int64_t before = INT64_MAX;
	enum err e = pending_of_key(c->store, &q->key, pending_row, s);

	if (!e)
		e = marker_list(c->store, &q->key, marker_row, s);
	while (!e && before > 0)
		e = letter_list(c->store, &f, &before, 100, letter_row, s);
	return e;
}

enum err act_event_show(struct act *a, const struct act_context *c,
			struct rows *out, bool *ret_more,
			struct err_detail *why)
{
	struct story s = { out, c, false };
	struct event_asked q = { 0 };
	enum err e = asked(a, c, &q, why);

	*ret_more = false;
	if (!e)
		e = tell(c, &q, &s);
	if (!e && !s.any)
		e = err_say(why, ERR_NO, "nothing is known of event \"%s\"; "
			    "with tenants, name the tenant too", q.id);
	return e;
}

enum err act_event_forget(struct act *a, const struct act_context *c,
			  struct rows *out, bool *ret_more,
			  struct err_detail *why)
{
	struct event_asked q = { 0 };
	unsigned n = 0;
	enum err e = asked(a, c, &q, why);

	*ret_more = false;
	if (!e)
		e = store_begin(c->store);
	if (e)
		return e;
	e = marker_forget(c->store, &q.key, &n);
	if (!e && !n)
		e = err_say(why, ERR_NO, "no marker of event \"%s\"; "
			    "`mqonce event show` says where it is", q.id);
	if (!e)
		e = counter_add(c->store, q.group_no,
				&(struct counters){ .markers = -(int64_t)n });
	if (!e)
		e = act_audit(a, c, n);
	if (e)
		store_rollback(c->store);
	else
		e = store_commit(c->store);
	if (e)
		return e;
	row_begin(out);
	row_int(out, "forgotten", n);
	return row_end(out) ? OK : ERR_FULL;
}

enum err act_pending_retry(struct act *a, const struct act_context *c,
			   struct rows *out, bool *ret_more,
			   struct err_detail *why)
{
	int64_t group_no = 0;
	unsigned n = 0;
	enum err e = act_group(a, c, &group_no, why);

	if (!e && !group_no && !act_flag(a, "all"))
		e = err_say(why, ERR_USAGE, "name a group with --group; --all "
			    "means all of them");
	if (!e)
		e = store_begin(c->store);
	if (e)
		return e;
	e = pending_hurry(c->store, group_no, SLICE, &a->cursor, &n);
	a->count += n;
	*ret_more = a->cursor > 0;
	if (!e && !*ret_more)
		e = act_audit(a, c, a->count);
	if (e)
		store_rollback(c->store);
	else
		e = store_commit(c->store);
	if (e || *ret_more)
		return e;
	if (c->daemon)
		e = retry_refresh(&c->daemon->retry);
	row_begin(out);
	row_int(out, "due", a->count);
	return row_end(out) ? e : ERR_FULL;
}
