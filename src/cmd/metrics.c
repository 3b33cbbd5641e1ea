#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"

/* One line per group; @label is more inside the braces. */
static const struct per_group {
	const char *name, *label, *field;
	bool gauge;
} per_group[] = {
	{ "events_received_total", "", "received", false },
	{ "events_done_total", "", "done", false },
	{ "events_superseded_total", "", "superseded", false },
	{ "events_suppressed_total", ",why=\"done\"", "suppressed_done", false },
	{ "events_suppressed_total", ",why=\"pending\"", "suppressed_pending",
	  false },
	{ "events_suppressed_total", ",why=\"dead\"", "suppressed_dead", false },
	{ "attempts_total", ",outcome=\"ok\"", "attempts_ok", false },
	{ "attempts_total", ",outcome=\"transient\"", "attempts_transient",
	  false },
	{ "attempts_total", ",outcome=\"permanent\"", "attempts_permanent",
	  false },
	{ "attempts_total", ",outcome=\"poison\"", "attempts_poison", false },
	{ "dead_letters_total", ",kind=\"permanent\"", "dead_permanent", false },
	{ "dead_letters_total", ",kind=\"poison\"", "dead_poison", false },
	{ "dead_letters_total", ",kind=\"conflict\"", "dead_conflict", false },
	{ "dead_letters_total", ",kind=\"exhausted\"", "dead_exhausted", false },
	{ "dead_letters_total", ",kind=\"crash_loop\"", "dead_crash_loop",
	  false },
	{ "conflicts_total", "", "dead_conflict", false },
	{ "pending", "", "pending", true },
};

static enum dead_kind kind_of(const char *text)
{
	int k = 0;

	while (k < DEAD_KIND_COUNT - 1 && strcmp(text, dead_kind_text(k)))
		k++;
	return k;
}

static bool add_group(struct metrics *m, struct json_value row)
{
	char *copy;

	if (m->groups_len == CONFIG_GROUPS)
		return true;
	copy = strndup(row.raw.data, row.raw.len);
	if (copy)
		m->group[m->groups_len++] = copy;
	return copy;
}

bool metrics_add(struct metrics *m, struct json_value row)
{
	char record[16] = "", kind[16] = "";
	struct json_value v;

	ask_text(row, "record", record, sizeof(record));
	if (!strcmp(record, "group"))
		return add_group(m, row);
	if (!strcmp(record, "letters")) {
		ask_text(row, "kind", kind, sizeof(kind));
		m->open[kind_of(kind)] = ask_number(row, "open");
		m->oldest_ms[kind_of(kind)] = ask_number(row, "oldest_age_ms");
	} else if (!strcmp(record, "all")) {
		m->unmatched = ask_number(row, "unmatched");
		m->sessions_lost = ask_number(row, "sessions_lost");
	} else if (!strcmp(record, "store")) {
		m->store_bytes = ask_number(row, "file_bytes");
		m->wal_bytes = ask_number(row, "wal_bytes");
	} else if (!strcmp(record, "owner")) {
		m->connected = ask_field(row, "connected", &v) &&
			       span_is(v.raw, "true");
	}
	return true;
}

static void print_type(const char *name, bool gauge)
{
	printf("# TYPE mqonce_%s %s\n", name, gauge ? "gauge" : "counter");
}

static void print_one(const char *name, bool gauge, int64_t v)
{
	print_type(name, gauge);
	printf("mqonce_%s %" PRId64 "\n", name, v);
}

static void print_kinds(const char *name, const int64_t *v, int64_t divisor)
{
	print_type(name, true);
	for (int k = 0; k < DEAD_KIND_COUNT; k++)
		printf("mqonce_%s{kind=\"%s\"} %" PRId64 "\n", name,
		       dead_kind_text(k), v[k] / divisor);
}

static void print_groups(const struct metrics *m, const struct per_group *p)
{
	for (unsigned i = 0; i < m->groups_len; i++) {
		struct json_value row;
		char group[72] = "";

		if (!json_find(span_str(m->group[i]), span_str("$"), &row))
			continue;
		ask_text(row, "group", group, sizeof(group));
		printf("mqonce_%s{group=\"%s\"%s} %" PRId64 "\n", p->name, group,
		       p->label, ask_number(row, p->field));
	}
}

void metrics_print(const struct metrics *m)
{
	const char *last = "";

	for (size_t i = 0; i < ARRAY_LEN(per_group); i++) {
		if (strcmp(last, per_group[i].name))
			print_type(per_group[i].name, per_group[i].gauge);
		last = per_group[i].name;
		print_groups(m, &per_group[i]);
	}
	print_kinds("dead_letters", m->open, 1);
	print_kinds("dead_letter_oldest_seconds", m->oldest_ms, 1000);
	print_one("events_unmatched_total", false, m->unmatched);
	print_one("sessions_lost_total", false, m->sessions_lost);
	print_one("store_bytes", true, m->store_bytes);
	print_one("wal_bytes", true, m->wal_bytes);
	print_one("connected", true, m->connected);
}

void metrics_fini(struct metrics *m)
{
	for (unsigned i = 0; i < m->groups_len; i++)
		free(m->group[i]);
}
