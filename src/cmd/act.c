#include "act.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/parse.h"
#include "daemon.h"
#include "store/audit.h"
#include "store/group.h"
#include "store/space.h"
#include "store/store.h"

static const struct act_spec specs[] = {
	{ "dead list", false, act_dead_list },
	{ "dead summary", false, act_dead_summary },
	{ "dead show", false, act_dead_show },
	{ "dead discard", true, act_dead_discard },
	{ "dead restore", true, act_dead_restore },
	{ "dead purge", true, act_dead_purge },
	{ "dead replay", true, act_dead_replay },
	{ "job list", false, act_job_list },
	{ "job show", false, act_job_show },
	{ "job cancel", true, act_job_cancel },
	{ "job resume", true, act_job_resume },
	{ "audit list", false, act_audit_list },
	{ "group list", false, act_group_list },
	{ "group pause", true, act_group_pause },
	{ "group resume", true, act_group_resume },
	{ "dead pull", true, act_dead_pull },
	{ "dead pulled", true, act_dead_pulled },
	{ "event show", false, act_event_show },
	{ "event forget", true, act_event_forget },
	{ "pending retry", true, act_pending_retry },
	{ "pending list", false, act_pending_list },
	{ "store sweep", true, act_store_sweep },
	{ "status", false, act_status },
	{ "group rename", true, act_group_rename },
	{ "group drop", true, act_group_drop },
};

const struct act_spec *act_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		if (!strcmp(specs[i].name, name))
			return &specs[i];
	return NULL;
}

static bool find(const struct act *a, const char *name, struct json_value *v)
{
	char path[64];

	snprintf(path, sizeof(path), "$.%s", name);
	return json_find(a->json, span_str(path), v) &&
	       v->kind == JSON_STRING;
}

struct span act_option(const struct act *a, const char *name, char *buf,
		       size_t size)
{
	struct json_value v;
	long n;

	if (!find(a, name, &v))
		return (struct span){ 0 };
	n = json_unescape(v.raw, buf, size - 1);
	if (n < 0)
		n = 0;
	buf[n] = '\0';
	return span_of(buf, (size_t)n);
}

enum err act_text(const struct act *a, const char *name, char *buf,
		  size_t size, struct span *ret_v, struct err_detail *why)
{
	struct json_value v;
	struct span s = act_option(a, name, buf, size);

	if (s.data && !s.len && find(a, name, &v) && v.raw.len)
		return err_say(why, ERR_USAGE, "--%s is longer than the %zu "
			       "bytes it may have", name, size - 1);
	*ret_v = s;
	return OK;
}

bool act_flag(const struct act *a, const char *name)
{
	struct json_value v;

	return find(a, name, &v);
}

enum err act_int(const struct act *a, const char *name, int64_t *ret_v,
		 struct err_detail *why)
{
	char buf[32];
	struct span s = act_option(a, name, buf, sizeof(buf));

	if (!s.data || parse_uint(s, ret_v) == OK)
		return OK;
	return err_say(why, ERR_USAGE, "--%s wants a whole number, not \"%s\"",
		       name, buf);
}

enum err act_new(struct span request, struct act **ret_a,
		 struct err_detail *why)
{
	struct act *a = calloc(1, sizeof(*a));
	char name[64];

	if (!a)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	/* Up to a NUL: no request holds one. */
	a->request = strndup(request.data, request.len);
	a->json = span_of(a->request, a->request ? strlen(a->request) : 0);
	if (!a->request || a->json.len != request.len || !json_valid(a->json) ||
	    !act_option(a, "command", name, sizeof(name)).data) {
		act_free(a);
		return err_say(why, ERR_INPUT, "not a request");
	}
	a->spec = act_find(name);
	if (!a->spec) {
		act_free(a);
		return err_say(why, ERR_USAGE, "the daemon does not know \"%s\"; "
			       "it may be of another version", name);
	}
	*ret_a = a;
	return OK;
}

void act_free(struct act *a)
{
	if (!a)
		return;
	free(a->request);
	free(a);
}

static void end_row(struct rows *out, enum err e, const struct err_detail *why)
{
	row_begin(out);
	row_bool(out, "end", true);
	row_int(out, "status", err_exit_status(e));
	if (e)
		row_text(out, "error", span_str(*why->text ? why->text
							   : err_text(e)));
}

void act_refuse(struct rows *out, enum err e, const struct err_detail *why,
		bool *ret_more)
{
	end_row(out, e, why);
	*ret_more = !row_end(out);
}

/* For maintenance there is a reserve, until the disk has room again. */
static bool make_room(const struct act_context *c)
{
	return c->daemon ? daemon_full(c->daemon, c->boot_ms)
			 : space_ballast_drop(c->store);
}

/* Whether there is another page. */
static bool run_page(struct act *a, const struct act_context *c,
		     struct rows *out)
{
	bool more = false;
	enum err e = a->spec->page(a, c, out, &more, &a->why);

	/* A row that an empty page does not hold would be tried for ever. */
	if (!e && more && out->full && !out->len)
		e = err_say(&a->why, ERR_INPUT, "the next row is larger than an "
			    "answer may be; name others, or a filter");
	if (e == ERR_FULL && make_room(c))
		err_say(&a->why, e, "the disk is full; room that was kept back "
			"is free now: ask again");
	if (!*a->why.text && (e == ERR_BUSY || e == ERR_FULL || e == ERR_IO))
		err_say(&a->why, e, "%s", store_detail(c->store));
	a->end = e;
	return !e && more;
}

void act_run(struct act *a, const struct act_context *c, struct rows *out,
	     bool *ret_more)
{
	*ret_more = true;
	if (a->step >= 0 && run_page(a, c, out))
		return;
	a->step = -1;			/* only the end is left */
	end_row(out, a->end, &a->why);
	*ret_more = !row_end(out);	/* a full page: it comes with the next */
}

enum err act_group(const struct act *a, const struct act_context *c,
		   int64_t *ret_no, struct err_detail *why)
{
	struct group_record g;
	char buf[72];
	enum err e;

	*ret_no = 0;
	if (!act_option(a, "group", buf, sizeof(buf)).data)
		return OK;
	e = group_find(c->store, buf, &g);
	if (e == ERR_NO)
		return err_say(why, e, "no group \"%s\"; `mqonce group list` "
			       "shows them", buf);
	if (!e)
		*ret_no = g.group_no;
	return e;
}

/* The options in words: what was asked for, without payloads. */
void act_describe(const struct act *a, char *buf, size_t size)
{
	static const char *const names[] = {
		"ids", "group", "tenant", "kind", "type", "topic", "since",
		"until", "state", "event", "all", "names",
	};
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(names) && n + 1 < size; i++) {
		char value[128];

		if (act_option(a, names[i], value, sizeof(value)).data)
			n += (size_t)snprintf(buf + n, size - n, "%s%s%s%s",
					      n ? " " : "", names[i],
					      *value ? "=" : "", value);
	}
}

enum err act_audit(const struct act *a, const struct act_context *c, int64_t n)
{
	char what[512];
	struct audit_record r = {
		.at_ms = store_now_ms(c->store, c->boot_ms),
		.at_wall_ms = clock_wall_ms(),
		.uid = c->uid,
		.act = span_str(a->spec->name),
		.n = n,
	};

	act_describe(a, what, sizeof(what));
	r.what = span_str(what);
	return audit_put(c->store, &r);
}

enum err act_audit_look(const struct act *a, const struct act_context *c,
			int64_t n)
{
	enum err e = store_begin(c->store);

	if (!e)
		e = act_audit(a, c, n);
	if (!e)
		return store_commit(c->store);
	store_rollback(c->store);
	return e;
}
