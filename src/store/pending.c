#include "store/pending.h"

#include "database.h"
#include "props.h"

enum err pending_put(struct store *st, struct pending *p)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_PUT);
	const struct event *ev = &p->event;
	AUTO_PROPS char *props = NULL;
	enum err e = props_encode(ev, &props);

	if (e)
		return e;
	st->has_pending = true;
	bind_int(q, 1, p->group_no);
	bind_text(q, 2, p->who.tenant.data ? p->who.tenant : span_str(""));
	bind_text(q, 3, p->who.event_id);
	bind_key(q, 4, &p->who.key);
	bind_int(q, 5, (int64_t)p->who.fingerprint);
	bind_int(q, 6, p->recipe);
	bind_text(q, 7, ev->topic);
	bind_blob(q, 8, ev->payload);
	bind_text(q, 9, ev->content_type);
	bind_blob(q, 10, ev->correlation);
	bind_text(q, 11, span_str(props));
	bind_int(q, 12, ev->qos);
	bind_int(q, 13, ev->retain);
	bind_int(q, 14, ev->received_wall_ms);
	bind_int(q, 15, ev->received_sync);
	bind_int(q, 16, p->attempts);
	bind_int(q, 17, p->crashes);
	bind_int(q, 18, p->window_start_ms);
	bind_int(q, 19, p->due_ms);
	bind_int(q, 20, p->untouched ? 0 : st->epoch);
	bind_type(q, 21, &p->first_type);
	bind_type(q, 22, &p->last_type);
	bind_int(q, 23, p->runs);
	bind_blob(q, 24, p->order_key);
	return stmt_int(st, q, &p->id);
}

enum err pending_wait(struct store *st, const struct pending *p)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_WAIT);

	bind_int(q, 1, p->id);
	bind_int(q, 2, p->attempts);
	bind_int(q, 3, p->window_start_ms);
	bind_int(q, 4, p->due_ms);
	bind_int(q, 5, st->epoch);
	bind_type(q, 6, &p->first_type);
	bind_type(q, 7, &p->last_type);
	bind_int(q, 8, p->runs);
	return stmt_exec_one(st, q);
}

enum err pending_advance(struct store *st, int64_t id, int64_t due_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_ADVANCE);

	bind_int(q, 1, id);
	bind_int(q, 2, due_ms);
	return stmt_exec_one(st, q);
}

enum err pending_claim(struct store *st, int64_t id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_CLAIM);

	bind_int(q, 1, id);
	bind_int(q, 2, st->epoch);
	return stmt_exec_one(st, q);
}

enum err pending_release(struct store *st, bool died)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_RELEASE);

	bind_int(q, 1, died);
	return stmt_exec(st, q);
}

enum err pending_drop(struct store *st, int64_t id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_DROP);

	bind_int(q, 1, id);
	return stmt_exec_one(st, q);
}

/* False when @a is full. */
static bool load_spans(struct stmt *q, struct arena *a, struct pending *p)
{
	struct event *ev = &p->event;

	return arena_copy(a, col_text(q, 2), &p->who.tenant) &&
	       arena_copy(a, col_text(q, 3), &p->who.event_id) &&
	       arena_copy(a, col_text(q, 7), &ev->topic) &&
	       arena_copy(a, col_blob(q, 8), &ev->payload) &&
	       arena_copy(a, col_text(q, 9), &ev->content_type) &&
	       arena_copy(a, col_blob(q, 10), &ev->correlation);
}

static enum err load(struct store *st, struct stmt *q, struct arena *a,
		     struct pending *p)
{
	*p = (struct pending){
		.id = col_int(q, 0),
		.group_no = col_int(q, 1),
		.recipe = col_int(q, 6),
		.who = { .key = col_key(q, 4),
			 .fingerprint = (uint64_t)col_int(q, 5) },
		.event = { .qos = (uint8_t)col_int(q, 12),
			   .retain = col_int(q, 13),
			   .received_wall_ms = col_int(q, 14),
			   .received_sync = col_int(q, 15) },
		.attempts = (unsigned)col_int(q, 16),
		.crashes = (unsigned)col_int(q, 17),
		.window_start_ms = col_int(q, 18),
		.due_ms = col_int(q, 19),
		.first_type = col_type(q, 20),
		.last_type = col_type(q, 21),
		.letter_id = col_int(q, 22),
		.job_id = col_int(q, 23),
		.runs = (unsigned)col_int(q, 24),
		.untouched = col_int(q, 25) != st->epoch,
	};
	if (!load_spans(q, a, p))
		return ERR_NOMEM;
	p->event.payload_bytes = p->event.payload.len;
	return props_decode(col_text(q, 11), a, &p->event);
}

enum err pending_due(struct store *st, int64_t group_no, int64_t now_ms,
		     unsigned max, struct arena *a, struct pending *rows,
		     unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_DUE);
	bool row = true;
	unsigned n = 0;
	enum err e = OK;

	bind_int(q, 1, group_no);
	bind_int(q, 2, now_ms);
	bind_int(q, 3, max);
	while (!e && row && n < max) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		e = load(st, q, a, &rows[n]);
		if (e == ERR_NOMEM && n) {
			e = OK;		/* these first, the rest next time */
			break;
		}
		n += !e;
	}
	if (!e)
		*ret_n = n;
	return e;
}

/* ERR_NO without a row. */
static enum err load_one(struct store *st, struct stmt *q, struct arena *a,
			 struct pending *ret_p)
{
	bool row;
	enum err e = stmt_row(st, q, &row);

	if (!e && !row)
		return ERR_NO;
	return e ? e : load(st, q, a, ret_p);
}

enum err pending_load(struct store *st, int64_t id, struct arena *a,
		      struct pending *ret_p)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_LOAD);

	bind_int(q, 1, id);
	return load_one(st, q, a, ret_p);
}

static enum err load_after(struct store *st, int64_t group_no, int64_t due_ms,
			   int64_t id, struct arena *a, struct pending *ret_p)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_AFTER);

	bind_int(q, 1, group_no);
	bind_int(q, 2, due_ms);
	bind_int(q, 3, id);
	return load_one(st, q, a, ret_p);
}

enum err pending_after(struct store *st, int64_t group_no, int64_t due_ms,
		       int64_t id, struct arena *a, struct pending *ret_p)
{
	enum err e = load_after(st, group_no, due_ms, id, a, ret_p);

	if (e == ERR_NO)
		e = load_after(st, group_no, INT64_MIN, 0, a, ret_p);
	return e;
}

enum err pending_scan(struct store *st, int64_t id, unsigned max,
		      struct pending *rows, unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_SCAN);
	bool row = true;
	unsigned n = 0;
	enum err e = OK;

	bind_int(q, 1, id);
	bind_int(q, 2, max);
	for (; !e && n < max; n++) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		rows[n] = (struct pending){
			.id = col_int(q, 0),
			.group_no = col_int(q, 1),
			.who = { .key = col_key(q, 2) },
			.attempts = (unsigned)col_int(q, 3),
			.crashes = (unsigned)col_int(q, 4),
			.window_start_ms = col_int(q, 5),
			.due_ms = col_int(q, 6),
			.letter_id = col_int(q, 7),
		};
	}
	if (!e)
		*ret_n = n;
	return e;
}

enum err pending_next_due(struct store *st, int64_t group_no, int64_t *ret_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_NEXT);
	bool row;
	enum err e;

	bind_int(q, 1, group_no);
	e = stmt_row(st, q, &row);
	if (!e)
		*ret_ms = col_text(q, 0).data ? col_int(q, 0) : INT64_MAX;
	return e;
}

enum err pending_totals(struct store *st, int64_t group_no, int64_t *ret_rows,
			int64_t *ret_bytes)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_TOTALS);
	bool row;
	enum err e;

	bind_int(q, 1, group_no);
	e = stmt_row(st, q, &row);
	if (!e) {
		*ret_rows = col_int(q, 0);
		*ret_bytes = col_int(q, 1);
	}
	return e;
}

static enum err list(struct store *st, struct stmt *q, pending_line_fn *row_fn,
		     void *arg)
{
	bool row = true;
	enum err e = OK;

	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		e = row_fn(arg, &(struct pending_line){
			.id = col_int(q, 0),
			.group = col_text(q, 1),
			.tenant = col_text(q, 2),
			.event_id = col_text(q, 3),
			.topic = col_text(q, 4),
			.payload_bytes = col_int(q, 5),
			.attempts = col_int(q, 6),
			.due_ms = col_int(q, 7),
			.last_type = col_text(q, 8),
			.received_wall_ms = col_int(q, 9),
		});
	}
	return e;
}

enum err pending_list(struct store *st, int64_t after_id, int64_t group_no,
		      unsigned max, pending_line_fn *row_fn, void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_LIST);

	bind_int(q, 1, after_id);
	bind_int(q, 2, group_no);
	bind_int(q, 3, max);
	return list(st, q, row_fn, arg);
}

enum err pending_of_key(struct store *st, const struct hash_key *key,
			pending_line_fn *row_fn, void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_OF_KEY);

	bind_key(q, 1, key);
	return list(st, q, row_fn, arg);
}

enum err pending_hurry(struct store *st, int64_t group_no, unsigned max,
		       int64_t *after_id, unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_PENDING_HURRY);
	int64_t last = 0;
	bool row = true;
	unsigned n = 0;
	enum err e = OK;

	bind_int(q, 1, *after_id);
	bind_int(q, 2, group_no);
	bind_int(q, 3, max);
	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		n++;
		if (col_int(q, 0) > last)
			last = col_int(q, 0);
	}
	if (!e) {
		*ret_n = n;
		*after_id = n == max ? last : 0;
	}
	return e;
}
