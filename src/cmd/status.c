/* What the store and its owner say, without disturbing either. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cmd.h"
#include "store/counter.h"
#include "store/group.h"
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

static void print_file(struct store *st, const char *path)
{
	char size[PARSE_TEXT_SIZE], wal[PARSE_TEXT_SIZE];
	struct store_stats s;

	store_stats(st, &s);
	printf("store       %s, %s, wal %s\n", path,
	       size_text(size, s.file_bytes), size_text(wal, s.wal_bytes));
}

static void print_counters(const struct counters *c)
{
	int64_t dead = c->dead_permanent + c->dead_poison + c->dead_conflict +
		       c->dead_exhausted + c->dead_crash_loop;

	printf("  received    %" PRId64 "\n  done        %" PRId64 "\n",
	       c->received, c->done);
	printf("  suppressed  %" PRId64 " (done %" PRId64 ", pending %" PRId64
	       ", dead %" PRId64 ")\n",
	       c->suppressed_done + c->suppressed_pending + c->suppressed_dead,
	       c->suppressed_done, c->suppressed_pending, c->suppressed_dead);
	printf("  attempts    ok %" PRId64 ", transient %" PRId64
	       ", permanent %" PRId64 ", poison %" PRId64 "\n",
	       c->attempts_ok, c->attempts_transient, c->attempts_permanent,
	       c->attempts_poison);
	printf("  dead        %" PRId64 " (permanent %" PRId64 ", poison %" PRId64
	       ", conflict %" PRId64 ", exhausted %" PRId64 ")\n",
	       dead, c->dead_permanent, c->dead_poison, c->dead_conflict,
	       c->dead_exhausted);
	if (c->dropped)
		printf("  dropped     %" PRId64 " (dead_letter = off)\n",
		       c->dropped);
	if (c->retained)
		printf("  retained    %" PRId64 " copies left alone\n",
		       c->retained);
}

static enum err print_group(struct store *st, const struct group_record *g,
			    const char *name)
{
	struct counters c;
	int64_t rows = 0, bytes = 0;
	char size[PARSE_TEXT_SIZE];
	enum err e = counter_get(st, g->group_no, &c);

	if (!e)
		e = pending_totals(st, g->group_no, &rows, &bytes);
	if (e)
		return e;
	printf("\ngroup %s\n", name);
	print_counters(&c);
	printf("  pending     %" PRId64 " (%s)\n", rows,
	       size_text(size, bytes));
	return OK;
}

static enum err print_groups(struct store *st, const struct config *c)
{
	struct counters strays;
	enum err e = OK;

	for (unsigned i = 0; !e && i < c->groups_len; i++) {
		struct group_record g;

		e = group_find(st, c->groups[i].name, &g);
		if (e == ERR_NO) {
			printf("\ngroup %s\n  not run yet\n",
			       c->groups[i].name);
			e = OK;
		} else if (!e) {
			e = print_group(st, &g, c->groups[i].name);
		}
	}
	if (!e)
		e = counter_get(st, COUNTER_NO_GROUP, &strays);
	if (!e)
		printf("\nunmatched   %" PRId64 "\nsessions lost %" PRId64 "\n",
		       strays.unmatched, strays.sessions_lost);
	return e;
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
		print_file(st, c->store.path);
		e = print_groups(st, c);
		if (e)
			e = err_say(why, e, "%s: %s", c->store.path,
				    store_detail(st));
	}
	store_close(st);
	config_free(c);
	return e;
}
