/* An operator's SQL reaches the operator's tables and nothing else. */
#include "../support/test.h"

#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "store/script.h"

static int setup(void **state)
{
	const struct store_options o = { .path = ":memory:" };
	struct err_detail why = { "" };
	struct store *st = NULL;

	if (store_open(&o, STORE_SCRATCH, &st, &why))
		fail_msg("%s", why.text);
	if (schema_apply(st, "a.sql", span_str(
		"CREATE TABLE t (a ANY, b TEXT NOT NULL DEFAULT '') STRICT;\n"
		"CREATE TABLE u (a INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;\n"
		), 0, &why))
		fail_msg("%s", why.text);
	*state = st;
	return 0;
}

static int teardown(void **state)
{
	store_close(*state);
	return 0;
}

static enum err prepare(struct store *st, const char *sql,
			struct script **ret_s, struct err_detail *why)
{
	const struct script_options o = { .file = "h.sql",
					  .format = FORMAT_JSON,
					  .timeout_ms = 100 };

	return script_prepare(st, &o, span_str(sql), ret_s, why);
}

static void hostile_statements_are_refused_with_file_and_line(void **state)
{
	const struct {
		const char *sql, *words;
	} rows[] = {
		{ "DELETE FROM once_marker_0;", "h.sql:1: not allowed" },
		{ "SELECT * FROM once_pending;", "h.sql:1: not allowed" },
		{ "SELECT * FROM once_marker;", "h.sql:1: not allowed" },
		{ "SELECT * FROM sqlite_master;", "h.sql:1: not allowed" },
		{ "UPDATE sqlite_sequence SET seq = 0;", "h.sql:1: not allowed" },
		{ "SELECT 1;\n\nBEGIN;", "h.sql:3: not allowed" },
		{ "COMMIT;", "not allowed" },
		{ "ROLLBACK;", "not allowed" },
		{ "SAVEPOINT x;", "not allowed" },
		{ "RELEASE x;", "not allowed" },
		{ "ATTACH 'x' AS y;", "not allowed" },
		{ "DETACH main;", "not allowed" },
		{ "PRAGMA synchronous = OFF;", "not allowed" },
		{ "SELECT * FROM pragma_table_list;", "not allowed" },
		{ "CREATE TABLE x (y);", "not allowed" },
		{ "CREATE TEMP TABLE x (y);", "not allowed" },
		{ "DROP TABLE t;", "not allowed" },
		{ "ALTER TABLE t ADD COLUMN c;", "not allowed" },
		{ "CREATE INDEX i ON t (a);", "not allowed" },
		{ "REINDEX;", "not allowed" },
		{ "ANALYZE;", "not allowed" },
		{ "VACUUM;", "not allowed" },
		{ "SELECT load_extension('x');",
		  sqlite3_compileoption_used("OMIT_LOAD_EXTENSION")
			  ? "no such function" : "not allowed" },
		{ "SELECT fts3_tokenizer('simple');",
		  sqlite3_compileoption_used("ENABLE_FTS3")
			  ? "not allowed" : "no such function" },
		{ "INSERT OR REPLACE INTO once_meta VALUES (1);",
		  "not allowed" },
		{ "WITH c AS (SELECT * FROM once_meta) SELECT * FROM c;",
		  "not allowed" },
		{ "SELECT 1;\nSELEC 2;", "h.sql:2: " },
		{ "SELECT * FROM nowhere;", "no such table: nowhere" },
		{ "INSERT INTO t VALUES (:paylod, '');",
		  "did you mean :payload" },
		{ "INSERT INTO t VALUES (?, '');", "unknown parameter" },
		{ "", "holds no statement" },
		{ "-- only words\n", "holds no statement" },
	};
	struct store *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script *s = NULL;
		struct err_detail why = { "" };

		if (prepare(st, rows[i].sql, &s, &why) != ERR_INPUT)
			fail_msg("%s: accepted", rows[i].sql);
		if (!strstr(why.text, rows[i].words))
			fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].sql,
				 why.text, rows[i].words);
	}
}

static void ordinary_statements_are_prepared(void **state)
{
	static const char *const rows[] = {
		"INSERT INTO t (a) VALUES (:payload ->> 'x');",
		"INSERT INTO u DEFAULT VALUES;",
		"/* c */ UPDATE t SET a = a + 1 -- d\n WHERE b = :topic;;",
		"DELETE FROM t WHERE b = topic(2) OR b = property('p');",
		"INSERT INTO t (a) SELECT value FROM json_each(:payload, '$.l')",
		"WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r"
		" LIMIT 3) INSERT INTO t (a) SELECT i FROM r;",
		"SELECT :event_id, :group, :tenant, :content_type,"
		" :received_at, :attempt, :qos, :retain;",
	};
	struct store *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script *s = NULL;
		struct err_detail why = { "" };

		if (prepare(st, rows[i], &s, &why))
			fail_msg("%s: %s", rows[i], why.text);
		script_free(s);
	}
}

static void hostile_schemas_are_refused(void **state)
{
	static const char *const rows[] = {
		"CREATE TABLE once_mine (x);",
		"CREATE TABLE ONCE_MINE (x);",
		"CREATE TRIGGER tr AFTER INSERT ON once_pending BEGIN SELECT 1;"
		" END;",
		"CREATE INDEX i ON once_pending (topic);",
		"CREATE TABLE c (x INTEGER REFERENCES once_group (group_no));",
		"CREATE TEMP TABLE x (y);",
		"CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END;",
		"PRAGMA journal_mode = DELETE;",
		"BEGIN;", "COMMIT;", "SAVEPOINT x;",
		"ATTACH ':memory:' AS m;",
		"DELETE FROM sqlite_sequence;",
		"ALTER TABLE once_meta ADD COLUMN x;",
		"ANALYZE;",
		"CREATE TRIGGER tr AFTER INSERT ON t BEGIN"
		" DELETE FROM once_marker_0; END; INSERT INTO t (a) VALUES (1);",
		"DROP TABLE once_pending;",
		"ALTER TABLE once_pending RENAME TO p;",
		"ALTER TABLE t RENAME TO once_t;",
		"INSERT INTO once_counter (group_no) VALUES (9);",
		"UPDATE sqlite_master SET sql = 'x';",
		"CREATE VIRTUAL TABLE v USING fts3(x);",
		"CREATE VIEW once_v AS SELECT 1;",
		"SELECT load_extension('x');",
		"VACUUM;",
	};
	struct store *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err_detail why = { "" };
		enum err e;

		assert_ok(store_begin(st));
		e = schema_apply(st, "b.sql", span_str(rows[i]), 0, &why);
		if (!e)
			fail_msg("%s: accepted", rows[i]);
		assert_true(store_in_transaction(st));
		store_rollback(st);
		assert_non_null(strstr(why.text, "b.sql"));
	}
}

/* What the message for an edited file sends people to. */
static void a_schema_can_be_changed_by_a_later_file(void **state)
{
	static const char *const rows[] = {
		"ALTER TABLE t RENAME TO t2;",
		"ALTER TABLE t RENAME COLUMN a TO c;",
		"ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'x';",
		"ALTER TABLE t ADD COLUMN c INTEGER CHECK (c > 0);",
		"ALTER TABLE t DROP COLUMN b;",
		"CREATE TABLE c AS SELECT * FROM t;",
		"CREATE VIRTUAL TABLE f USING fts5 (b); INSERT INTO f"
		" VALUES ('x'); INSERT INTO f (f) VALUES ('optimize');"
		" DROP TABLE f;",
		"CREATE VIRTUAL TABLE r USING rtree (id, a, b);",
		"CREATE UNIQUE INDEX i ON t (a) WHERE b; DROP INDEX i;",
		"INSERT INTO u DEFAULT VALUES; DROP TABLE u;",
		"ALTER TABLE u RENAME TO u2;",
		"CREATE VIEW v AS SELECT * FROM t; DROP VIEW v;",
		"",
	};
	struct store *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err_detail why = { "" };

		assert_ok(store_begin(st));
		if (schema_apply(st, "b.sql", span_str(rows[i]), 0, &why))
			fail_msg("%s: %s", rows[i], why.text);
		store_rollback(st);
	}
}

static void a_schema_file_is_applied_once_and_may_not_change(void **state)
{
	static const char text[] = "CREATE TABLE z (x);";
	struct store *st = *state;
	struct err_detail why = { "" };

	assert_ok(schema_apply(st, "/d/z.sql", span_str(text), 0, &why));
	assert_ok(schema_apply(st, "/d/z.sql", span_str(text), 0, &why));
	assert_err(schema_apply(st, "/d/z.sql",
				span_str("CREATE TABLE z (x, y);"), 0, &why),
		   ERR_INPUT);
	assert_non_null(strstr(why.text, "new file"));
}

static void triggers_and_views_cannot_lead_a_handler_to_our_tables(void **state)
{
	struct store *st = *state;
	struct err_detail why = { "" };
	struct script *s = NULL;

	/* Making them shows nothing; using them does. */
	assert_ok(schema_apply(st, "v.sql", span_str(
		"CREATE VIEW v AS SELECT * FROM once_meta;"
		"CREATE TRIGGER tr AFTER INSERT ON t BEGIN"
		" DELETE FROM once_marker_0; END;"), 0, &why));
	assert_err(prepare(st, "SELECT * FROM v;", &s, &why), ERR_INPUT);
	assert_err(prepare(st, "INSERT INTO t (a) VALUES (1);", &s, &why),
		   ERR_INPUT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(hostile_statements_are_refused_with_file_and_line),
		T(ordinary_statements_are_prepared),
		T(hostile_schemas_are_refused),
		T(a_schema_can_be_changed_by_a_later_file),
		T(a_schema_file_is_applied_once_and_may_not_change),
		T(triggers_and_views_cannot_lead_a_handler_to_our_tables),
	};

	return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
