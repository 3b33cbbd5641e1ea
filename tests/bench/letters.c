/*
 * A store with many dead letters: how long an operator waits, what that costs
 * live events, and whether a command's memory grows with the letters.  Each
 * figure is printed beside its budget; the exit status tells whether the
 * measurement worked, not what it found.
 */
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/gateway.h"
#include "../support/host.h"
#include "measure.h"

#define FEW	1000
#define MANY	100000
#define LIVE	20000
#define PAIRS	6
#define SETTLE_S 6	/* longer than an idle store takes to be written back */
#define TIMES	5	/* of which the middle one counts */

static const char schema[] = "CREATE TABLE effect (n INTEGER PRIMARY KEY,"
			     " id TEXT) STRICT;";
static const char handler[] = "INSERT INTO effect (id) VALUES (:event_id);";
static const char groups[] =
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n"
	"redelivery_horizon = 3h\nttl = 24h\nmax_dead = 200000 stop\n";

static void bury(struct gateway *g, int n)
{
	char path[128], sql[1024];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	snprintf(sql, sizeof(sql),
		 "PRAGMA synchronous = OFF; WITH RECURSIVE c(i) AS (VALUES (1)"
		 " UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
		 " INSERT INTO once_dead_letter (group_no, tenant, event_id,"
		 " key, fingerprint, recipe, kind, first_type, last_type,"
		 " attempts, redeliveries, state, first_seen_ms,"
		 " first_seen_wall_ms, dead_ms, dead_wall_ms, dead_sync, topic,"
		 " payload, payload_bytes, payload_hash, properties, qos,"
		 " retain) SELECT 1, '', 'b' || i, randomblob(16), random(), 1,"
		 " 'permanent', 'broken', 'broken', 1, 0, 'open', 0, 0, 0, 0,"
		 " 1, 't', CAST('{\"id\":\"b' || i || '\",\"x\":\"%080d\"}' AS"
		 " BLOB), 100, x'00', '[]', 1, 0 FROM c", n, 0);
	must(sqlite3_open(path, &db) == SQLITE_OK, "%s", path);
	must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
	     sqlite3_errmsg(db));
	sqlite3_close(db);
}

static struct gateway *make(int letters)
{
	struct gateway *g = gateway_new(&(struct gateway_options){
		.groups = groups, .schema = schema, .handler = handler });

	gateway_up(g);
	must(gateway_end(g, SIGTERM) == 0, "the daemon does not end in order");
	bury(g, letters);
	gateway_up(g);
	return g;
}

struct cost {
	double first_ms, all_ms, rss_mib;
};

/* Runs a command, reading what it says as fast as it comes. */
static struct cost command(struct gateway *g, char *args)
{
	char *argv[16] = { strdup(g->program) }, buf[4096], *save = NULL;
	struct rusage use;
	struct cost c = { 0 };
	int64_t from = now_us();
	int fds[2], status, n = 1;
	char *copy = strdup(args);
	pid_t pid;

	for (char *w = strtok_r(copy, " ", &save); w && n < 13;
	     w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	argv[n++] = (char[]){ "-c" };
	argv[n++] = g->conf;
	must(!pipe(fds), "pipe");
	pid = process_fork();
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		process_become(argv);
	}
	close(fds[1]);
	while (read(fds[0], buf, sizeof(buf)) > 0)
		if (!c.first_ms)
			c.first_ms = (double)(now_us() - from) / 1000;
	close(fds[0]);
	must(wait4(pid, &status, 0, &use) == pid && !status, "%s: status %d",
	     args, status);
	c.all_ms = (double)(now_us() - from) / 1000;
	c.rss_mib = (double)use.ru_maxrss / 1024;
	free(argv[0]);
	free(copy);
	return c;
}

static int by_first(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return (x->first_ms > y->first_ms) - (x->first_ms < y->first_ms);
}

static struct cost middle(struct gateway *g, char *args)
{
	struct cost c[TIMES];

	for (int i = 0; i < TIMES; i++)
		c[i] = command(g, args);
	qsort(c, TIMES, sizeof(*c), by_first);
	return c[TIMES / 2];
}

/* Events of a backlog, a second: what is queued while the daemon stands. */
static double live_rate(struct gateway *g, int from)
{
	static char text[LIVE][32];
	static const char *list[LIVE];
	char sql[128];
	int64_t at;

	for (int i = 0; i < LIVE; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"l%d\"}", from + i);
		list[i] = text[i];
	}
	kill(g->daemon, SIGSTOP);
	for (int i = 0; i < LIVE; i += 5000)
		gateway_publish(g, "t", list + i, 5000);
	at = now_us();
	kill(g->daemon, SIGCONT);
	snprintf(sql, sizeof(sql), "SELECT EXISTS (SELECT 1 FROM effect"
		 " WHERE n > (SELECT max(n) - 2000 FROM effect)"
		 " AND id = 'l%d')", from + LIVE - 1);
	gateway_wait(g, sql, 1, 60000);
	return LIVE / ((double)(now_us() - at) / 1e6);
}

static void figure(const char *what, double v, const char *unit, double budget,
		   bool at_most)
{
	printf("%-44s %9.2f %-5s %s %g%s\n", what, v, unit,
	       at_most ? "<=" : ">=", budget,
	       (at_most ? v <= budget : v >= budget) ? "" : "   MISSED");
	fflush(stdout);
}

/* What did not run yet is taken back, and what was written is in the file. */
static void end_job(struct gateway *g)
{
	char words[64];

	snprintf(words, sizeof(words), "job cancel %lld",
		 (long long)gateway_int(g, "SELECT max(id) FROM once_job"));
	command(g, words);
	sleep(SETTLE_S);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Pairs, one drain alone and one beside a replay of all that begins just
 * before.  The store grows and slows with each drain, so every other pair is
 * the other way round.
 */
static double beside_replay(struct gateway *g, int64_t *ret_replayed)
{
	double ratio[PAIRS], v[2];

	live_rate(g, 0);		/* warm */
	for (int i = 0; i < PAIRS; i++) {
		for (int j = 0; j < 2; j++) {
			bool replays = (i + j) % 2;

			if (replays)
				command(g, (char[]){ "dead replay --all --yes" });
			v[replays] = live_rate(g, (1 + 2 * i + j) * LIVE);
			if (replays)
				end_job(g);
		}
		ratio[i] = v[true] / v[false];
		printf("  %.0f/s against %.0f/s\n", v[true], v[false]);
	}
	*ret_replayed = gateway_int(g, "SELECT sum(done) FROM once_job");
	qsort(ratio, PAIRS, sizeof(*ratio), by_value);
	return ratio[PAIRS / 2];
}

int main(void)
{
	static char first[] = "dead list --ndjson --max 200";
	static char list[] = "dead list --ndjson", summary[] = "dead summary";
	struct gateway *g = make(FEW);
	struct cost few = middle(g, list), many;
	int64_t replayed;
	double ratio;

	gateway_free(g);
	g = make(MANY);
	figure("first page of dead list, 100,000 letters",
	       middle(g, first).all_ms, "ms", 50, true);
	figure("dead summary", middle(g, summary).all_ms, "ms", 1000, true);
	figure("status", middle(g, (char[]){ "status" }).all_ms, "ms", 50,
	       true);
	many = middle(g, list);
	figure("peak RSS of dead list, 100,000 against 1,000",
	       many.rss_mib / few.rss_mib, "x", 1.1, true);
	printf("  %.1f MiB; all of it in %.0f ms\n", many.rss_mib, many.all_ms);
	ratio = beside_replay(g, &replayed);
	figure("live events during dead replay --all", ratio, "x", 0.7, false);
	printf("  %lld letters replayed meanwhile\n", (long long)replayed);
	gateway_free(g);
	return 0;
}
