/* What the store and its owner say, without disturbing either. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cmd.h"
#include "store/counter.h"
#include "store/group.h"
#include "store/letter.h"
#include "store/owner.h"
#include "store/pending.h"
#include "store/store.h"

static void print_owner(const char *path)
{
	char text[512];
	pid_t pid;

	owner_look(path, &pid, text, sizeof(text));
	if (pid)
		printf("owner       pid %d\n%s", (int)pid, text);
	else
		printf("owner       none; start it with `mqonce run`\n");
}

static void print_file(struct store *st, const struct store_config *c)
{
	char size[CMD_SIZE_SIZE], wal[CMD_SIZE_SIZE], max[PARSE_TEXT_SIZE];
	struct store_stats s;

	store_stats(st, &s);
	printf("store       %s\n            %s of at most %s, wal %s\n",
	       c->path, cmd_size(size, s.file_bytes),
	       size_text(max, c->max_size), cmd_size(wal, s.wal_bytes));
}

/* A total, and behind it what it is made of, as far as that is not 0. */
struct part {
	const char *name;
	int64_t n;
};

static void print_total(const char *name, const struct part *parts, unsigned n)
{
	int64_t sum = 0;
	const char *before = "   ";

	for (unsigned i = 0; i < n; i++)
		sum += parts[i].n;
	printf("  %-13s %8" PRId64, name, sum);
	for (unsigned i = 0; i < n; i++)
		if (parts[i].n && parts[i].name) {
			printf("%s%s %" PRId64, before, parts[i].name,
			       parts[i].n);
			before = ", ";
		}
	putchar('\n');
}

static void print_counters(const struct counters *c)
{
	const struct part received[] = { { NULL, c->received } };
	const struct part done[] = { { NULL, c->done } };
	const struct part suppressed[] = {
		{ "copies of done", c->suppressed_done },
		{ "of pending", c->suppressed_pending },
		{ "of dead", c->suppressed_dead },
	};
	const struct part dead[] = {
		{ "permanent", c->dead_permanent },
		{ "poison", c->dead_poison },
		{ "conflict", c->dead_conflict },
		{ "exhausted", c->dead_exhausted },
		{ "crash_loop", c->dead_crash_loop },
	};
	const struct part attempts[] = {
		{ "ok", c->attempts_ok },
		{ "transient", c->attempts_transient },
		{ "permanent", c->attempts_permanent },
		{ "poison", c->attempts_poison },
	};

	print_total("received", received, ARRAY_LEN(received));
	print_total("done", done, ARRAY_LEN(done));
	print_total("suppressed", suppressed, ARRAY_LEN(suppressed));
	print_total("dead", dead, ARRAY_LEN(dead));
	print_total("attempts", attempts, ARRAY_LEN(attempts));
	if (c->superseded)
		printf("  %-13s %8" PRId64 "   older than what was handled, no "
		       "effect (order guard)\n",
		       "superseded", c->superseded);
	if (c->dropped)
		printf("  %-13s %8" PRId64 "   dead, payload not kept "
		       "(dead_letter = off)\n",
		       "dropped", c->dropped);
	if (c->retained)
		printf("  %-13s %8" PRId64 "   copies left alone (retained = "
		       "ignore)\n",
		       "retained", c->retained);
}

/* What keeps the group from running anything, if something does. */
static void print_hold(const struct store *st, const struct group_record *g)
{
	int64_t now = store_now_ms(st, clock_boot_ms());
	char text[PARSE_TEXT_SIZE];

	if (g->paused)
		printf("  paused        by the operator; deliveries wait\n");
	if (g->breaker.open)
		printf("  breaker       open for %s: events keep failing alike; "
		       "one is tried every %d s\n",
		       duration_text(text, (now - g->breaker.open_since_ms) /
						   1000 * 1000),
		       BREAKER_PROBE_MS / 1000);
}

static enum err print_letters(struct store *st, int64_t group_no,
			      const struct group_config *c)
{
	int64_t open = 0, kept = 0;
	enum err e = letter_totals(st, group_no, &open, &kept);

	if (e || !open)
		return e;
	printf("  %-13s %8" PRId64 "   of at most %" PRId64 "%s\n", "open letters",
	       open, c->max_dead,
	       c->dead_limit == DEAD_LIMIT_STOP
		       ? ", then no event is taken"
		       : " with their payload; older ones lose it");
	return OK;
}

static enum err print_group(struct store *st, const struct group_record *g,
			    const struct group_config *gc,
			    const struct limits_config *l)
{
	struct counters c;
	int64_t rows = 0, bytes = 0;
	char size[CMD_SIZE_SIZE], max[PARSE_TEXT_SIZE];
	enum err e = counter_get(st, g->group_no, &c);

	if (!e)
		e = pending_totals(st, g->group_no, &rows, &bytes);
	if (e)
		return e;
	printf("\ngroup %s\n", gc->name);
	print_hold(st, g);
	print_counters(&c);
	printf("  %-13s %8" PRId64, "pending", rows);
	if (rows)
		printf("   of at most %" PRId64 "; %s of at most %s",
		       l->pending_rows, cmd_size(size, bytes),
		       size_text(max, l->pending_bytes));
	putchar('\n');
	return print_letters(st, g->group_no, gc);
}

static enum err print_strays(struct store *st)
{
	struct counters c;
	enum err e = counter_get(st, COUNTER_NO_GROUP, &c);

	if (e)
		return e;
	printf("\nall groups\n  %-13s %8" PRId64 "%s\n  %-13s %8" PRId64 "%s\n",
	       "unmatched", c.unmatched,
	       c.unmatched ? "   no group's filter fits their topic" : "",
	       "sessions lost", c.sessions_lost,
	       c.sessions_lost ? "   by the broker, with what it kept for us"
			       : "");
	return OK;
}

static enum err print_groups(struct store *st, const struct config *c)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < c->groups_len; i++) {
		struct group_record g;

		e = group_find(st, c->groups[i].name, &g);
		if (e == ERR_NO) {
			printf("\ngroup %s\n  new: the daemon has not run with "
			       "it yet\n",
			       c->groups[i].name);
			e = OK;
		} else if (!e) {
			e = print_group(st, &g, &c->groups[i], &c->limits);
		}
	}
	return e ? e : print_strays(st);
}

enum err cmd_status(const struct command_args *a, struct err_detail *why)
{
	struct config *c = NULL;
	struct store *st = NULL;
	unsigned n;
	enum err e = cmd_options(a, NULL, 0, NULL, 0, &n, why);

	if (!e)
		e = cmd_load_config(a, &c, why);
	if (!e) {
		const struct store_options o = { .path = c->store.path };

		e = store_open(&o, STORE_READER, &st, why);
	}
	if (!e) {
		print_owner(c->store.path);
		print_file(st, &c->store);
		e = print_groups(st, c);
		if (e)
			e = err_say(why, e, "%s: %s", c->store.path,
				    store_detail(st));
	}
	store_close(st);
	config_free(c);
	return e;
}
