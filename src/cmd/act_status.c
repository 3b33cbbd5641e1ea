/*
 * How things are, and what needs somebody: rows first, then the alarms.
 *
 * Everything here is bounded: no table is counted whole while the owner waits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "act.h"
#include "base/parse.h"
#include "cmd.h"
#include "daemon.h"
#include "store/letter.h"
#include "store/owner.h"
#include "store/store.h"

/* The steps: each writes its rows and is never taken twice. */
enum step { STEP_OWNER, STEP_STORE, STEP_LETTERS, STEP_ALL, STEP_GROUPS };

static enum err fit(struct rows *out)
{
	return row_end(out) ? OK : ERR_FULL;	/* small ones always do */
}

static enum err owner_row(const struct act_context *c, struct rows *out)
{
	const struct daemon *d = c->daemon;
	char text[512];
	pid_t pid;

	owner_look(c->config->store.path, &pid, text, sizeof(text));
	row_begin(out);
	row_text(out, "record", span_str("owner"));
	row_int(out, "pid", pid);
	row_text(out, "said", span_str(text));
	row_bool(out, "answers", d != NULL);
	row_bool(out, "connected", d && d->session.state == SESSION_UP);
	row_bool(out, "filter_refused", d && d->session.refused);
	row_text(out, "stopped", d && daemon_is_stopped(d)
		 ? span_str(daemon_gate_text(d->gate)) : (struct span){ 0 });
	return fit(out);
}

static enum err store_row(const struct act_context *c, struct rows *out)
{
	struct store_stats s;

	store_stats(c->store, &s);
	row_begin(out);
	row_text(out, "record", span_str("store"));
	row_text(out, "path", span_str(c->config->store.path));
	row_int(out, "file_bytes", s.file_bytes);
	row_int(out, "max_bytes", c->config->store.max_size);
	row_int(out, "wal_bytes", s.wal_bytes);
	return fit(out);
}

/* Remembers for the alarms: a->count letters, the oldest since a->taken. */
static enum err letters_rows(struct act *a, const struct act_context *c,
			     struct rows *out)
{
	int64_t now = store_now_ms(c->store, c->boot_ms);
	enum err e = OK;

	for (int k = 0; !e && k < DEAD_KIND_COUNT; k++) {
		int64_t n = 0, oldest = 0;

		e = letter_open(c->store, k, &n, &oldest);
		if (e || !n)
			continue;
		a->taken = !a->count || oldest < a->taken ? oldest : a->taken;
		a->count += n;
		row_begin(out);
		row_text(out, "record", span_str("letters"));
		row_text(out, "kind", span_str(dead_kind_text(k)));
		row_int(out, "open", n);
		row_int(out, "oldest_age_ms", now - oldest);
		e = fit(out);
	}
	return e;
}

static enum err all_row(const struct act_context *c, struct rows *out)
{
	struct counters k;
	enum err e = counter_get(c->store, COUNTER_NO_GROUP, &k);

	if (e)
		return e;
	row_begin(out);
	row_text(out, "record", span_str("all"));
	row_int(out, "unmatched", k.unmatched);
	row_int(out, "sessions_lost", k.sessions_lost);
	return fit(out);
}

/* The owner has its groups' depth at hand; others count. */
static enum err depth(const struct act_context *c, unsigned i, int64_t group_no,
		      int64_t *ret_rows, int64_t *ret_bytes)
{
	if (!c->daemon)
		return pending_totals(c->store, group_no, ret_rows, ret_bytes);
	*ret_rows = c->daemon->groups[i].pending_rows;
	*ret_bytes = c->daemon->groups[i].pending_bytes;
	return OK;
}

static enum err group_row(const struct act_context *c, unsigned i,
			  struct rows *out)
{
	struct group_record g = { 0 };
	struct counters k = { 0 };
	int64_t rows = 0, bytes = 0;
	const char *name = c->config->groups[i].name;
	enum err e = group_find(c->store, name, &g);
	bool known = e != ERR_NO;

	if (known && !e)
		e = counter_get(c->store, g.group_no, &k);
	if (known && !e)
		e = depth(c, i, g.group_no, &rows, &bytes);
	if (e && known)
		return e;
	row_begin(out);
	row_text(out, "record", span_str("group"));
	row_text(out, "group", span_str(name));
	row_bool(out, "known", known);
	row_bool(out, "paused", g.paused);
	row_int(out, "breaker_open_ms", !g.breaker.open ? 0
		: store_now_ms(c->store, c->boot_ms) - g.breaker.open_since_ms);
#define ROW_(counter) row_int(out, #counter, k.counter);
	COUNTER_LIST(ROW_)
#undef ROW_
	row_int(out, "pending", rows);
	row_int(out, "pending_max", c->config->limits.pending_rows);
	row_int(out, "pending_bytes", bytes);
	row_int(out, "pending_bytes_max", c->config->limits.pending_bytes);
	return row_end(out) ? OK : ERR_NO;	/* it comes with the next page */
}

/* alarms */

static enum err alarm_row(struct rows *out, const char *name, const char *text)
{
	row_begin(out);
	row_text(out, "record", span_str("alarm"));
	row_text(out, "alarm", span_str(name));
	row_text(out, "text", span_str(text));
	return fit(out);
}

static enum err owner_alarms(const struct act_context *c, struct rows *out)
{
	const struct daemon *d = c->daemon;
	char text[512];
	enum err e = OK;
	pid_t pid;

	if (!d) {
		owner_look(c->config->store.path, &pid, text, sizeof(text));
		return alarm_row(out, "daemon", pid ?
			"the daemon runs but does not answer at its socket" :
			"no daemon runs; start it with `mqonce run`");
	}
	session_text(&d->session, text, sizeof(text));
	if (d->session.state != SESSION_UP)
		e = alarm_row(out, "not_connected", text);
	if (!e && d->session.refused)
		e = alarm_row(out, "filter_refused", "the broker refused a "
			      "filter; the log names it");
	if (!e && daemon_is_stopped(d))
		e = alarm_row(out, "ingest_stopped", daemon_gate_text(d->gate));
	return e;
}

static enum err letter_alarms(const struct act *a, const struct act_context *c,
			      struct rows *out, struct err_detail *why)
{
	int64_t limit = (int64_t)24 * 3600 * 1000, oldest;
	char buf[48], text[160], age[CMD_AGE_SIZE], most[CMD_AGE_SIZE];
	struct span s = act_option(a, "max-age", buf, sizeof(buf));
	enum err e;

	if (s.data && parse_duration_ms(s, &limit))
		return err_say(why, ERR_USAGE, "--max-age wants a duration, "
			       "such as 12h or 2d, not \"%s\"", buf);
	if (!a->count)
		return OK;
	oldest = store_now_ms(c->store, c->boot_ms) - a->taken;
	cmd_age(age, oldest);
	snprintf(text, sizeof(text), "%" PRId64 " open dead letters, the oldest "
		 "of %s; see `mqonce dead summary`", a->count, age);
	e = alarm_row(out, "dead_letters", text);
	if (e || oldest < limit)
		return e;
	snprintf(text, sizeof(text), "the oldest open dead letter is of %s; "
		 "the limit is %s", age, cmd_age(most, limit));
	return alarm_row(out, "dead_letters_old", text);
}

static enum err wal_alarm(const struct act_context *c, struct rows *out)
{
	struct store_stats s;

	store_stats(c->store, &s);
	if (s.wal_bytes <= MAINTAIN_WAL_ALARM_BYTES)
		return OK;
	return alarm_row(out, "wal", "a reader keeps the WAL from being "
			 "reused; end it");
}

static enum err alarms(const struct act *a, const struct act_context *c,
		       struct rows *out, struct err_detail *why)
{
	enum err e = owner_alarms(c, out);

	if (!e)
		e = letter_alarms(a, c, out, why);
	return e ? e : wal_alarm(c, out);
}

static enum err one_step(struct act *a, const struct act_context *c,
			 struct rows *out, struct err_detail *why)
{
	int64_t i = a->step - STEP_GROUPS;

	switch ((enum step)a->step) {
	case STEP_OWNER:	return owner_row(c, out);
	case STEP_STORE:	return store_row(c, out);
	case STEP_LETTERS:	return letters_rows(a, c, out);
	case STEP_ALL:		return all_row(c, out);
	case STEP_GROUPS:	break;
	}
	if (i < (int64_t)c->config->groups_len)
		return group_row(c, (unsigned)i, out);
	return alarms(a, c, out, why);
}

enum err act_status(struct act *a, const struct act_context *c,
		    struct rows *out, bool *ret_more, struct err_detail *why)
{
	int64_t end = STEP_GROUPS + (int64_t)c->config->groups_len + 1;
	/* The alarms want room: a page of their own behind many groups. */
	bool crowded = false;

	*ret_more = true;
	while (a->step < end && !crowded) {
		enum err e;

		crowded = a->step == end - 1 && out->len > out->room / 2;
		if (crowded)
			break;
		e = one_step(a, c, out, why);
		if (e == ERR_NO)
			return OK;
		if (e)
			return e;
		a->step++;
	}
	*ret_more = a->step < end;
	return OK;
}
