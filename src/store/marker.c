#include "store/marker.h"

#include "base/clock.h"
#include "database.h"
#include "store/counter.h"

#define DRAIN_ROWS	250	/* between looks at the clock */

enum err marker_load(struct store *st)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GENERATIONS);
	bool row = true;
	enum err e = OK;

	for (unsigned i = 0; !e && row; i++) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		if (i == GENERATIONS)
			return err_say(&st->detail, ERR_CORRUPT,
				       "once_generation has too many rows");
		st->generation[i] = (struct generation){
			.no = (int)col_int(q, 0),
			.active = span_is(col_text(q, 1), "active"),
			.empty = span_is(col_text(q, 1), "empty"),
			.opened_ms = col_int(q, 2),
			.closed_ms = col_int(q, 3),
			.position = col_int(q, 4),
		};
	}
	if (!e && !st->generation[0].active)
		return err_say(&st->detail, ERR_CORRUPT,
			       "once_generation has no active row on top");
	return e;
}

static enum err find_in(struct store *st, int no, const struct hash_key *key,
			struct marker *ret_m, bool *ret_found)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_MARKER_FIND_0 + no);
	enum err e;

	bind_key(q, 1, key);
	e = stmt_row(st, q, ret_found);
	if (!e && *ret_found)
		*ret_m = (struct marker){
			.state = (int)col_int(q, 0),
			.fingerprint = (uint64_t)col_int(q, 1),
			.recipe = col_int(q, 2),
			.at_s = col_int(q, 3),
		};
	return e;
}

/* The newest generation that has the key decides; older copies are shadowed. */
enum err marker_find(struct store *st, const struct hash_key *key,
		     int64_t now_ms, int64_t ttl_ms, struct marker *ret_m,
		     bool *ret_found)
{
	struct marker m;
	bool found = false;
	enum err e = OK;

	for (int i = 0; !e && !found && i < GENERATIONS; i++) {
		const struct generation *g = &st->generation[i];

		if (!g->empty)
			e = find_in(st, g->no, key, &m, &found);
	}
	if (e)
		return e;
	*ret_found = found && m.at_s * 1000 + ttl_ms > now_ms;
	if (*ret_found)
		*ret_m = m;
	return OK;
}

/* Whether an expired one will be written over: asked only where it can be. */
static enum err is_replaced(struct store *st, const struct hash_key *key,
			    int64_t expired_ms, bool *ret_replaced)
{
	const struct generation *g = &st->generation[0];
	struct marker old;

	*ret_replaced = false;
	return g->opened_ms > expired_ms
		       ? OK : find_in(st, g->no, key, &old, ret_replaced);
}

static enum err put(struct store *st, const struct hash_key *key,
		    const struct marker *m, int64_t now_ms, int64_t expired_ms)
{
	int no = st->generation[0].no;
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_MARKER_PUT_0 + no);

	bind_key(q, 1, key);
	bind_int(q, 2, (int64_t)m->fingerprint);
	bind_int(q, 3, m->state);
	bind_int(q, 4, m->recipe);
	bind_int(q, 5, (now_ms + 999) / 1000);
	bind_int(q, 6, expired_ms < 0 ? -1 : expired_ms / 1000);
	return stmt_exec_one(st, q);
}

enum err marker_put(struct store *st, const struct hash_key *key,
		    const struct marker *m, int64_t now_ms, int64_t ttl_ms,
		    int64_t *ret_more)
{
	int64_t expired_ms = now_ms - ttl_ms;
	bool replaced;
	enum err e = is_replaced(st, key, expired_ms, &replaced);

	if (!e)
		e = put(st, key, m, now_ms, expired_ms);
	if (!e)
		*ret_more = replaced ? 0 : 1;
	return e;
}

enum err marker_list(struct store *st, const struct hash_key *key,
		     marker_row_fn *row_fn, void *arg)
{
	enum err e = OK;

	for (int i = 0; !e && i < GENERATIONS; i++) {
		struct marker m;
		bool found = false;

		e = find_in(st, st->generation[i].no, key, &m, &found);
		if (!e && found)
			e = row_fn(arg, st->generation[i].no, &m);
	}
	return e;
}

enum err marker_forget(struct store *st, const struct hash_key *key,
		       unsigned *ret_n)
{
	enum err e = OK;

	*ret_n = 0;
	for (int i = 0; !e && i < GENERATIONS; i++) {
		struct stmt *q AUTO_RESET =
			stmt_use(st, STMT_MARKER_FORGET_0 + i);

		bind_key(q, 1, key);
		e = stmt_exec(st, q);
		*ret_n += e ? 0 : (unsigned)sqlite3_changes(st->db);
	}
	return e;
}

static struct generation *find_empty(struct store *st)
{
	for (int i = 0; i < GENERATIONS; i++)
		if (st->generation[i].empty)
			return &st->generation[i];
	return NULL;
}

static enum err close_and_open(struct store *st, const struct generation *old,
			       const struct generation *next, int64_t now_ms)
{
	enum err e;

	{
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_GENERATION_CLOSE);

		bind_int(q, 1, old->no);
		bind_int(q, 2, now_ms);
		e = stmt_exec_one(st, q);
	}
	if (!e) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_GENERATION_OPEN);

		bind_int(q, 1, next->no);
		bind_int(q, 2, now_ms);
		bind_int(q, 3, old->position + 1);
		e = stmt_exec_one(st, q);
	}
	return e;
}

/*
 * Memory follows the commit.  Where it cannot, nothing may be written to a
 * generation that is not what it is taken for: only a new start helps.
 */
static enum err end(struct store *st, enum err e)
{
	if (e)
		store_rollback(st);
	else
		e = store_commit(st);
	if (e)
		return e;
	return marker_load(st) ? ERR_IO : OK;
}

enum err marker_rotate(struct store *st, int64_t now_ms,
		       int64_t longest_ttl_ms, bool *ret_rotated)
{
	const struct generation *old = &st->generation[0];
	const struct generation *next = find_empty(st);
	enum err e;

	*ret_rotated = false;
	if (!next || now_ms - old->opened_ms < longest_ttl_ms / 3)
		return OK;
	e = store_begin(st);
	if (e)
		return e;
	e = end(st, close_and_open(st, old, next, now_ms));
	*ret_rotated = !e;
	return e;
}

/* One second more: marker times are rounded up. */
static bool is_expired(const struct generation *g, int64_t now_ms,
		       int64_t ttl_ms)
{
	return !g->empty && !g->active &&
	       g->closed_ms + ttl_ms + 1000 <= now_ms;
}

enum err marker_expired(struct store *st, int64_t now_ms,
			int64_t longest_ttl_ms, marker_count_fn *row_fn,
			void *arg)
{
	enum err e = OK;

	for (int i = 0; !e && i < GENERATIONS; i++) {
		const struct generation *g = &st->generation[i];
		int64_t n = 0;

		if (!is_expired(g, now_ms, longest_ttl_ms))
			continue;
		{
			struct stmt *q AUTO_RESET =
				stmt_use(st, STMT_MARKER_COUNT_0 + g->no);

			e = stmt_int(st, q, &n);
		}
		if (!e)
			e = row_fn(arg, g->no, n);
	}
	return e;
}

/* The oldest that is closed, once its last marker has passed the ttl. */
static const struct generation *find_expired(const struct store *st,
					     int64_t now_ms, int64_t ttl_ms)
{
	for (int i = GENERATIONS - 1; i > 0; i--) {
		const struct generation *g = &st->generation[i];

		if (is_expired(g, now_ms, ttl_ms))
			return g;
	}
	return NULL;
}

static enum err drain_rows(struct store *st, int no, unsigned max_rows,
			   unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_MARKER_DRAIN_0 + no);
	enum err e;

	bind_int(q, 1, max_rows);
	e = stmt_exec(st, q);
	*ret_n = e ? 0 : (unsigned)sqlite3_changes(st->db);
	return e;
}

/* *ret_more stays false when the last one went. */
static enum err drain_slice(struct store *st, int no, unsigned max_rows,
			    unsigned *ret_n, bool *ret_more)
{
	int64_t end_ms = clock_boot_ms() + MARKER_SLICE_MS;
	enum err e = OK;

	*ret_n = 0;
	*ret_more = true;
	while (!e && *ret_more && *ret_n < max_rows) {
		unsigned n, some = max_rows - *ret_n;

		some = some < DRAIN_ROWS ? some : DRAIN_ROWS;
		e = drain_rows(st, no, some, &n);
		*ret_n += n;
		*ret_more = !e && n == some;
		if (clock_boot_ms() >= end_ms)
			break;
	}
	return e;
}

static enum err set_empty(struct store *st, int no)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GENERATION_EMPTY);

	bind_int(q, 1, no);
	return stmt_exec_one(st, q);
}

/* Markers belong to no group once they are gone. */
static enum err count_out(struct store *st, unsigned n)
{
	const struct counters gone = { .markers = -(int64_t)n };

	return n ? counter_add(st, COUNTER_NO_GROUP, &gone) : OK;
}

enum err marker_drain(struct store *st, int64_t now_ms, int64_t longest_ttl_ms,
		      unsigned max_rows, unsigned *ret_n, bool *ret_more)
{
	const struct generation *g = find_expired(st, now_ms, longest_ttl_ms);
	unsigned n = 0;
	bool more = false;
	enum err e;

	*ret_n = 0;
	*ret_more = false;
	if (!g)
		return OK;
	e = store_begin(st);
	if (e)
		return e;
	e = drain_slice(st, g->no, max_rows, &n, &more);
	if (!e && !more)
		e = set_empty(st, g->no);
	if (!e)
		e = count_out(st, n);
	e = end(st, e);
	if (e)
		return e;	/* what was not committed did not go */
	*ret_n = n;
	*ret_more = more;
	return OK;
}
