/* Statements in use: values in, rows out. */
#include <assert.h>
#include <string.h>

#include "database.h"

struct stmt *stmt_use(struct store *st, enum stmt_id id)
{
	struct stmt *q = &st->stmt[id];

	assert(!sqlite3_stmt_busy(q->raw));
	q->rc = SQLITE_OK;
	return q;
}

void stmt_reset_(struct stmt **q)
{
	sqlite3_reset((*q)->raw);
	sqlite3_clear_bindings((*q)->raw);
}

static void stick(struct stmt *q, int rc)
{
	if (q->rc == SQLITE_OK)
		q->rc = rc;
}

void bind_int(struct stmt *q, int pos, int64_t v)
{
	stick(q, sqlite3_bind_int64(q->raw, pos, v));
}

void bind_text(struct stmt *q, int pos, struct span v)
{
	stick(q, sqlite3_bind_text64(q->raw, pos, v.data, v.len, SQLITE_STATIC,
				     SQLITE_UTF8));
}

void bind_blob(struct stmt *q, int pos, struct span v)
{
	stick(q, sqlite3_bind_blob64(q->raw, pos, v.data, v.len,
				     SQLITE_STATIC));
}

void bind_key(struct stmt *q, int pos, const struct hash_key *key)
{
	bind_blob(q, pos, span_of(key->bytes, sizeof(key->bytes)));
}

void bind_type(struct stmt *q, int pos, const struct error_type *t)
{
	bind_text(q, pos, span_str(*t->text ? t->text : NULL));
}

enum err stmt_exec(struct store *st, struct stmt *q)
{
	bool row;

	return stmt_row(st, q, &row);
}

enum err stmt_exec_one(struct store *st, struct stmt *q)
{
	enum err e = stmt_exec(st, q);

	if (!e && sqlite3_changes(st->db) != 1)
		return err_say(&st->detail, ERR_GONE,
			       "%s: statement %d changed %d rows, not one",
			       err_text(ERR_GONE), (int)(q - st->stmt),
			       sqlite3_changes(st->db));
	return e;
}

enum err stmt_row(struct store *st, struct stmt *q, bool *ret_row)
{
	if (q->rc == SQLITE_OK || q->rc == SQLITE_ROW)
		q->rc = sqlite3_step(q->raw);
	*ret_row = q->rc == SQLITE_ROW;
	return store_err(st, q->rc);
}

enum err stmt_int(struct store *st, struct stmt *q, int64_t *ret_v)
{
	bool row;
	enum err e = stmt_row(st, q, &row);

	if (e)
		return e;
	if (!row)
		return err_say(&st->detail, ERR_GONE, "%s",
			       err_text(ERR_GONE));
	*ret_v = col_int(q, 0);
	return OK;
}

int64_t col_int(struct stmt *q, int col)
{
	return sqlite3_column_int64(q->raw, col);
}

struct span col_text(struct stmt *q, int col)
{
	const void *p = sqlite3_column_text(q->raw, col);

	return span_of(p, (size_t)sqlite3_column_bytes(q->raw, col));
}

struct span col_blob(struct stmt *q, int col)
{
	const void *p;

	if (sqlite3_column_type(q->raw, col) == SQLITE_NULL)
		return (struct span){ 0 };
	p = sqlite3_column_blob(q->raw, col);
	/* SQLite gives NULL for an empty blob, which is not an absent one. */
	return span_of(p ? p : "",
		       (size_t)sqlite3_column_bytes(q->raw, col));
}

struct hash_key col_key(struct stmt *q, int col)
{
	struct hash_key key = { 0 };
	struct span s = col_blob(q, col);

	if (s.len == sizeof(key.bytes))
		memcpy(key.bytes, s.data, s.len);
	return key;
}

struct error_type col_type(struct stmt *q, int col)
{
	struct error_type t = { "" };
	struct span s = col_text(q, col);

	if (s.data && s.len < sizeof(t.text))
		memcpy(t.text, s.data, s.len + 1);
	return t;
}
