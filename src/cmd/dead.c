/* Dead letters as an operator sees them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cmd.h"
#include "store/attempt.h"
#include "store/letter.h"
#include "store/store.h"
#include "table.h"

#define PAGE 100 /* rows under one read transaction */

struct view {
	bool utc, payload;
	int64_t now_ms;
	int64_t last_id;
	unsigned rows;
	struct store *store;
	struct table *table;
};

static enum err open_store(const struct command_args *a, struct config **ret_c,
			   struct store **ret_st, struct err_detail *why)
{
	enum err e = cmd_load_config(a, ret_c, why);

	if (!e) {
		const struct store_options o = { .path = (*ret_c)->store.path };

		e = store_open(&o, STORE_READER, ret_st, why);
	}
	return e;
}

static const struct table_column columns[] = {
	{ .name = "ID", .right = true },
	{ .name = "AGE", .right = true },
	{ .name = "GROUP", .min = 8 },
	{ .name = "KIND" },
	{ .name = "TYPE", .min = 20 },
	{ .name = "TRIES", .right = true },
	{ .name = "EVENT", .min = 9 },
	{ .name = "DEAD AT", .spare = true },
	{ .name = "STATE", .spare = true },
	{ .name = "TOPIC", .spare = true },
};

static void number_cell(struct table *t, int64_t n)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%" PRId64, n);
	table_cell(t, span_str(buf));
}

static void time_cell(const struct view *v, int64_t wall_ms, bool sync)
{
	char iso[CLOCK_ISO_SIZE], buf[CLOCK_ISO_SIZE + 1];

	snprintf(buf, sizeof(buf), "%s%s", clock_iso(iso, wall_ms, v->utc),
		 sync ? "" : "?");
	table_cell(v->table, span_str(buf));
}

static enum err list_row(void *arg, const struct letter *l)
{
	struct view *v = arg;
	char age[CMD_AGE_SIZE];

	v->rows++;
	v->last_id = l->id;
	number_cell(v->table, l->id);
	table_cell(v->table, span_str(cmd_age(age, v->now_ms - l->dead_ms)));
	table_cell(v->table, l->group);
	table_cell(v->table, span_str(dead_kind_text(l->kind)));
	table_cell(v->table, span_str(l->last_type.text));
	number_cell(v->table, l->attempts);
	table_cell(v->table,
		   l->who.event_id.data ? l->who.event_id : span_str("-"));
	time_cell(v, l->dead_wall_ms, l->dead_sync);
	table_cell(v->table, l->state);
	table_cell(v->table, l->event.topic);
	return OK;
}

/* Page by page: a reader that stops holds nothing. */
static enum err list_all(struct view *v, struct err_detail *why)
{
	enum err e = table_new(columns, ARRAY_LEN(columns), &v->table);

	if (e)
		return err_say(why, e, "%s", err_text(e));
	for (unsigned seen = 0; !e && v->rows == seen; seen += PAGE) {
		e = letter_list(v->store, v->last_id, PAGE, list_row, v);
		table_print(v->table);
		if (e)
			e = err_say(why, e, "%s", store_detail(v->store));
	}
	table_free(v->table);
	if (!e && !v->rows)
		printf("no dead letters\n");
	return e;
}

enum err cmd_dead_list(const struct command_args *a, struct err_detail *why)
{
	struct view v = { .last_id = INT64_MAX };
	const struct command_option options[] = { { "--utc", &v.utc, NULL } };
	struct config *c = NULL;
	unsigned n;
	enum err e =
		cmd_options(a, options, ARRAY_LEN(options), NULL, 0, &n, why);

	if (!e)
		e = open_store(a, &c, &v.store, why);
	if (!e) {
		v.now_ms = store_now_ms(v.store, clock_boot_ms());
		e = list_all(&v, why);
	}
	store_close(v.store);
	config_free(c);
	return e;
}

static void field(const char *name, struct span s)
{
	if (!s.data)
		return;
	printf("%-14s ", name);
	cmd_print_safe(s);
	putchar('\n');
}

static enum err attempt_row(void *arg, const struct attempt_record *r)
{
	const struct view *v = arg;
	char iso[CLOCK_ISO_SIZE];

	printf("  %3u  %s %5" PRId64 " ms  %-9s %s\n", r->n,
	       clock_iso(iso, r->started_wall_ms, v->utc), r->took_ms,
	       outcome_text(r->outcome), r->type.text);
	return OK;
}

static void print_times(const struct view *v, const struct letter *l)
{
	char iso[CLOCK_ISO_SIZE], age[CMD_AGE_SIZE];

	printf("%-14s %s\n", "first seen",
	       clock_iso(iso, l->first_seen_wall_ms, v->utc));
	printf("%-14s %s (age: %s)%s\n", "dead at",
	       clock_iso(iso, l->dead_wall_ms, v->utc),
	       cmd_age(age, v->now_ms - l->dead_ms),
	       l->dead_sync ? "" : ", the clock was not set");
}

/* As it is, but for bytes that would steer the operator's terminal. */
static void write_payload(struct span p)
{
	if (!isatty(STDOUT_FILENO)) {
		fwrite(p.data, 1, p.len, stdout);
		return;
	}
	while (p.len) {
		size_t n = 0;

		while (n < p.len && p.data[n] != '\n' && p.data[n] != '\t')
			n++;
		cmd_print_safe(span_of(p.data, n));
		if (n < p.len)
			putchar(p.data[n++]);
		p = span_of(p.data + n, p.len - n);
	}
}

static void print_payload(const struct view *v, const struct letter *l)
{
	printf("%-14s %" PRIu64 " bytes%s\n", "payload", l->event.payload_bytes,
	       l->event.oversize ? ", too large to keep: only its hash is"
	       : v->payload	 ? ":"
				 : "; --payload shows it");
	if (!v->payload || l->event.oversize)
		return;
	write_payload(l->event.payload);
	putchar('\n');
}

static enum err show_row(void *arg, const struct letter *l)
{
	struct view *v = arg;
	enum err e;

	printf("%-14s %" PRId64 "\n", "letter", l->id);
	field("state", l->state);
	field("group", l->group);
	if (l->who.tenant.len)
		field("tenant", l->who.tenant);
	field("event id", l->who.event_id.data ? l->who.event_id
					       : span_str("- (it has none)"));
	field("topic", l->event.topic);
	field("content type", l->event.content_type);
	if (v->payload && !span_is(l->properties_text, "[]"))
		field("properties", l->properties_text);
	field("kind", span_str(dead_kind_text(l->kind)));
	field("first type", span_str(l->first_type.text));
	field("last type", span_str(l->last_type.text));
	printf("%-14s %u\n%-14s %" PRId64 "\n", "attempts", l->attempts,
	       "redeliveries", l->redeliveries);
	print_times(v, l);
	if (l->attempts)
		printf("history\n");
	e = attempt_list(v->store, &l->who.key, l->who.fingerprint, attempt_row,
			 v);
	if (!e)
		print_payload(v, l);
	return e;
}

enum err cmd_dead_show(const struct command_args *a, struct err_detail *why)
{
	struct view v = { 0 };
	const struct command_option options[] = {
		{ "--utc", &v.utc, NULL },
		{ "--payload", &v.payload, NULL },
	};
	const char *word = NULL;
	struct config *c = NULL;
	int64_t id = 0;
	unsigned n;
	enum err e =
		cmd_options(a, options, ARRAY_LEN(options), &word, 1, &n, why);

	if (!e && (!n || parse_uint(span_str(word), &id)))
		return err_say(why, ERR_USAGE,
			       "dead show needs the ID of a letter, a number; "
			       "`mqonce dead list` shows them");
	if (!e)
		e = open_store(a, &c, &v.store, why);
	if (!e) {
		v.now_ms = store_now_ms(v.store, clock_boot_ms());
		e = letter_show(v.store, id, show_row, &v);
		if (e)
			e = err_say(why, e, "%s", store_detail(v.store));
	}
	store_close(v.store);
	config_free(c);
	return e;
}
