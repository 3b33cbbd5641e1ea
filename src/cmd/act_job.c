/* Replay jobs: looked at, cancelled, resumed. */
#include "act.h"
#include "daemon.h"
#include "store/job.h"
#include "store/store.h"

#define PAGE_ROWS	200

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
