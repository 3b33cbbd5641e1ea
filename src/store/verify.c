/*
 * Whether the file is sound and says one thing.  Each table and each question
 * is a read of its own, so that a large store does not keep the WAL from being
 * reused for long.
 */
#include "store/care.h"

#include <stdio.h>

#include "database.h"
#include "migrations.h"

#define TELL_MAX	10	/* of one kind */

struct teller {
	store_fault_fn *fn;
	void *arg;
	unsigned of_this, all;
};

static void tell(struct teller *t, const char *text)
{
	t->all++;
	if (t->of_this++ < TELL_MAX)
		t->fn(t->arg, text);
	else if (t->of_this == TELL_MAX + 2)
		t->fn(t->arg, "and more like that");
}

static void tell_failure(struct teller *t, const char *what, int rc)
{
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", what, sqlite3_errstr(rc));
	tell(t, text);
}

/* What cannot even be asked is a fault too. */
static enum err tell_rows(struct store *st, sqlite3_stmt *raw, const char *what,
			  struct teller *t)
{
	int rc;

	t->of_this = 0;
	while ((rc = sqlite3_step(raw)) == SQLITE_ROW) {
		const char *s = (const char *)sqlite3_column_text(raw, 0);

		if (s && strcmp(s, "ok"))
			tell(t, s);
	}
	if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB) {
		tell_failure(t, what, rc);
		return OK;
	}
	return rc == SQLITE_DONE ? OK : store_err(st, rc);
}

/* *ret_name is the table behind it in the alphabet; "" behind the last. */
static enum err next_table(struct store *st, char name[256])
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_TABLE_NEXT);
	bool row;
	enum err e;

	bind_text(q, 1, span_str(name));
	e = stmt_row(st, q, &row);
	if (!e)
		snprintf(name, 256, "%.*s",
			 SPAN_FMT(row ? col_text(q, 0) : span_str("")));
	return e;
}

static enum err check_tables(struct store *st, struct teller *t)
{
	char name[256] = "";
	enum err e = next_table(st, name);

	while (!e && *name) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_QUICK_CHECK);

		bind_text(q, 1, span_str(name));
		e = tell_rows(st, q->raw, name, t);
		if (!e)
			e = next_table(st, name);
	}
	return e;
}

static enum err check_records(struct store *st, int64_t now_ms,
			      struct teller *t)
{
	const char *at = verify_sql;
	enum err e = OK;

	while (!e && *at) {
		sqlite3_stmt *raw = NULL;
		int rc = sqlite3_prepare_v2(st->db, at, -1, &raw, &at);

		if (rc)
			return store_err(st, rc);
		if (raw && sqlite3_bind_parameter_count(raw))
			sqlite3_bind_int64(raw, 1, now_ms);
		if (raw)
			e = tell_rows(st, raw, "a question", t);
		sqlite3_finalize(raw);
	}
	return e;
}

enum err store_verify(struct store *st, int64_t now_ms, store_fault_fn *fn,
		      void *arg, unsigned *ret_n)
{
	struct teller t = { fn, arg, 0, 0 };
	enum err e;

	sqlite3_busy_timeout(st->db, 5000);
	e = check_tables(st, &t);
	if (!e)
		e = check_records(st, now_ms, &t);
	*ret_n = t.all;
	return e;
}
