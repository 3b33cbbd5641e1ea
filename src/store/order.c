#include "store/order.h"

#include "database.h"

enum err order_is_stale(struct store *st, const struct order *o,
			bool *ret_stale)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ORDER_GET);
	bool row;
	enum err e;

	bind_key(q, 1, &o->hash);
	e = stmt_row(st, q, &row);
	if (!e)
		*ret_stale = row && order_compare(o->by, col_text(q, 0)) < 0;
	return e;
}

static enum err put(struct store *st, int64_t group_no, const struct order *o,
		    int64_t now_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ORDER_PUT);

	bind_key(q, 1, &o->hash);
	bind_int(q, 2, group_no);
	bind_text(q, 3, o->by);
	bind_int(q, 4, now_ms);
	return stmt_exec_one(st, q);
}

enum err order_put(struct store *st, int64_t group_no, const struct order *o,
		   int64_t now_ms)
{
	bool stale;
	enum err e = order_is_stale(st, o, &stale);

	if (!e && stale)
		return err_say(&st->detail, ERR_GONE,
			       "an order key has a newer value");
	return e ? e : put(st, group_no, o, now_ms);
}

/* *ret_last is the end of the slice; absent key bytes of 0 begin anew. */
static enum err find_slice(struct store *st, const struct hash_key *from,
			   unsigned max_rows, struct hash_key *ret_last,
			   int64_t *ret_rows)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ORDER_SLICE);
	bool row;
	enum err e;

	bind_key(q, 1, from);
	bind_int(q, 2, max_rows);
	e = stmt_row(st, q, &row);
	if (!e) {
		*ret_rows = col_int(q, 0);
		*ret_last = col_key(q, 1);
	}
	return e;
}

enum err order_sweep(struct store *st, struct hash_key *cursor,
		     int64_t before_ms, unsigned max_rows, unsigned *ret_n)
{
	struct hash_key last = { .bytes = { 0 } };
	int64_t rows = 0;
	enum err e = find_slice(st, cursor, max_rows, &last, &rows);

	*ret_n = 0;
	if (!e && rows) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_ORDER_SWEEP);

		bind_key(q, 1, cursor);
		bind_key(q, 2, &last);
		bind_int(q, 3, before_ms);
		e = stmt_exec(st, q);
		*ret_n = e ? 0 : (unsigned)sqlite3_changes(st->db);
	}
	if (!e)
		*cursor = rows == max_rows ? last
					   : (struct hash_key){ .bytes = { 0 } };
	return e;
}
