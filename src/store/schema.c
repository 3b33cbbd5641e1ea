/* An operator's schema files: applied once each, in their order, in the sandbox. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "store/script.h"

/* Changes to a schema may touch every row there is. */
#define SCHEMA_TIMEOUT_MS	60000

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static enum err known_hash(struct store *st, const char *name,
			   struct hash_key *ret_hash, bool *ret_known)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_SCHEMA_GET);
	enum err e;

	bind_text(q, 1, span_str(name));
	e = stmt_row(st, q, ret_known);
	if (!e && *ret_known)
		*ret_hash = col_key(q, 0);
	return e;
}

static enum err note(struct store *st, const char *name,
		     const struct hash_key *hash, int64_t wall_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_SCHEMA_PUT);

	bind_text(q, 1, span_str(name));
	bind_key(q, 2, hash);
	bind_int(q, 3, wall_ms);
	return stmt_exec_one(st, q);
}

static int line_at(const char *text, const char *at)
{
	int line = 1;

	at += strspn(at, " \t\r\n");
	for (; text < at && *text; text++)
		line += *text == '\n';
	return line;
}

/* One statement after the other, so that a failure has a line. */
static enum err run_all(struct store *st, const char *file, const char *text,
			struct err_detail *why)
{
	const char *at = text;

	while (*at) {
		sqlite3_stmt *q = NULL;
		const char *tail = at;
		int rc, offset;

		st->sandbox.alters = false;
		rc = sqlite3_prepare_v2(st->db, at, -1, &q, &tail);
		offset = rc ? sqlite3_error_offset(st->db) : 0;

		while (!rc && q && (rc = sqlite3_step(q)) == SQLITE_ROW)
			rc = SQLITE_OK;
		if (rc == SQLITE_DONE)
			rc = SQLITE_OK;
		if (rc && !why->text[0])
			(void)!err_say(why, ERR_INPUT, "%s:%d: %s%s", file,
				line_at(text, at + (offset > 0 ? offset : 0)),
				st->sandbox.denied ? "not allowed: " : "",
				st->sandbox.denied ? st->sandbox.denied
						   : sqlite3_errmsg(st->db));
		sqlite3_finalize(q);
		if (rc)
			return store_err_code(rc) == ERR_BUG
				       ? ERR_INPUT : store_err_code(rc);
		at = tail;
	}
	return OK;
}

/* The authorizer is not shown what REFERENCES names: ask afterwards. */
static enum err check_foreign_keys(struct store *st, const char *file,
				   struct err_detail *why)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_SCHEMA_FOREIGN);
	bool row;
	enum err e = stmt_row(st, q, &row);

	if (!e && row)
		return err_say(why, ERR_INPUT, "%s: not allowed: table %.*s "
			       "has a foreign key into a table of mqonce", file,
			       SPAN_FMT(col_text(q, 0)));
	return e;
}

static enum err count_ours(struct store *st, int64_t *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_SCHEMA_OURS);

	return stmt_int(st, q, ret_n);
}

/* The authorizer is not shown what RENAME TO names either. */
static enum err check_names(struct store *st, const char *file, int64_t before,
			    struct err_detail *why)
{
	int64_t after = before;
	enum err e = count_ours(st, &after);

	if (!e && after != before)
		return err_say(why, ERR_INPUT, "%s: not allowed: names that "
			       "start with once_ belong to mqonce", file);
	return e;
}

static enum err apply(struct store *st, const char *file, struct span text,
		      struct err_detail *why)
{
	AUTO_FREE char *copy = strndup(text.data, text.len);
	int64_t ours = 0;
	enum err e = count_ours(st, &ours);

	if (e)
		return e;
	if (!copy)
		return ERR_NOMEM;
	if (strlen(copy) != text.len)
		return err_say(why, ERR_INPUT, "%s: holds a NUL byte", file);
	sandbox_enter(st, SANDBOX_SCHEMA, NULL, SCHEMA_TIMEOUT_MS);
	e = run_all(st, file, copy, why);
	sandbox_leave(st);
	if (!e)
		e = check_names(st, file, ours, why);
	return e ? e : check_foreign_keys(st, file, why);
}

static struct hash_key hash_of(struct span text)
{
	struct hash h = hash_start(0);

	hash_add(h, text);
	return hash_end128(h);
}

/* *ret_known: the file was applied, as it is now. */
static enum err look_up(struct store *st, const char *file, struct span text,
			bool *ret_known, struct err_detail *why)
{
	struct hash_key hash = hash_of(text), then;
	enum err e = known_hash(st, base_name(file), &then, ret_known);

	if (e)
		return err_say(why, e, "%s: %s", file, store_detail(st));
	if (*ret_known && memcmp(&hash, &then, sizeof(hash)))
		return err_say(why, ERR_INPUT,
			       "%s: was edited after it was applied; put it "
			       "back and write the change into a new file",
			       file);
	return OK;
}

enum err schema_check(struct store *st, const char *file, struct span text,
		      struct err_detail *why)
{
	bool known;

	return look_up(st, file, text, &known, why);
}

enum err schema_apply(struct store *st, const char *file, struct span text,
		      int64_t wall_ms, struct err_detail *why)
{
	struct hash_key hash = hash_of(text);
	bool known = false;
	enum err e = look_up(st, file, text, &known, why);

	if (e || known)
		return e;
	why->text[0] = '\0';
	e = apply(st, file, text, why);
	if (!e)
		e = note(st, base_name(file), &hash, wall_ms);
	if (e && !why->text[0])
		return err_say(why, e, "%s: %s", file, store_detail(st));
	return e;
}
