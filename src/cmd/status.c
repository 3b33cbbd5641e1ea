/* `status`: what the owner says, or, without one, the store. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "base/parse.h"
#include "metrics.h"

/* A total, and behind it what it is made of, as far as that is not 0. */
struct part {
	const char *name, *field;
};

static void print_total(struct json_value row, const char *name,
			const struct part *parts, unsigned n)
{
	int64_t sum = 0;
	const char *before = "   ";

	for (unsigned i = 0; i < n; i++)
		sum += ask_number(row, parts[i].field);
	printf("  %-13s %8" PRId64, name, sum);
	for (unsigned i = 0; i < n; i++) {
		int64_t v = ask_number(row, parts[i].field);

		if (!v || !parts[i].name)
			continue;
		printf("%s%s %" PRId64, before, parts[i].name, v);
		before = ", ";
	}
	putchar('\n');
}

static void print_counters(struct json_value row)
{
	static const struct part received[] = { { NULL, "received" } };
	static const struct part done[] = { { NULL, "done" } };
	static const struct part suppressed[] = {
		{ "copies of done", "suppressed_done" },
		{ "of pending", "suppressed_pending" },
		{ "of dead", "suppressed_dead" },
	};
	static const struct part dead[] = {
		{ "permanent", "dead_permanent" },
		{ "poison", "dead_poison" },
		{ "conflict", "dead_conflict" },
		{ "exhausted", "dead_exhausted" },
		{ "crash_loop", "dead_crash_loop" },
	};
	static const struct part attempts[] = {
		{ "ok", "attempts_ok" },
		{ "transient", "attempts_transient" },
		{ "permanent", "attempts_permanent" },
		{ "poison", "attempts_poison" },
	};

	print_total(row, "received", received, ARRAY_LEN(received));
	print_total(row, "done", done, ARRAY_LEN(done));
	print_total(row, "suppressed", suppressed, ARRAY_LEN(suppressed));
	print_total(row, "dead", dead, ARRAY_LEN(dead));
	print_total(row, "attempts", attempts, ARRAY_LEN(attempts));
	if (ask_number(row, "superseded"))
		printf("  %-13s %8" PRId64 "   older than what was handled, no "
		       "effect (order guard)\n", "superseded",
		       ask_number(row, "superseded"));
	if (ask_number(row, "dropped"))
		printf("  %-13s %8" PRId64 "   dead, payload not kept "
		       "(dead_letter = off)\n", "dropped",
		       ask_number(row, "dropped"));
	if (ask_number(row, "retained"))
		printf("  %-13s %8" PRId64 "   copies left alone (retained = "
		       "ignore)\n", "retained", ask_number(row, "retained"));
}

static bool is_true(struct json_value row, const char *name)
{
	struct json_value v;

	return ask_field(row, name, &v) && span_is(v.raw, "true");
}

/* What keeps the group from running anything, if something does. */
static void print_hold(struct json_value row)
{
	char age[CMD_AGE_SIZE];

	if (is_true(row, "paused"))
		printf("  paused        by the operator; deliveries wait\n");
	if (ask_number(row, "breaker_open_ms"))
		printf("  breaker       open for %s: events keep failing alike; "
		       "one is tried now and then\n",
		       cmd_age(age, ask_number(row, "breaker_open_ms")));
}

static void print_group(struct json_value row)
{
	char name[72], size[CMD_SIZE_SIZE], max[PARSE_TEXT_SIZE];
	int64_t rows = ask_number(row, "pending");

	ask_text(row, "group", name, sizeof(name));
	printf("\ngroup %s\n", name);
	if (!is_true(row, "known")) {
		printf("  new: the daemon has not run with it yet\n");
		return;
	}
	print_hold(row);
	print_counters(row);
	printf("  %-13s %8" PRId64, "pending", rows);
	if (rows)
		printf("   of at most %" PRId64 "; %s of at most %s",
		       ask_number(row, "pending_max"),
		       cmd_size(size, ask_number(row, "pending_bytes")),
		       size_text(max, ask_number(row, "pending_bytes_max")));
	putchar('\n');
}

static void print_owner(struct json_value row)
{
	char said[512];
	int64_t pid = ask_number(row, "pid");

	ask_text(row, "said", said, sizeof(said));
	if (pid)
		printf("owner       pid %" PRId64 "\n%s", pid, said);
	else
		printf("owner       none; start it with `mqonce run`\n");
}

static void print_store(struct json_value row)
{
	char size[CMD_SIZE_SIZE], wal[CMD_SIZE_SIZE], max[PARSE_TEXT_SIZE];
	char path[4096];

	ask_text(row, "path", path, sizeof(path));
	printf("store       %s\n            %s of at most %s, wal %s\n", path,
	       cmd_size(size, ask_number(row, "file_bytes")),
	       size_text(max, ask_number(row, "max_bytes")),
	       cmd_size(wal, ask_number(row, "wal_bytes")));
}

static void print_letters(struct json_value row, bool first)
{
	char kind[16], age[CMD_AGE_SIZE];

	ask_text(row, "kind", kind, sizeof(kind));
	printf("%-11s %" PRId64 " %s, the oldest of %s\n",
	       first ? "open dead" : "", ask_number(row, "open"), kind,
	       cmd_age(age, ask_number(row, "oldest_age_ms")));
}

static void print_all(struct json_value row)
{
	int64_t unmatched = ask_number(row, "unmatched");
	int64_t lost = ask_number(row, "sessions_lost");

	printf("\nall groups\n  %-13s %8" PRId64 "%s\n  %-13s %8" PRId64 "%s\n",
	       "unmatched", unmatched,
	       unmatched ? "   no group's filter fits their topic" : "",
	       "sessions lost", lost,
	       lost ? "   by the broker, with what it kept for us" : "");
}

struct shown {
	bool quiet, letters;
	struct metrics *metrics;	/* instead of lines for people */
	unsigned alarms;
};

static void print_alarm(struct shown *s, struct json_value row)
{
	char text[512], name[32];

	ask_text(row, "alarm", name, sizeof(name));
	ask_text(row, "text", text, sizeof(text));
	if (!s->quiet && !s->alarms)
		printf("\nalarms\n");
	printf("%s%s: ", s->quiet ? "" : "  ", name);
	cmd_print_safe(span_str(text));
	putchar('\n');
	s->alarms++;
}

static enum err print_row(struct ask *k, struct json_value row)
{
	struct shown *s = k->arg;
	char record[16] = "";

	if (s->metrics)
		return metrics_add(s->metrics, row) ? OK : ERR_NOMEM;
	ask_text(row, "record", record, sizeof(record));
	if (!strcmp(record, "alarm")) {
		print_alarm(s, row);
	} else if (s->quiet) {
		return OK;
	} else if (!strcmp(record, "owner")) {
		print_owner(row);
	} else if (!strcmp(record, "store")) {
		print_store(row);
	} else if (!strcmp(record, "letters")) {
		print_letters(row, !s->letters);
		s->letters = true;
	} else if (!strcmp(record, "group")) {
		print_group(row);
	} else if (!strcmp(record, "all")) {
		print_all(row);
	}
	return OK;
}

enum err cmd_status(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "status", .options = "quiet max-age= prometheus",
		.row = print_row,
	};
	struct shown s = { .quiet = false };
	struct metrics m = { .groups_len = 0 };
	struct ask k;
	enum err e = ask_open(&k, &spec, a, why);

	k.arg = &s;
	s.quiet = !e && ask_get(&k, "quiet");
	s.metrics = !e && ask_get(&k, "prometheus") ? &m : NULL;
	if (s.quiet || s.metrics)
		k.format = ASK_TABLE;
	if (!e)
		e = ask_send(&k, why);
	if (!e && s.metrics)
		metrics_print(&m);
	metrics_fini(&m);
	ask_close(&k);
	if (!e && s.quiet && s.alarms)
		return err_say(why, ERR_NO, "%u alarm%s", s.alarms,
			       s.alarms == 1 ? "" : "s");
	return e;
}
