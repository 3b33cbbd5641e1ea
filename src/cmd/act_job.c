/* Replay jobs: made, looked at, cancelled, resumed. */
#include <stdio.h>
#include <string.h>

#include "act_letters.h"
#include "base/clock.h"
#include "cmd.h"
#include "daemon.h"
#include "store/job.h"
#include "store/store.h"

#define PAGE_ROWS	200

/* dead replay */

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

static enum err add_slice(struct act *a, const struct act_context *c,
			  const struct letters_slice *s, struct span payload)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < s->len && a->limit; i++) {
		bool taken = false;

		e = job_add(c->store, a->count, s->ids[i], payload, &taken);
		a->taken += taken;
		a->skipped += !taken;
		a->limit -= taken;
	}
	return e;
}

static enum err add(struct act *a, const struct act_context *c, bool last,
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
	/* Until all are in it waits: it would be done too early. */
	if (!e && last)
		e = job_resume(c->store, a->count);
	if (e == ERR_GONE)
		e = err_say(why, ERR_NO, "job %lld was cancelled or resumed "
			    "while it was made; `mqonce job show` says what is "
			    "in it", (long long)a->count);
	if (!e && last)
		e = act_audit(a, c, a->taken);
	if (e) {
		store_rollback(c->store);
		return e;
	}
	return store_commit(c->store);
}

static enum err end_row(struct act *a, const struct act_context *c, bool dry,
			struct rows *out)
{
	if (!dry && c->daemon)
		replay_wake(&c->daemon->replay);
	row_begin(out);
	if (!dry)
		row_int(out, "job", a->count);
	row_int(out, dry ? "matched" : "taken", a->taken);
	row_int(out, "skipped", a->skipped);
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
	if (e)
		return e;
	*ret_more = *ret_more && a->limit > s.len;
	if (dry) {
		int64_t n = s.len < a->limit ? s.len : a->limit;

		a->taken += n;
		a->limit -= n;
	} else {
		e = add(a, c, !*ret_more, &s, payload, why);
	}
	if (e || *ret_more)
		return e;
	return end_row(a, c, dry, out);
}

/* looking */

static void put_job(struct rows *out, const struct job *j)
{
	row_begin(out);
	row_int(out, "job", j->id);
	row_text(out, "state", j->state);
	row_int(out, "waiting", j->waiting);
	row_int(out, "running", j->running);
	row_int(out, "done", j->done);
	row_int(out, "failed", j->failed);
	row_int(out, "suppressed", j->suppressed);
	row_int(out, "cancelled", j->cancelled);
	row_int(out, "rate", j->rate);
	row_int(out, "uid", (int64_t)j->uid);
	row_int(out, "made_wall_ms", j->made_wall_ms);
	row_text(out, "what", j->what);
}

struct page {
	struct act *a;
	struct rows *out;
	unsigned n;
};

static enum err job_row(void *arg, const struct job *j)
{
	struct page *p = arg;

	put_job(p->out, j);
	if (!row_end(p->out))
		return ERR_NO;
	p->a->cursor = j->id;
	p->n++;
	return OK;
}

enum err act_job_list(struct act *a, const struct act_context *c,
		      struct rows *out, bool *ret_more,
		      struct err_detail *why UNUSED)
{
	struct page p = { a, out, 0 };
	enum err e;

	if (!a->step++)
		a->cursor = INT64_MAX;
	e = job_list(c->store, a->cursor, PAGE_ROWS, job_row, &p);
	*ret_more = e == ERR_NO || (!e && p.n == PAGE_ROWS);
	return e == ERR_NO ? OK : e;
}

static enum err take_id(const struct act *a, int64_t *ret_id,
			struct err_detail *why)
{
	enum err e = act_int(a, "ids", ret_id, why);

	if (!e && !*ret_id)
		e = err_say(why, ERR_USAGE, "name a job by its number; "
			    "`mqonce job list` shows them");
	return e;
}

static enum err show(struct act *a, const struct act_context *c, int64_t id,
		     struct rows *out, struct err_detail *why)
{
	struct page p = { a, out, 0 };
	enum err e = job_show(c->store, id, job_row, &p);

	return e == ERR_NO ? err_say(why, e, "%s", store_detail(c->store)) : e;
}

enum err act_job_show(struct act *a, const struct act_context *c,
		      struct rows *out, bool *ret_more, struct err_detail *why)
{
	int64_t id = 0;
	enum err e = take_id(a, &id, why);

	*ret_more = false;
	return e ? e : show(a, c, id, out, why);
}

typedef enum err job_fn(struct store *st, int64_t id, int64_t now_ms);

static enum err cancel(struct store *st, int64_t id, int64_t now_ms)
{
	return job_cancel(st, id, now_ms);
}

static enum err resume(struct store *st, int64_t id, int64_t now_ms UNUSED)
{
	return job_resume(st, id);
}

static enum err change(struct act *a, const struct act_context *c, job_fn *fn,
		       const char *refusal, struct rows *out,
		       struct err_detail *why)
{
	int64_t id = 0;
	enum err e = take_id(a, &id, why);

	if (!e)
		e = store_begin(c->store);
	if (e)
		return e;
	e = fn(c->store, id, store_now_ms(c->store, c->boot_ms));
	if (!e)
		e = act_audit(a, c, 1);
	if (e)
		store_rollback(c->store);
	else
		e = store_commit(c->store);
	if (e == ERR_GONE)
		return err_say(why, ERR_NO, "job %lld %s; `mqonce job list` "
			       "shows them", (long long)id, refusal);
	if (!e && c->daemon)
		replay_wake(&c->daemon->replay);
	return e ? e : show(a, c, id, out, why);
}

enum err act_job_cancel(struct act *a, const struct act_context *c,
			struct rows *out, bool *ret_more,
			struct err_detail *why)
{
	*ret_more = false;
	return change(a, c, cancel, "is neither running nor stopped", out, why);
}

enum err act_job_resume(struct act *a, const struct act_context *c,
			struct rows *out, bool *ret_more,
			struct err_detail *why)
{
	*ret_more = false;
	return change(a, c, resume, "is not stopped", out, why);
}
