/* Dead letters as an operator sees them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "base/clock.h"
#include "base/parse.h"

#define FILTER	"group= tenant= kind= type= topic= since= until= event="

static const struct ask_column list_columns[] = {
	{ "ID", "id", ASK_NUMBER, 0, false },
	{ "AGE", "age_ms", ASK_AGE, 0, false },
	{ "GROUP", "group", ASK_TEXT, 8, false },
	{ "KIND", "kind", ASK_TEXT, 0, false },
	{ "TYPE", "last_type", ASK_TEXT, 20, false },
	{ "ATTEMPTS", "attempts", ASK_NUMBER, 0, false },
	{ "EVENT", "event_id", ASK_TEXT, 9, false },
	{ "DEAD AT", "dead_wall_ms", ASK_TIME, 0, true },
	{ "STATE", "state", ASK_TEXT, 0, true },
	{ "TOPIC", "topic", ASK_TEXT, 0, true },
};

enum err cmd_dead_list(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead list", .options = FILTER " state= max=",
		.columns = list_columns, .columns_len = ARRAY_LEN(list_columns),
		.empty = "no dead letters",
	};

	return ask_run(&spec, a, why);
}

/* dead summary: the owner counts window by window, we add up */

struct sort {
	char key[256];		/* the row's texts, one after the other */
	char group[72], kind[16], type[64], state[16];
	int64_t n, oldest, newest;
};

#define SORTS	256

struct sorts {
	struct sort sort[SORTS];
	unsigned len;
	int64_t total, left_out;
};

static struct sort *find_sort(struct sorts *all, const struct sort *s)
{
	for (unsigned i = 0; i < all->len; i++)
		if (!strcmp(all->sort[i].key, s->key))
			return &all->sort[i];
	if (all->len == SORTS)
		return NULL;
	all->sort[all->len] = *s;
	return &all->sort[all->len++];
}

static enum err add_sort(struct ask *k, struct json_value row)
{
	struct sort s = { .n = 0 }, *to;
	struct sorts *all = k->arg;
	int64_t oldest = ask_number(row, "oldest_wall_ms");
	int64_t newest = ask_number(row, "newest_wall_ms");

	ask_text(row, "group", s.group, sizeof(s.group));
	ask_text(row, "kind", s.kind, sizeof(s.kind));
	ask_text(row, "type", s.type, sizeof(s.type));
	ask_text(row, "state", s.state, sizeof(s.state));
	snprintf(s.key, sizeof(s.key), "%s %s %s %s", s.group, s.kind, s.type,
		 s.state);
	all->total += ask_number(row, "n");
	to = find_sort(all, &s);
	if (!to) {
		all->left_out += ask_number(row, "n");
		return OK;
	}
	to->oldest = !to->n || oldest < to->oldest ? oldest : to->oldest;
	to->newest = !to->n || newest > to->newest ? newest : to->newest;
	to->n += ask_number(row, "n");
	return OK;
}

static void print_sorts(const struct sorts *all, bool utc)
{
	for (unsigned i = 0; i < all->len; i++) {
		const struct sort *s = &all->sort[i];
		char iso[CLOCK_ISO_SIZE];

		printf("%8" PRId64 "  %-16s %-10s %-9s %s\n", s->n, s->group,
		       s->kind, s->state, s->type);
		printf("%8s  oldest %s\n", "",
		       clock_iso(iso, s->oldest, utc));
	}
	if (all->left_out)
		printf("%8" PRId64 "  of other sorts; --ndjson has them all\n",
		       all->left_out);
	if (all->len)
		printf("%8" PRId64 "  in all\n", all->total);
}

enum err cmd_dead_summary(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead summary",
		.options = "group= tenant= kind= type= since= until= state=",
		.row = add_sort, .empty = "no dead letters",
	};
	AUTO_FREE struct sorts *all = calloc(1, sizeof(*all));
	struct ask k;
	enum err e = ask_open(&k, &spec, a, why);

	k.arg = all;
	if (!e && all)
		e = ask_send(&k, why);
	if (!e && all && k.format == ASK_TABLE)
		print_sorts(all, k.utc);
	ask_close(&k);
	return e;
}

/* dead show */

struct shown {
	int64_t payload_bytes;
	bool kept, attempts;
};

static void field(const char *name, struct span s)
{
	if (!s.data)
		return;
	printf("%-14s ", name);
	cmd_print_safe(s);
	putchar('\n');
}

static void text_field(const char *title, struct json_value row,
		       const char *name)
{
	struct json_value v;

	if (ask_field(row, name, &v) && v.kind == JSON_STRING)
		field(title, ask_value(v));
}

static void print_properties(struct json_value all)
{
	struct json_value pair, v;
	size_t at = 0;

	while (json_next(all, &at, NULL, &pair)) {
		size_t in = 0;

		printf("%-14s ", "property");
		for (int i = 0; json_next(pair, &in, NULL, &v); i++) {
			cmd_print_safe(ask_value(v));
			fputs(i ? "\n" : " = ", stdout);
		}
	}
}

static void print_times(struct json_value row, bool utc)
{
	char iso[CLOCK_ISO_SIZE], age[CMD_AGE_SIZE];
	struct json_value v;
	bool set = ask_field(row, "clock_synchronised", &v) &&
		   span_is(v.raw, "true");

	printf("%-14s %s\n", "first seen",
	       clock_iso(iso, ask_number(row, "first_seen_wall_ms"), utc));
	printf("%-14s %s (age: %s)%s\n", "dead at",
	       clock_iso(iso, ask_number(row, "dead_wall_ms"), utc),
	       cmd_age(age, ask_number(row, "age_ms")),
	       set ? "" : ", the clock was not set");
}

static void show_letter(struct ask *k, struct json_value row)
{
	struct shown *s = k->arg;
	struct json_value v;
	char buf[512];

	s->payload_bytes = ask_number(row, "payload_bytes");
	s->kept = ask_field(row, "payload_kept", &v) && span_is(v.raw, "true");
	printf("%-14s %" PRId64 "\n", "letter", ask_number(row, "id"));
	text_field("state", row, "state");
	text_field("group", row, "group");
	if (ask_text(row, "tenant", buf, sizeof(buf)).len)
		field("tenant", span_str(buf));
	field("event id", ask_text(row, "event_id", buf, sizeof(buf)).data
				  ? span_str(buf)
				  : span_str("- (it has none)"));
	text_field("topic", row, "topic");
	text_field("content type", row, "content_type");
	if (ask_field(row, "properties", &v))
		print_properties(v);
	text_field("kind", row, "kind");
	text_field("first type", row, "first_type");
	text_field("last type", row, "last_type");
	printf("%-14s %" PRId64 "\n%-14s %" PRId64 "\n", "attempts",
	       ask_number(row, "attempts"), "redeliveries",
	       ask_number(row, "redeliveries"));
	if (ask_number(row, "replays"))
		printf("%-14s %" PRId64 "\n", "replays",
		       ask_number(row, "replays"));
	text_field("pulled as", row, "pulled_as");
	print_times(row, k->utc);
}

static void show_attempt(struct ask *k, struct json_value row)
{
	struct shown *s = k->arg;
	char iso[CLOCK_ISO_SIZE], outcome[16], type[64];

	if (!s->attempts)
		printf("history\n");
	s->attempts = true;
	ask_text(row, "outcome", outcome, sizeof(outcome));
	printf("  %3" PRId64 "  %s %5" PRId64 " ms  %-9s %s\n",
	       ask_number(row, "attempt"),
	       clock_iso(iso, ask_number(row, "started_wall_ms"), k->utc),
	       ask_number(row, "took_ms"), outcome,
	       ask_text(row, "type", type, sizeof(type)).data ? type : "");
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

static void print_payload_line(const struct ask *k, const struct shown *s)
{
	printf("%-14s %" PRId64 " bytes%s\n", "payload", s->payload_bytes,
	       !s->kept		       ? ", too large to keep: only its hash is"
	       : ask_get(k, "payload") ? ":"
				       : "; --payload shows it");
}

static void show_chunk(struct ask *k, struct json_value row,
		       struct json_value base64)
{
	static char bytes[32 << 10];
	size_t n = cmd_base64(base64.raw, bytes, sizeof(bytes));

	if (ask_number(row, "offset") == 0)
		print_payload_line(k, k->arg);
	write_payload(span_of(bytes, n));
}

static enum err show_row(struct ask *k, struct json_value row)
{
	struct json_value v;

	if (ask_field(row, "payload_base64", &v))
		show_chunk(k, row, v);
	else if (ask_field(row, "attempt", &v))
		show_attempt(k, row);
	else
		show_letter(k, row);
	return OK;
}

enum err cmd_dead_show(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead show", .options = "payload", .words = "ids",
		.row = show_row,
	};
	struct shown s = { 0 };
	struct ask k;
	int64_t id;
	enum err e = ask_open(&k, &spec, a, why);

	k.arg = &s;
	if (!e && (!*k.words || parse_uint(span_str(k.words), &id)))
		e = err_say(why, ERR_USAGE, "dead show needs the ID of a "
			    "letter, a number; `mqonce dead list` shows them");
	k.writes = !e && ask_get(&k, "payload");	/* it is audited */
	if (!e)
		e = ask_send(&k, why);
	if (!e && k.format == ASK_TABLE) {
		if (ask_get(&k, "payload") && s.kept)
			putchar('\n');
		else
			print_payload_line(&k, &s);
	}
	ask_close(&k);
	return e;
}
