/*
 * kill -9, again and again, at named points and at random, while events flow:
 * every event's effect is there exactly once, no acknowledged event is missing.
 */
#include "../support/gateway.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/test.h"

#define LANES	   2   /* gateways at work at the same time */
#define KILLS	   160 /* of each */
#define LATE_MS	   20000
#define EVENTS_MAX 1000000

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

static int refused(int events)
{
	return (events + 98) / 100;
}

/* Between the publisher and who asks it to end. */
struct shared {
	volatile bool stop;
	volatile int events, copies;
};

static uint32_t rng;

static uint32_t random_below(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return rng % n;
}

#define BURST 26

/* Events in order; three in ten come again, somewhere behind. */
static void publish_some(struct gateway *g, struct shared *s)
{
	static char text[BURST][80];
	const char *list[BURST];

	for (int n = 0; n < BURST; n++) {
		int i = s->events;

		if (i > 10 && s->copies * 10 < i * 3) {
			i -= 1 + (int)random_below(10);
			s->copies++;
		} else {
			s->events++;
		}
		snprintf(text[n], sizeof(text[n]),
			 "{\"id\":\"e%d\",\"k\":\"%s\"}", i, kind(i));
		list[n] = text[n];
	}
	gateway_publish(g, "t", list, BURST);
}

/* In a process of its own, so that events flow whatever happens. */
static pid_t start_publisher(struct gateway *g, struct shared *s)
{
	pid_t pid = process_fork();

	if (pid)
		return pid;
	while (!s->stop && s->events < EVENTS_MAX) {
		publish_some(g, s);
		sleep_ms(20);
	}
	_exit(0);
}

static const char *const points[] = {
	"read.after", "commit.before", "commit.after", "flush.after", "attempt",
};

/* An owner that dies without one event is no use to anybody (5 at most). */
static void wait_for_an_event(struct gateway *g)
{
	static const char count[] = "SELECT count(*) FROM once_marker";

	gateway_wait(g, count, gateway_int(g, count) + 1, LATE_MS);
}

/* One life of the daemon; true if it was killed. */
static bool live_and_die(struct gateway *g, int n)
{
	char env[64];

	if (n % 2) { /* at random: also while it starts */
		gateway_start(g, NULL);
		if (n % 4 == 1)
			wait_for_an_event(g);
		usleep(1000 + random_below(60000));
		return gateway_end(g, SIGKILL) == -SIGKILL;
	}
	snprintf(env, sizeof(env), "CRASH_AT=%s:%u",
		 points[(unsigned)n / 2 % ARRAY_LEN(points)],
		 1 + random_below(10));
	gateway_start(g, env);
	return gateway_wait_end(g, LATE_MS) == -SIGKILL;
}

static void assert_all_is_there_once(struct gateway *g, int events)
{
	int fine = events - refused(events);

	assert_int_equal(gateway_int(g, "SELECT count(*) FROM effect"), fine);
	assert_int_equal(
		gateway_int(g, "SELECT count(DISTINCT id) FROM effect"), fine);
	assert_int_equal(gateway_int(g, "SELECT n FROM total"), fine);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_marker"
					" WHERE state = 'done'"),
			 fine);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_dead_letter"
					" WHERE last_type = 'never'"),
			 refused(events));
	assert_int_equal(
		gateway_int(g, "SELECT count(*) FROM once_dead_letter"),
		refused(events));
}

static struct gateway *make(void)
{
	const char *crash = getenv("MQONCE_CRASH");
	struct gateway *g = gateway_new(
		&(struct gateway_options){ .groups = GROUP,
					   .schema = SCHEMA,
					   .handler = HANDLER,
					   .broker = "reconnect_max = 1s\n" });

	gateway_up(g); /* the session exists before the first event */
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	g->program = crash ? crash : "build/host/mqonce-crash";
	return g;
}

static void finish(struct gateway *g, int events)
{
	gateway_up(g);
	gateway_wait(g, "SELECT count(DISTINCT id) FROM effect",
		     events - refused(events), 60000);
	gateway_wait(g, "SELECT count(*) = 0 FROM once_pending", 1, 60000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_all_is_there_once(g, events);
}

static void die_again_and_again(void)
{
	struct gateway *g = make();
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t publisher;
	int kills = 0, status;

	assert_true(s != MAP_FAILED);
	publisher = start_publisher(g, s);
	for (int n = 0; n < KILLS; n++)
		kills += live_and_die(g, n);
	s->stop = true;
	assert_int_equal(waitpid(publisher, &status, 0), publisher);
	assert_int_equal(status, 0);
	finish(g, s->events);
	print_message("killed %d times, %d events and %d copies\n", kills,
		      s->events, s->copies);
	assert_int_equal(kills, KILLS);
	munmap(s, sizeof(*s));
	gateway_free(g);
}

static void seed(void)
{
	const char *given = getenv("SEED");

	rng = given ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)time(NULL);
	rng |= 1;
	print_message("SEED=%u\n", rng);
}

static void a_lane(void **state UNUSED)
{
	die_again_and_again();
}

/* Each lane is a run of its own, so that what fails in it is told there. */
static pid_t start_lane(int n)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_lane) };
	pid_t pid = process_fork();

	if (pid)
		return pid;
	rng += 2 * (uint32_t)n;
	exit(cmocka_run_group_tests_name("lane", tests, NULL, NULL));
}

static void every_effect_is_there_exactly_once(void **state UNUSED)
{
	pid_t lanes[LANES];
	int status, failed = 0;

	seed();
	for (int n = 0; n < LANES; n++)
		lanes[n] = start_lane(n);
	for (int n = 0; n < LANES; n++) {
		assert_int_equal(waitpid(lanes[n], &status, 0), lanes[n]);
		failed += status != 0;
	}
	assert_int_equal(failed, 0);
}

/* Asked to end at a point, it does so in order. */
static void a_stop_at_any_point_loses_and_doubles_nothing(void **state UNUSED)
{
	struct gateway *g = make();
	struct shared s = { 0 };
	char env[64];

	for (unsigned i = 0; i < 3 * ARRAY_LEN(points); i++) {
		snprintf(env, sizeof(env), "CRASH_AT=%s:%u:TERM",
			 points[i % ARRAY_LEN(points)],
			 1 + i / (unsigned)ARRAY_LEN(points));
		gateway_start(g, env);
		/* What is in flight when the end comes, and what is not. */
		for (int n = 0; n < 200 && process_runs(g->daemon); n++)
			publish_some(g, &s);
		assert_int_equal(gateway_wait_end(g, LATE_MS), 0);
	}
	finish(g, s.events);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_effect_is_there_exactly_once),
		cmocka_unit_test(a_stop_at_any_point_loses_and_doubles_nothing),
	};

	return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
