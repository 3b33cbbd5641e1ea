#include "store/job.h"

#include "database.h"
#include "store/letter.h"
#include "store/pending.h"

enum err job_put(struct store *st, const struct job *j, int64_t *ret_id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_PUT);

	bind_int(q, 1, j->uid);
	bind_int(q, 2, j->made_ms);
	bind_int(q, 3, j->made_wall_ms);
	bind_text(q, 4, j->what);
	bind_int(q, 5, j->rate);
	bind_int(q, 6, j->stop_after);
	return stmt_int(st, q, ret_id);
}

enum err job_add(struct store *st, int64_t job_id, int64_t letter_id,
		 struct span payload, bool *ret_taken)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_ADD);
	enum err e;

	bind_int(q, 1, job_id);
	bind_int(q, 2, letter_id);
	bind_blob(q, 3, payload);
	e = stmt_exec(st, q);
	if (!e)
		*ret_taken = sqlite3_changes(st->db) == 1;
	return e;
}

enum err job_has(struct store *st, int64_t letter_id, bool *ret_has)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_HAS);
	int64_t v = 0;
	enum err e;

	bind_int(q, 1, letter_id);
	e = stmt_int(st, q, &v);
	*ret_has = v;
	return e;
}

static enum err move_item(struct store *st, int64_t job_id, int64_t letter_id,
			  const char *from, const char *to)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_ITEM_MOVE);

	bind_int(q, 1, job_id);
	bind_int(q, 2, letter_id);
	bind_text(q, 3, span_str(from));
	bind_text(q, 4, span_str(to));
	return stmt_exec_one(st, q);
}

static enum err put_pending(struct store *st, int64_t job_id,
			    int64_t letter_id, int64_t now_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_PENDING_PUT);

	st->has_pending = true;
	bind_int(q, 1, job_id);
	bind_int(q, 2, letter_id);
	bind_int(q, 3, now_ms);
	bind_int(q, 4, st->epoch);
	return stmt_exec_one(st, q);
}

enum err job_start_item(struct store *st, int64_t job_id, int64_t letter_id,
			int64_t now_ms)
{
	enum err e = letter_move(st, letter_id, "open", "replaying", now_ms,
				 LETTER_NOBODY);

	if (e == ERR_GONE)	/* somebody discarded it meanwhile */
		return move_item(st, job_id, letter_id, "waiting", "cancelled");
	if (!e)
		e = move_item(st, job_id, letter_id, "waiting", "running");
	if (!e)
		e = put_pending(st, job_id, letter_id, now_ms);
	return e;
}

static enum err count(struct store *st, int64_t job_id, enum job_result how)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_COUNT);

	bind_int(q, 1, job_id);
	bind_int(q, 2, how == JOB_DONE);
	bind_int(q, 3, how == JOB_FAILED);
	bind_int(q, 4, how == JOB_SUPPRESSED);
	return stmt_exec_one(st, q);
}

static enum err run(struct store *st, enum stmt_id id, int64_t a)
{
	struct stmt *q AUTO_RESET = stmt_use(st, id);

	bind_int(q, 1, a);
	return stmt_exec(st, q);
}

enum err job_end_item(struct store *st, int64_t job_id, int64_t letter_id,
		      int64_t pending_id, enum job_result how, int64_t now_ms)
{
	static const char *const states[] = {
		[JOB_DONE] = "done", [JOB_FAILED] = "failed",
		[JOB_SUPPRESSED] = "suppressed",
	};
	enum err e = letter_move(st, letter_id, "replaying",
				 how == JOB_FAILED ? "open" : "resolved",
				 now_ms, LETTER_NOBODY);

	if (!e)
		e = move_item(st, job_id, letter_id, "running", states[how]);
	if (!e)
		e = pending_drop(st, pending_id);
	if (!e)
		e = count(st, job_id, how);
	if (!e && how == JOB_FAILED)
		e = run(st, STMT_JOB_STOP, job_id);
	return e;
}

static enum err move_job(struct store *st, int64_t id, const char *from,
			 const char *to, int64_t now_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_MOVE);

	bind_int(q, 1, id);
	bind_text(q, 2, span_str(from));
	bind_text(q, 3, span_str(to));
	bind_int(q, 4, now_ms);
	return stmt_exec_one(st, q);
}

enum err job_cancel(struct store *st, int64_t job_id, int64_t now_ms)
{
	enum err e = move_job(st, job_id, "running", "cancelled", now_ms);

	if (!e) {
		struct stmt *q AUTO_RESET =
			stmt_use(st, STMT_JOB_CANCEL_LETTERS);

		st->letters_moved = true;
		bind_int(q, 1, job_id);
		bind_int(q, 2, now_ms);
		e = stmt_exec(st, q);
	}
	if (!e)
		e = run(st, STMT_JOB_CANCEL_PENDING, job_id);
	if (!e)
		e = run(st, STMT_JOB_CANCEL_ITEMS, job_id);
	return e;
}

enum err job_resume(struct store *st, int64_t job_id)
{
	return move_job(st, job_id, "stopped", "running", 0);
}

enum err job_finish(struct store *st, int64_t job_id, int64_t now_ms,
		    bool *ret_done)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_FINISH);
	enum err e;

	bind_int(q, 1, job_id);
	bind_int(q, 2, now_ms);
	e = stmt_exec(st, q);
	if (!e)
		*ret_done = sqlite3_changes(st->db) == 1;
	return e;
}

static struct job row_job(struct stmt *q)
{
	return (struct job){
		.id = col_int(q, 0),
		.state = col_text(q, 1),
		.what = col_text(q, 2),
		.uid = (uid_t)col_int(q, 3),
		.rate = col_int(q, 4),
		.stop_after = col_int(q, 5),
		.made_ms = col_int(q, 6),
		.made_wall_ms = col_int(q, 7),
		.done = col_int(q, 8),
		.failed = col_int(q, 9),
		.suppressed = col_int(q, 10),
		.waiting = col_int(q, 11),
		.running = col_int(q, 12),
		.cancelled = col_int(q, 13),
	};
}

enum err job_current(struct store *st, unsigned in_flight, struct job *ret_j)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_CURRENT);
	bool row;
	enum err e;

	bind_int(q, 1, in_flight);
	e = stmt_row(st, q, &row);
	if (!e)
		*ret_j = (struct job){ .id = row ? col_int(q, 0) : 0,
				       .rate = row ? col_int(q, 1) : 0,
				       .stop_after = row ? col_int(q, 2) : 0,
				       .failed = row ? col_int(q, 3) : 0,
				       .running = row ? col_int(q, 4) : 0 };
	return e;
}

enum err job_waiting(struct store *st, int64_t job_id, unsigned max,
		     int64_t *ids, unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_WAITING);
	bool row = true;
	unsigned n = 0;
	enum err e = OK;

	bind_int(q, 1, job_id);
	bind_int(q, 2, max);
	while (!e && n < max) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		ids[n++] = col_int(q, 0);
	}
	if (!e)
		*ret_n = n;
	return e;
}

static enum err list(struct store *st, int64_t before_id, int64_t id,
		     unsigned max, job_row_fn *row_fn, void *arg,
		     unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_JOB_LIST);
	bool row = true;
	enum err e = OK;

	bind_int(q, 1, before_id);
	bind_int(q, 2, id);
	bind_int(q, 3, max);
	for (*ret_n = 0; !e; ++*ret_n) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		struct job j = row_job(q);

		e = row_fn(arg, &j);
	}
	return e;
}

enum err job_list(struct store *st, int64_t before_id, unsigned max,
		  job_row_fn *row_fn, void *arg)
{
	unsigned n;

	return list(st, before_id, 0, max, row_fn, arg, &n);
}

enum err job_show(struct store *st, int64_t id, job_row_fn *row_fn, void *arg)
{
	unsigned n = 0;
	enum err e = list(st, INT64_MAX, id, 1, row_fn, arg, &n);

	if (!e && !n)
		return err_say(&st->detail, ERR_NO, "no job %lld; `mqonce job "
			       "list` shows them", (long long)id);
	return e;
}
