/*
 * kill -9, again and again, at named points and at random, while events flow:
 * every event's effect is there exactly once, no acknowledged event is missing.
 */
#include "../support/gateway.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/test.h"

#define EVENTS 5000
#define COPIES 1500 /* 30 % of them come twice */
#define KILLS  40

/* An effect that counts, one that is a row, and one that fails the first time.
 */
#define SCHEMA                                                                 \
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"         \
	"CREATE TABLE total (one INTEGER PRIMARY KEY, n INTEGER) STRICT;"      \
	"INSERT INTO total VALUES (1, 0);"
#define HANDLER                                                                \
	"INSERT INTO effect (id) VALUES (:event_id);"                          \
	"UPDATE total SET n = n + 1;"                                          \
	"SELECT retry('first_time') WHERE :attempt = 1"                        \
	" AND :payload ->> 'k' = 'later';"                                     \
	"SELECT reject('never') WHERE :payload ->> 'k' = 'never';"
#define GROUP                                                                  \
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n"      \
	"redelivery_horizon = 3h\nttl = 24h\n"

/* Every 50th waits for its second attempt, every 100th + 1 is refused. */
static const char *kind(int i)
{
	return i % 50 == 0 ? "later" : i % 100 == 1 ? "never" : "fine";
}

#define FINE (EVENTS - EVENTS / 100) /* all but the refused */

static uint32_t rng;

static uint32_t random_below(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return rng % n;
}

/* In a process of its own: events in order, copies somewhere behind them. */
static pid_t start_publisher(struct gateway *g)
{
	static char text[64][80];
	const char *list[64];
	pid_t pid = process_fork();
	int next = 0, copies = 0;

	if (pid)
		return pid;
	while (next < EVENTS) {
		unsigned n = 0;

		while (n < 60 && next < EVENTS) {
			int i = next;

			if (copies < COPIES && next > 10 &&
			    copies * 10 < next * 3) {
				i = next - 1 - (int)random_below(10);
				copies++;
			} else {
				next++;
			}
			snprintf(text[n], sizeof(text[n]),
				 "{\"id\":\"e%d\",\"k\":\"%s\"}", i, kind(i));
			list[n] = text[n];
			n++;
		}
		gateway_publish(g, "t", list, n);
		usleep(20000);
	}
	_exit(copies == COPIES ? 0 : 1);
}

static const char *const points[] = {
	"read.after", "commit.before", "commit.after", "flush.after", "attempt",
};

/* One life of the daemon; true if it was killed. */
static bool live_and_die(struct gateway *g, int n)
{
	char env[64];

	if (n % 2) { /* at random: also while it starts */
		gateway_start(g, NULL);
		usleep(1000 + random_below(150000));
		return gateway_end(g, SIGKILL) == -SIGKILL;
	}
	snprintf(env, sizeof(env), "CRASH_AT=%s:%u",
		 points[(unsigned)n / 2 % ARRAY_LEN(points)],
		 1 + random_below(20));
	gateway_start(g, env);
	/* The point may be out of reach once the events are all there. */
	for (int i = 0; i < 300; i++) {
		if (gateway_ended(g))
			return true;
		usleep(10000);
	}
	return gateway_end(g, SIGKILL) == -SIGKILL;
}

static void every_effect_is_there_exactly_once(void **state UNUSED)
{
	const char *seed = getenv("SEED"), *crash = getenv("MQONCE_CRASH");
	struct gateway *g = gateway_new(
		&(struct gateway_options){ .groups = GROUP,
					   .schema = SCHEMA,
					   .handler = HANDLER,
					   .broker = "reconnect_max = 1s\n" });
	pid_t publisher;
	int kills = 0, status;

	rng = seed ? (uint32_t)strtoul(seed, NULL, 10) : (uint32_t)time(NULL);
	rng |= 1;
	print_message("SEED=%u\n", rng);
	gateway_up(g); /* the session exists before the first event */
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	g->program = crash ? crash : "build/host/mqonce-crash";

	publisher = start_publisher(g);
	for (int n = 0; n < KILLS; n++)
		kills += live_and_die(g, n);
	print_message("killed %d times, %lld effects so far\n", kills,
		      (long long)gateway_int(g, "SELECT count(*) FROM effect"));
	assert_true(kills >= 20);
	gateway_up(g);
	assert_int_equal(waitpid(publisher, &status, 0), publisher);
	assert_int_equal(status, 0);
	gateway_wait(g, "SELECT count(DISTINCT id) FROM effect", FINE, 60000);
	gateway_wait(g, "SELECT count(*) = 0 FROM once_pending", 1, 60000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);

	assert_int_equal(gateway_int(g, "SELECT count(*) FROM effect"), FINE);
	assert_int_equal(gateway_int(g, "SELECT n FROM total"), FINE);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_marker"
					" WHERE state = 'done'"),
			 FINE);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_dead_letter"
					" WHERE last_type = 'never'"),
			 EVENTS / 100);
	assert_int_equal(
		gateway_int(g, "SELECT count(*) FROM once_dead_letter"),
		EVENTS / 100);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_effect_is_there_exactly_once),
	};

	return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
