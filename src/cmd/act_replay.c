/*
 * `dead replay`: the plan, and the job.  Both look at the letters slice by
 * slice; the plan says what would become of them, and changes nothing.
 */
#include <stdio.h>
#include <string.h>

#include "act_letters.h"
#include "base/clock.h"
#include "cmd.h"
#include "daemon.h"
#include "store/job.h"
#include "store/order.h"
#include "store/store.h"

#define SCRATCH_BYTES	((size_t)16 << 10)

/* a->count: the job, once there is one; a->limit: letters still wanted. */

static enum err make_job(struct act *a, const struct act_context *c,
			 struct err_detail *why)
{
	char what[512];
	struct job j = {
		.uid = c->uid,
		.made_ms = store_now_ms(c->store, c->boot_ms),
		.made_wall_ms = clock_wall_ms(),
	};
	enum err e = act_int(a, "rate", &j.rate, why);

	if (!e)
		e = act_int(a, "stop-after", &j.stop_after, why);
	if (!e && j.rate > 1000)
		e = err_say(why, ERR_USAGE, "--rate is at most 1000 a second; "
			    "without it there is no limit");
	act_describe(a, what, sizeof(what));
	j.what = span_str(what);
	return e ? e : job_put(c->store, &j, &a->count);
}

/* A mended payload is for one letter. */
static enum err take_mend(const struct act *a, struct span *ret_payload,
			  char **ret_memory, struct err_detail *why)
{
	size_t size = a->json.len;
	char *text = malloc(size), ids[64];
	struct span s = text ? act_option(a, "mend", text, size)
			     : (struct span){ 0 };

	*ret_memory = text;
	*ret_payload = (struct span){ 0 };
	if (!s.data)
		return OK;
	/* More than fits are not one. */
	if (!act_option(a, "ids", ids, sizeof(ids)).len || strchr(ids, ','))
		return err_say(why, ERR_USAGE, "--payload mends one letter: "
			       "name just one");
	/* In place: the bytes are never longer than their text. */
	*ret_payload = span_of(text, cmd_base64(s, text, size));
	return OK;
}

static void count_left_out(struct act *a, bool in_job)
{
	a->skipped++;
	a->in_job += in_job;
}

/* the plan */

struct plan {
	struct act *a;
	const struct act_context *c;
	struct span payload;	/* a mended one; or absent */
	struct arena arena;
};

/* As the flow will ask just before the run. */
static enum err count_stale(struct plan *p, const struct letter *l,
			    const struct event *ev)
{
	const struct group_config *g = config_group(p->c->config, l->group);
	struct order o;
	bool stale = false;
	enum err e = OK;

	if (!g)
		return OK;
	if (!order_of(g, l->group_no, store_seed(p->c->store), l->who.tenant,
		      ev, &p->arena, &o))
		return ERR_NOMEM;
	if (o.by.data && !*o.poison.text)
		e = order_is_stale(p->c->store, &o, &stale);
	p->a->stale += stale;
	return e;
}

static enum err plan_letter(void *arg, const struct letter *l)
{
	struct plan *p = arg;
	struct event ev = l->event;
	bool in_job = false;
	enum err e = job_has(p->c->store, l->id, &in_job);

	if (p->payload.data) {
		ev.payload = p->payload;
		ev.oversize = false;
	}
	if (e)
		return e;
	if (in_job || ev.oversize) {
		count_left_out(p->a, in_job);
		return OK;
	}
	p->a->taken++;
	p->a->limit--;
	return count_stale(p, l, &ev);
}

static enum err plan_slice(struct act *a, const struct act_context *c,
			   const struct letters_slice *s, struct span payload)
{
	struct plan p = { .a = a, .c = c, .payload = payload };
	enum err e = OK;

	arena_init(&p.arena, SCRATCH_BYTES,
		   (size_t)c->config->limits.memory / 4);
	for (unsigned i = 0; !e && i < s->len && a->limit; i++) {
		e = letter_event(c->store, s->ids[i], &p.arena, plan_letter,
				 &p);
		arena_reset(&p.arena);
	}
	arena_fini(&p.arena);
	return e;
}

/* the job */

static enum err add_slice(struct act *a, const struct act_context *c,
			  const struct letters_slice *s, struct span payload)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < s->len && a->limit; i++) {
		bool taken = false, in_job = false;

		e = job_add(c->store, a->count, s->ids[i], payload, &taken);
		a->taken += taken;
		a->limit -= taken;
		if (e || taken)
			continue;
		e = job_has(c->store, s->ids[i], &in_job);
		count_left_out(a, in_job);
	}
	return e;
}

static enum err finish_job(struct act *a, const struct act_context *c)
{
	/* Until all are in it waits: it would be done too early. */
	enum err e = job_resume(c->store, a->count);

	return e ? e : act_audit(a, c, a->taken);
}

/* A slice in one transaction; no job is made for no letter. */
static enum err add(struct act *a, const struct act_context *c, bool more,
		    const struct letters_slice *s, struct span payload,
		    struct err_detail *why)
{
	enum err e = store_begin(c->store);

	if (e)
		return e;
	if (!a->count)
		e = make_job(a, c, why);
	if (!e)
		e = add_slice(a, c, s, payload);
	if (!e && a->taken && !(more && a->limit))
		e = finish_job(a, c);
	if (e == ERR_GONE)
		e = err_say(why, ERR_NO, "job %lld was cancelled or resumed "
			    "while it was made; `mqonce job show` says what is "
			    "in it", (long long)a->count);
	if (!e && a->taken)
		return store_commit(c->store);
	store_rollback(c->store);
	a->count = 0;
	return e;
}

static enum err end_row(const struct act *a, const struct act_context *c,
			bool dry, struct rows *out)
{
	if (a->count && c->daemon)
		replay_wake(&c->daemon->replay);
	row_begin(out);
	if (a->count)
		row_int(out, "job", a->count);
	row_int(out, dry ? "matched" : "taken", a->taken);
	row_int(out, "skipped", a->skipped);
	row_int(out, "in_job", a->in_job);
	if (dry)
		row_int(out, "stale", a->stale);
	return row_end(out) ? OK : ERR_FULL;
}

enum err act_dead_replay(struct act *a, const struct act_context *c,
			 struct rows *out, bool *ret_more,
			 struct err_detail *why)
{
	bool dry = act_flag(a, "dry-run");
	struct letters_slice s = { .len = 0 };
	AUTO_FREE char *memory = NULL;
	struct span payload;
	enum err e = take_mend(a, &payload, &memory, why);

	if (!e && !a->step) {
		a->limit = INT64_MAX;
		e = act_int(a, "max", &a->limit, why);
	}
	if (!e)
		e = letters_select(a, c, "open", &s, ret_more, why);
	a->step++;
	if (!e && dry)
		e = plan_slice(a, c, &s, payload);
	else if (!e)
		e = add(a, c, *ret_more, &s, payload, why);
	*ret_more = *ret_more && a->limit > 0;
	if (e || *ret_more)
		return e;
	return end_row(a, c, dry, out);
}
