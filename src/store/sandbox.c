/*
 * The sandbox of an operator's SQL: one authorizer, installed once and switched
 * by st->sandbox.mode (installing it again would re-prepare every statement,
 * https://sqlite.org/c3ref/set_authorizer.html), the functions it may call, and
 * a progress handler that bounds time and steps.
 */
#include <string.h>
#include <time.h>

#include "database.h"

#define PROGRESS_STEPS	1000

/* The longest value a script may make; ours are bounded by max_payload. */
#define SCRIPT_VALUE_MAX	(32 << 20)
#define OUR_VALUE_MAX		1000000000	/* SQLite's own limit */

static bool has_prefix(const char *name, const char *prefix)
{
	return name && !sqlite3_strnicmp(name, prefix, (int)strlen(prefix));
}

static bool is_ours(const char *name)
{
	return has_prefix(name, "once_");
}

static bool is_internal(const char *name)
{
	return has_prefix(name, "sqlite_") || has_prefix(name, "pragma_") ||
	       has_prefix(name, "dbstat");
}

static int deny(struct store *st, const char *why)
{
	if (!st->sandbox.denied)
		st->sandbox.denied = why;
	return SQLITE_DENY;
}

static bool function_allowed(const char *name)
{
	static const char *const refused[] = {
		"load_extension", "fts3_tokenizer", "sqlite_log", "readfile",
		"writefile", "edit",
	};

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (!sqlite3_stricmp(name, refused[i]))
			return false;
	return true;
}

/* Reading and changing rows: allowed on the operator's tables only. */
static int judge_rows(struct store *st, const char *table)
{
	if (is_ours(table))
		return deny(st, "tables named once_* belong to mqonce");
	if (is_internal(table))
		return deny(st, "SQLite's own tables are not for handlers");
	return SQLITE_OK;
}

/* What fts5 and rtree ask of the file they live in; nothing is set. */
static bool is_question(const char *pragma, const char *value)
{
	return !value && (!sqlite3_stricmp(pragma, "data_version") ||
			  !sqlite3_stricmp(pragma, "page_size"));
}

static int judge_script(struct store *st, int op, const char *a, const char *b)
{
	switch (op) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
		return judge_rows(st, a);
	case SQLITE_FUNCTION:
		return function_allowed(b) ? SQLITE_OK
			: deny(st, "this function is not for handlers");
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return deny(st, "the transaction is mqonce's: leave out BEGIN, "
			    "COMMIT, ROLLBACK and SAVEPOINT");
	case SQLITE_PRAGMA:
		if (is_question(a, b))
			return SQLITE_OK;
		/* fall through */
	default:
		return deny(st, "a handler may SELECT, INSERT, UPDATE and "
			    "DELETE; tables are made in [store] schema files");
	}
}

static bool is_one_of(const char *name, const char *const list[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!sqlite3_stricmp(name, list[i]))
			return true;
	return false;
}

/*
 * CREATE, ALTER and DROP edit the catalogues, which DEFENSIVE keeps from anyone
 * else; ALTER and DROP also look after AUTOINCREMENT's table, and ADD COLUMN asks
 * whether the rows that are there fit the new column.
 */
static bool is_catalogue(const struct store *st, const char *table)
{
	static const char *const names[] = {
		"sqlite_master", "sqlite_schema",
		"sqlite_temp_master", "sqlite_temp_schema",
	};
	static const char *const altered[] = { "sqlite_sequence",
					      "pragma_quick_check" };

	return is_one_of(table, names, ARRAY_LEN(names)) ||
	       (st->sandbox.alters &&
		is_one_of(table, altered, ARRAY_LEN(altered)));
}

static int judge_object(struct store *st, const char *name, const char *table)
{
	if (is_ours(name) || is_ours(table))
		return deny(st, "names that start with once_ belong to mqonce");
	if (is_internal(name) && !has_prefix(name, "sqlite_autoindex_"))
		return deny(st, "names that start with sqlite_ are SQLite's");
	return SQLITE_OK;
}

static int judge_schema(struct store *st, int op, const char *a, const char *b)
{
	switch (op) {
	case SQLITE_DROP_TABLE:
		st->sandbox.alters = true;
		return judge_object(st, a, NULL);
	case SQLITE_CREATE_TABLE:
	case SQLITE_CREATE_VIEW:
	case SQLITE_DROP_VIEW:
	case SQLITE_DROP_VTABLE:
		return judge_object(st, a, NULL);
	case SQLITE_CREATE_INDEX:
	case SQLITE_CREATE_TRIGGER:
	case SQLITE_DROP_INDEX:
	case SQLITE_DROP_TRIGGER:
		return judge_object(st, a, b);
	case SQLITE_ALTER_TABLE:
		st->sandbox.alters = true;
		return judge_object(st, b, NULL);
	case SQLITE_REINDEX:
		return SQLITE_OK;
	case SQLITE_CREATE_VTABLE:
		if (sqlite3_stricmp(b, "fts5") && sqlite3_stricmp(b, "rtree"))
			return deny(st, "of the virtual tables only fts5 and "
				    "rtree are allowed");
		return judge_object(st, a, NULL);
	case SQLITE_READ:
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
		return is_catalogue(st, a) ? SQLITE_OK : judge_rows(st, a);
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
	case SQLITE_FUNCTION:
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return judge_script(st, op, a, b);
	case SQLITE_PRAGMA:
		if (is_question(a, b) || (st->sandbox.alters &&
					  !sqlite3_stricmp(a, "quick_check")))
			return SQLITE_OK;
		/* fall through */
	default:
		return deny(st, "a schema file may make, change and fill "
			    "tables, indexes, views and triggers; no TEMP, "
			    "ATTACH or PRAGMA");
	}
}

static int authorize(void *arg, int op, const char *a, const char *b,
		     const char *db UNUSED, const char *trigger UNUSED)
{
	struct store *st = arg;

	switch (st->sandbox.mode) {
	case SANDBOX_OFF:
		return SQLITE_OK;
	case SANDBOX_SCRIPT:
		return judge_script(st, op, a, b);
	case SANDBOX_SCHEMA:
		return judge_schema(st, op, a, b);
	}
	return SQLITE_DENY;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Non-zero interrupts the statement. */
static int on_progress(void *arg)
{
	struct sandbox *sb = &((struct store *)arg)->sandbox;

	if (sb->mode == SANDBOX_OFF)
		return 0;
	sb->steps_left -= PROGRESS_STEPS;
	if (now_ns() >= sb->deadline_ns)
		sb->out_of_time = true;
	return sb->out_of_time || sb->steps_left <= 0;
}

static const struct event *event_of(sqlite3_context *c)
{
	const struct store *st = sqlite3_user_data(c);

	return st->sandbox.attempt ? st->sandbox.attempt->event : NULL;
}

static void result_span(sqlite3_context *c, struct span s)
{
	if (s.data)
		sqlite3_result_text64(c, s.data, s.len, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
}

static void fn_topic(sqlite3_context *c, int argc UNUSED, sqlite3_value **argv)
{
	const struct event *ev = event_of(c);
	int n = sqlite3_value_int(argv[0]);

	if (ev && n > 0)
		result_span(c, event_topic_level(ev, (unsigned)n));
}

static struct span value_span(sqlite3_value *v)
{
	const void *p = sqlite3_value_text(v);

	return span_of(p, (size_t)sqlite3_value_bytes(v));
}

static void fn_property(sqlite3_context *c, int argc UNUSED,
			sqlite3_value **argv)
{
	const struct event *ev = event_of(c);
	struct span name = value_span(argv[0]);

	if (ev && name.data)
		result_span(c, event_property(ev, name));
}

/* Ends the run with the outcome that the handler asks for. */
static void ask(sqlite3_context *c, sqlite3_value *type, enum outcome o)
{
	struct store *st = sqlite3_user_data(c);

	st->sandbox.asked = o;
	st->sandbox.asked_type = error_type_of(value_span(type));
	sqlite3_result_error(c, st->sandbox.asked_type.text, -1);
}

static void fn_retry(sqlite3_context *c, int argc UNUSED, sqlite3_value **argv)
{
	ask(c, argv[0], OUTCOME_TRANSIENT);
}

static void fn_reject(sqlite3_context *c, int argc UNUSED, sqlite3_value **argv)
{
	ask(c, argv[0], OUTCOME_PERMANENT);
}

static void fn_poison(sqlite3_context *c, int argc UNUSED, sqlite3_value **argv)
{
	ask(c, argv[0], OUTCOME_POISON);
}

static enum err add_functions(struct store *st)
{
	static const struct {
		const char *name;
		void (*fn)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "topic", fn_topic },	 { "property", fn_property },
		{ "retry", fn_retry },	 { "reject", fn_reject },
		{ "poison", fn_poison },
	};
	int rc = SQLITE_OK;

	/* INNOCUOUS, so that an operator's triggers may call them too. */
	for (size_t i = 0; !rc && i < ARRAY_LEN(functions); i++)
		rc = sqlite3_create_function_v2(st->db, functions[i].name, 1,
						SQLITE_UTF8 | SQLITE_INNOCUOUS,
						st, functions[i].fn, NULL, NULL,
						NULL);
	return store_err(st, rc);
}

static void set_limits(struct store *st)
{
	static const struct {
		int what, value;
	} limits[] = {
		{ SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 200 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 50 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 250 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 20 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(st->db, limits[i].what, limits[i].value);
}

enum err sandbox_install(struct store *st)
{
	set_limits(st);
	sqlite3_progress_handler(st->db, PROGRESS_STEPS, on_progress, st);
	if (sqlite3_set_authorizer(st->db, authorize, st))
		return err_say(&st->detail, ERR_BUG, "no authorizer");
	return add_functions(st);
}

void sandbox_enter(struct store *st, enum sandbox_mode mode,
		   const struct attempt *a, int64_t timeout_ms)
{
	st->sandbox = (struct sandbox){
		.mode = mode,
		.attempt = a,
		.deadline_ns = now_ns() + timeout_ms * 1000000,
		.steps_left = SANDBOX_STEPS,
	};
	sqlite3_limit(st->db, SQLITE_LIMIT_LENGTH, SCRIPT_VALUE_MAX);
}

void sandbox_leave(struct store *st)
{
	st->sandbox.mode = SANDBOX_OFF;
	st->sandbox.attempt = NULL;
	sqlite3_limit(st->db, SQLITE_LIMIT_LENGTH, OUR_VALUE_MAX);
}
