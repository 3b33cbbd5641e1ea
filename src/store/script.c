#include "store/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "database.h"

#define STATEMENTS_MAX	64
#define PARAMETERS_MAX	16

enum parameter {
	P_EVENT_ID, P_GROUP, P_TENANT, P_TOPIC, P_PAYLOAD, P_CONTENT_TYPE,
	P_RECEIVED_AT, P_ATTEMPT, P_QOS, P_RETAIN, P_STALE, P_ORDER_KEY,
	P_ORDER_BY, P_COUNT
};

static const char *const parameter_names[P_COUNT] = {
	[P_EVENT_ID] = ":event_id",	[P_GROUP] = ":group",
	[P_TENANT] = ":tenant",		[P_TOPIC] = ":topic",
	[P_PAYLOAD] = ":payload",	[P_CONTENT_TYPE] = ":content_type",
	[P_RECEIVED_AT] = ":received_at", [P_ATTEMPT] = ":attempt",
	[P_QOS] = ":qos",		[P_RETAIN] = ":retain",
	[P_STALE] = ":stale",		[P_ORDER_KEY] = ":order_key",
	[P_ORDER_BY] = ":order_by",
};

struct statement {
	sqlite3_stmt *raw;
	unsigned char parameter[PARAMETERS_MAX];
	int parameters_len;
};

struct script {
	struct store *store;
	enum payload_format format;
	int64_t timeout_ms;
	struct statement statement[STATEMENTS_MAX];
	unsigned len;
};

struct source {			/* where a message points to */
	const char *file;
	const char *text, *at;	/* all of it; the statement under way */
};

static int line_of(const struct source *src, int offset)
{
	const char *end = src->at + (offset > 0 ? offset : 0);
	int line = 1;

	for (const char *p = src->text; p < end && *p; p++)
		line += *p == '\n';
	return line;
}

static enum err refuse(struct store *st, const struct source *src, int rc,
		       struct err_detail *why)
{
	enum err e = store_err_code(rc);
	int line = line_of(src, sqlite3_error_offset(st->db));

	if (e != ERR_BUG)
		return err_say(why, e, "%s:%d: %s", src->file, line,
			       sqlite3_errstr(rc));
	if (!st->sandbox.denied && strstr(sqlite3_errmsg(st->db), "once_"))
		return err_say(why, ERR_INPUT, "%s:%d: not allowed: names that "
			       "start with once_ belong to mqonce", src->file,
			       line);
	if (st->sandbox.denied)
		return err_say(why, ERR_INPUT, "%s:%d: not allowed: %s",
			       src->file, line, st->sandbox.denied);
	return err_say(why, ERR_INPUT, "%s:%d: %s", src->file, line,
		       sqlite3_errmsg(st->db));
}

static int find_parameter(const char *name)
{
	for (int p = 0; p < P_COUNT; p++)
		if (name && !strcmp(name, parameter_names[p]))
			return p;
	return -1;
}

static enum err map_parameters(struct statement *s, const struct source *src,
			       struct err_detail *why)
{
	int n = sqlite3_bind_parameter_count(s->raw);

	if (n > PARAMETERS_MAX)
		return err_say(why, ERR_INPUT, "%s:%d: more than %d parameters",
			       src->file, line_of(src, 0), PARAMETERS_MAX);
	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_bind_parameter_name(s->raw, i + 1);
		int p = find_parameter(name);
		const char *near = name ? nearest_word(span_str(name),
						       parameter_names, P_COUNT)
					: NULL;

		if (p < 0)
			return err_say(why, ERR_INPUT,
				       "%s:%d: unknown parameter %s%s%s",
				       src->file, line_of(src, 0),
				       name ? name : "?",
				       near ? "; did you mean " :
				       "; :payload, :topic, :event_id and some "
				       "more are known",
				       near ? near : "");
		s->parameter[i] = (unsigned char)p;
	}
	s->parameters_len = n;
	return OK;
}

/* White space and comments between statements are no line to point to. */
static const char *skip_blank(const char *p)
{
	for (;;) {
		p += strspn(p, " \t\r\n;");
		if (!strncmp(p, "--", 2))
			p += strcspn(p, "\n");
		else if (!strncmp(p, "/*", 2) && strstr(p + 2, "*/"))
			p = strstr(p + 2, "*/") + 2;
		else
			return p;
	}
}

static enum err prepare_next(struct script *s, struct source *src,
			     struct err_detail *why)
{
	struct statement *t = &s->statement[s->len];
	const char *tail = NULL;
	int rc = sqlite3_prepare_v3(s->store->db, src->at, -1,
				    SQLITE_PREPARE_PERSISTENT, &t->raw, &tail);
	enum err e;

	/* The one statement that no authorizer is shown. */
	if (!rc && !sqlite3_strnicmp(src->at, "vacuum", 6)) {
		sqlite3_finalize(t->raw);
		t->raw = NULL;
		return err_say(why, ERR_INPUT, "%s:%d: not allowed: VACUUM",
			       src->file, line_of(src, 0));
	}
	if (rc)
		return refuse(s->store, src, rc, why);
	s->len += t->raw != NULL;
	e = t->raw ? map_parameters(t, src, why) : OK;
	src->at = skip_blank(tail);
	return e;
}

enum err script_prepare(struct store *st, const struct script_options *o,
			struct span text, struct script **ret_script,
			struct err_detail *why)
{
	AUTO_FREE char *copy = strndup(text.data, text.len);
	struct source src = { .file = o->file, .text = copy };
	struct script *s = calloc(1, sizeof(*s));
	enum err e = OK;

	if (!copy || !s) {
		free(s);
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	}
	*s = (struct script){ .store = st, .format = o->format,
			      .timeout_ms = o->timeout_ms };
	sandbox_enter(st, SANDBOX_SCRIPT, NULL, o->timeout_ms);
	if (strlen(copy) != text.len)
		e = err_say(why, ERR_INPUT, "%s: holds a NUL byte", o->file);
	src.at = skip_blank(copy);
	while (!e && *src.at && s->len < STATEMENTS_MAX)
		e = prepare_next(s, &src, why);
	sandbox_leave(st);
	if (!e && *src.at)
		e = err_say(why, ERR_INPUT, "%s:%d: more than %d statements",
			    o->file, line_of(&src, 0), STATEMENTS_MAX);
	if (!e && !s->len)
		e = err_say(why, ERR_INPUT, "%s: holds no statement", o->file);
	if (e)
		script_free(s);
	else
		*ret_script = s;
	return e;
}

void script_free(struct script *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->len; i++)
		sqlite3_finalize(s->statement[i].raw);
	free(s);
}

static int bind_span(sqlite3_stmt *q, int pos, struct span s)
{
	return sqlite3_bind_text64(q, pos, s.data, s.len, SQLITE_STATIC,
				   SQLITE_UTF8);
}

/* UTC with milliseconds, as SQLite's date functions read it. */
static int bind_time(sqlite3_stmt *q, int pos, int64_t wall_ms)
{
	time_t t = (time_t)(wall_ms / 1000);
	char buf[48];
	struct tm tm;
	size_t n;

	gmtime_r(&t, &tm);
	n = strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, sizeof(buf) - n, ".%03dZ", (int)(wall_ms % 1000));
	return sqlite3_bind_text(q, pos, buf, -1, SQLITE_TRANSIENT);
}

static int bind_one(const struct script *s, sqlite3_stmt *q, int pos,
		    enum parameter p, const struct attempt *a)
{
	const struct event *ev = a->event;

	switch (p) {
	case P_EVENT_ID:	return bind_span(q, pos, a->id->event_id);
	case P_GROUP:		return bind_span(q, pos, a->group);
	case P_TENANT:		return bind_span(q, pos, a->id->tenant);
	case P_TOPIC:		return bind_span(q, pos, ev->topic);
	case P_CONTENT_TYPE:	return bind_span(q, pos, ev->content_type);
	case P_RECEIVED_AT:	return bind_time(q, pos, ev->received_wall_ms);
	case P_ATTEMPT:		return sqlite3_bind_int64(q, pos, a->number);
	case P_QOS:		return sqlite3_bind_int(q, pos, ev->qos);
	case P_RETAIN:		return sqlite3_bind_int(q, pos, ev->retain);
	case P_STALE:		return sqlite3_bind_int(q, pos, a->stale);
	case P_ORDER_KEY:	return bind_span(q, pos, a->order_key);
	case P_ORDER_BY:	return bind_span(q, pos, a->order_by);
	case P_PAYLOAD:
		if (s->format != FORMAT_RAW)
			return bind_span(q, pos, ev->payload);
		return sqlite3_bind_blob64(q, pos, ev->payload.data,
					   ev->payload.len, SQLITE_STATIC);
	case P_COUNT:
		break;
	}
	return SQLITE_RANGE;
}

static int run_statement(const struct script *s, const struct statement *t,
			 const struct attempt *a)
{
	int rc = SQLITE_OK;

	for (int i = 0; !rc && i < t->parameters_len; i++)
		rc = bind_one(s, t->raw, i + 1, t->parameter[i], a);
	if (!rc)
		do {
			rc = sqlite3_step(t->raw);	/* rows are not kept */
		} while (rc == SQLITE_ROW);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static bool owes_foreign_keys(struct store *st)
{
	int now = 0, high = 0;

	sqlite3_db_status(st->db, SQLITE_DBSTATUS_DEFERRED_FKS, &now, &high, 0);
	return now != 0;
}

static void result_put(struct result *r, enum outcome o, const char *type)
{
	r->outcome = o;
	r->type = error_type_of(span_str(type));
}

static const char *error_name(int rc)
{
	static const struct {
		int rc;
		const char *name;
	} names[] = {
#define NAME_(n) { SQLITE_##n, "SQLITE_" #n }
		NAME_(CONSTRAINT_CHECK), NAME_(CONSTRAINT_DATATYPE),
		NAME_(CONSTRAINT_FOREIGNKEY), NAME_(CONSTRAINT_NOTNULL),
		NAME_(CONSTRAINT_PRIMARYKEY), NAME_(CONSTRAINT_ROWID),
		NAME_(CONSTRAINT_TRIGGER), NAME_(CONSTRAINT_UNIQUE),
		NAME_(CONSTRAINT_VTAB), NAME_(CONSTRAINT), NAME_(MISMATCH),
		NAME_(RANGE), NAME_(AUTH), NAME_(SCHEMA), NAME_(ERROR),
		NAME_(CORRUPT_VTAB), NAME_(LOCKED), NAME_(LOCKED_VTAB),
#undef NAME_
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].rc == rc)
			return names[i].name;
	return "SQLITE_ERROR";
}

/* What a handler's failed statement means; the table of the manual. */
static enum err judge(struct store *st, int rc, struct result *r)
{
	const struct sandbox *sb = &st->sandbox;

	if (*sb->asked_type.text) {
		r->outcome = sb->asked;
		r->type = sb->asked_type;
		return OK;
	}
	switch (rc & 0xff) {
	case SQLITE_FULL:
	case SQLITE_NOMEM:
	case SQLITE_TOOBIG:
	case SQLITE_CANTOPEN:
	case SQLITE_INTERRUPT:
		if (sb->out_of_time) {
			result_put(r, OUTCOME_TRANSIENT, "handler.timeout");
			return OK;
		}
		result_put(r, OUTCOME_PERMANENT, "handler.too_big");
		r->doubtful = true;
		r->full = (rc & 0xff) == SQLITE_FULL;
		return OK;
	case SQLITE_LOCKED:		/* no other connection shares the cache */
		break;
	case SQLITE_CORRUPT:
		if (rc == SQLITE_CORRUPT_VTAB)
			break;		/* an index of the operator's, not the file */
		return store_err(st, rc);
	case SQLITE_BUSY:
	case SQLITE_IOERR:
	case SQLITE_NOTADB:
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return store_err(st, rc);	/* the store's, not the event's */
	case SQLITE_ERROR:
		if (!strcmp(sqlite3_errmsg(st->db), "malformed JSON")) {
			result_put(r, OUTCOME_POISON, "json.malformed");
			return OK;
		}
	}
	result_put(r, OUTCOME_PERMANENT, error_name(rc));
	return OK;
}

static void reset(const struct statement *t)
{
	sqlite3_reset(t->raw);
	sqlite3_clear_bindings(t->raw);
}

enum err script_attempt(void *script, const struct attempt *a,
			struct result *ret_r)
{
	struct script *s = script;
	struct store *st = s->store;
	struct result r = { .outcome = OUTCOME_OK };
	enum err e = OK;
	int rc = SQLITE_OK;

	sandbox_enter(st, SANDBOX_SCRIPT, a, s->timeout_ms);
	for (unsigned i = 0; !rc && i < s->len; i++) {
		rc = run_statement(s, &s->statement[i], a);
		if (rc)
			e = judge(st, rc, &r);	/* while the words are there */
		reset(&s->statement[i]);
	}
	sandbox_leave(st);
	/* A deferred key that is owed would fail the COMMIT of all. */
	if (!rc && owes_foreign_keys(st))
		result_put(&r, OUTCOME_PERMANENT,
			   "SQLITE_CONSTRAINT_FOREIGNKEY");
	if (!e)
		*ret_r = r;
	return e;
}
