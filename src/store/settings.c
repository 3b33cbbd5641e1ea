/* What every connection to the file is set to, and the migrations. */
#include "database.h"

#include <stdio.h>

#include "migrations.h"

/* A reader or a slow checkpoint of the last owner; afterwards never a wait. */
#define OPEN_BUSY_MS	5000

#define CACHE_KIB	1500

enum err store_exec(struct store *st, const char *sql)
{
	return store_err(st, sqlite3_exec(st->db, sql, NULL, NULL, NULL));
}

enum err store_pragma_int(struct store *st, const char *sql, int64_t *ret_v)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(st->db, sql, -1, &q, NULL);

	if (!rc)
		rc = sqlite3_step(q);
	if (rc == SQLITE_ROW)
		*ret_v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return rc == SQLITE_ROW ? OK : store_err(st, rc ? rc : SQLITE_ERROR);
}

/* The switches of https://sqlite.org/security.html that apply to us. */
static enum err harden(struct store *st)
{
	static const struct {
		int op, on;
	} switches[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FKEY, 1 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};
	int rc = sqlite3_extended_result_codes(st->db, 1);

	for (size_t i = 0; !rc && i < ARRAY_LEN(switches); i++)
		rc = sqlite3_db_config(st->db, switches[i].op, switches[i].on,
				       NULL);
	return store_err(st, rc);
}

/* synchronous = NORMAL loses acknowledged events at a power cut: read back. */
static enum err check_synchronous(struct store *st)
{
	int64_t v = 0;
	enum err e = store_pragma_int(st, "PRAGMA synchronous", &v);

	if (!e && v != 2)
		return err_say(&st->detail, ERR_BUG,
			       "synchronous is %d, not FULL", (int)v);
	return e;
}

static enum err set_budget(struct store *st, int64_t max_size)
{
	char sql[64];
	int64_t got = 0;
	enum err e;

	if (!max_size)
		return OK;
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %lld",
		 (long long)(max_size / STORE_PAGE_BYTES));
	e = store_pragma_int(st, sql, &got);
	st->max_pages = got;	/* never below what the file has */
	return e;
}

/* Part of the heap the library may have; what is read again costs little. */
static enum err set_cache(struct store *st, int64_t memory)
{
	int64_t kib = memory ? memory / 4 / 1024 : CACHE_KIB;
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA cache_size = -%lld",
		 (long long)(kib < CACHE_KIB ? kib : CACHE_KIB));
	return store_exec(st, sql);
}

enum err store_configure(struct store *st, const struct store_options *o,
			 struct err_detail *why)
{
	enum err e = harden(st);

	sqlite3_busy_timeout(st->db, OPEN_BUSY_MS);
	if (!e)
		e = store_exec(st, "PRAGMA synchronous = FULL;"
			     "PRAGMA foreign_keys = ON;"
			     "PRAGMA cell_size_check = ON;"
			     "PRAGMA mmap_size = 0;"
			     "PRAGMA temp_store = MEMORY;"
			     /* what a reader made of the WAL is given back */
			     "PRAGMA journal_size_limit = 16777216;"
			     "PRAGMA wal_autocheckpoint = 0;");
	if (!e)
		e = store_exec(st, o->secure_delete ? "PRAGMA secure_delete = ON"
					      : "PRAGMA secure_delete = OFF");
	if (!e)
		e = set_cache(st, o->memory);
	if (!e)
		e = check_synchronous(st);
	if (!e)
		e = set_budget(st, o->max_size);
	if (e)
		return err_say(why, e, "%s: %s", st->path, st->detail.text);
	return OK;
}

static enum err migrate_one(struct store *st, unsigned from)
{
	char sql[64];
	enum err e = store_exec(st, "BEGIN IMMEDIATE");

	if (e)
		return e;
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %u", from + 1);
	e = store_exec(st, migrations[from].sql);
	if (!e)
		e = store_exec(st, sql);
	if (!e)
		e = store_exec(st, "COMMIT");
	if (e && !sqlite3_get_autocommit(st->db))
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	return e;
}

enum err store_migrate(struct store *st, struct err_detail *why)
{
	int64_t version = 0;
	enum err e = store_pragma_int(st, "PRAGMA user_version", &version);

	if (!e && version > migrations_len)
		return err_say(why, ERR_SCHEMA,
			       "%s: written by a newer mqonce (schema %d, this "
			       "one knows %u); install that version", st->path,
			       (int)version, migrations_len);
	if (!e && st->role == STORE_READER && version < migrations_len)
		return err_say(why, ERR_SCHEMA,
			       "%s: written by an older mqonce; start "
			       "`mqonce run` once to bring it up to date",
			       st->path);
	for (unsigned i = (unsigned)version; !e && i < migrations_len; i++)
		e = migrate_one(st, i);
	if (e)
		return err_say(why, e, "%s: %s", st->path, st->detail.text);
	return OK;
}
