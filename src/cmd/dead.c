/* Dead letters as an operator sees them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cmd.h"
#include "store/attempt.h"
#include "store/letter.h"
#include "store/store.h"

#define PAGE	100		/* rows under one read transaction */

struct view {
	bool utc, payload;
	int64_t now_ms;
	int64_t last_id;
	unsigned rows;
	struct store *store;
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

static void print_cut(struct span s, unsigned width)
{
	unsigned n = s.len > width ? width - 1 : (unsigned)s.len;

	cmd_print_safe(span_of(s.data, n));
	if (s.len > width)
		putchar('~');
	else
		printf("%*s", (int)(width - n), "");
}

static enum err list_row(void *arg, const struct letter *l)
{
	struct view *v = arg;
	char iso[CLOCK_ISO_SIZE], age[CMD_AGE_SIZE];

	if (!v->rows++)
		printf("%6s  %-9s %8s  %-16s %-10s %-28s %4s  %-20s %s\n", "ID",
		       "STATE", "AGE", "GROUP", "KIND", "TYPE", "TRIES",
		       "EVENT", "DEAD AT");
	printf("%6" PRId64 "  ", l->id);
	print_cut(l->state, 9);
	printf(" %8s  ", cmd_age(age, v->now_ms - l->dead_ms));
	print_cut(l->group, 16);
	printf(" %-10s ", dead_kind_text(l->kind));
	print_cut(span_str(l->last_type.text), 28);
	printf(" %4u  ", l->attempts);
	print_cut(l->who.event_id.data ? l->who.event_id : span_str("-"), 20);
	printf(" %s%s\n", clock_iso(iso, l->dead_wall_ms, v->utc),
	       l->dead_sync ? "" : " (clock not set)");
	v->last_id = l->id;
	return OK;
}

enum err cmd_dead_list(const struct command_args *a, struct err_detail *why)
{
	struct view v = { .last_id = INT64_MAX };
	const struct command_option options[] = { { "--utc", &v.utc, NULL } };
	struct config *c = NULL;
	unsigned n;
	enum err e = cmd_options(a, options, ARRAY_LEN(options), NULL, 0, &n,
				 why);

	if (!e)
		e = open_store(a, &c, &v.store, why);
	if (!e)
		v.now_ms = store_now_ms(v.store, clock_boot_ms());
	/* Page by page: a reader that stops holds nothing. */
	for (unsigned seen = 0; !e && v.rows == seen; seen += PAGE) {
		e = letter_list(v.store, v.last_id, PAGE, list_row, &v);
		if (e)
			e = err_say(why, e, "%s", store_detail(v.store));
	}
	if (!e && !v.rows)
		printf("no dead letters\n");
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

	printf("  %4u  %s  %6" PRId64 " ms  %-9s %s\n", r->n,
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

static void print_payload(const struct view *v, const struct letter *l)
{
	printf("%-14s %" PRIu64 " bytes%s\n", "payload",
	       l->event.payload_bytes,
	       l->event.oversize ? ", too large to keep: only its hash is"
	       : v->payload ? "" : "; --payload shows it");
	if (!v->payload || l->event.oversize)
		return;
	putchar('\n');
	/* As it is: this is what the operator asked for. */
	fwrite(l->event.payload.data, 1, l->event.payload.len, stdout);
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
	if (v->payload)
		field("properties", l->properties_text);
	field("kind", span_str(dead_kind_text(l->kind)));
	field("first type", span_str(l->first_type.text));
	field("last type", span_str(l->last_type.text));
	printf("%-14s %u\n%-14s %" PRId64 "\n", "attempts", l->attempts,
	       "copies since", l->redeliveries);
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
	enum err e = cmd_options(a, options, ARRAY_LEN(options), &word, 1, &n,
				 why);

	if (!e && (!n || parse_uint(span_str(word), &id)))
		return err_say(why, ERR_USAGE, "dead show needs the number of a "
			       "letter; `mqonce dead list` shows them");
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
