/*
 * What must hold with any broker, against the one that BROKER starts; PROTOCOL
 * says how it is spoken to.  Lines that begin with "fact" say what it does in
 * its own way; the manual has them as a table.
 */
#include "../support/gateway.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/test.h"

#define SCHEMA	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);"			\
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later'"	\
	" AND :attempt = 1;"
#define GROUP								\
	"[group g]\nsubscribe = t/#\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define EFFECTS "SELECT count(*) FROM effect"
#define ONCE	"SELECT count(DISTINCT id) FROM effect"
#define WAIT_MS 30000

static struct gateway *g;
static char lines[128];	/* of [broker] */

static int setup(void **state UNUSED)
{
	const char *protocol = getenv("PROTOCOL");

	snprintf(lines, sizeof(lines), "protocol = %s\nreconnect_max = 1s\n",
		 protocol ? protocol : "3.1.1");
	g = gateway_new(&(struct gateway_options){ .broker = lines,
						   .groups = GROUP,
						   .schema = SCHEMA,
						   .handler = HANDLER });
	return 0;
}

static int end(void **state UNUSED)
{
	gateway_free(g);
	return 0;
}

static void publish(int from, int to)
{
	static char text[2000][64];
	const char *list[2000];

	for (int i = from; i < to; i++) {
		snprintf(text[i - from], sizeof(text[0]), "{\"id\":\"e%d\"}",
			 i);
		list[i - from] = text[i - from];
	}
	gateway_publish(g, "t/1", list, (unsigned)(to - from));
}

/* What comes before SUBACK is nobody's; some brokers take a moment. */
static void up(void)
{
	gateway_up(g);
	sleep(1);
}

/* In whatever order they come. */
static void wait_received(int n)
{
	static char out[1 << 16];
	char want[64];

	snprintf(want, sizeof(want), "\"received\":%d,", n);
	for (int i = 0; i < WAIT_MS / 100; i++) {
		assert_int_equal(gateway_command(g, out, sizeof(out),
						 "status --json"), 0);
		if (strstr(out, want))
			return;
		usleep(100000);
	}
	fail_msg("not %d events: %s", n, out);
}

static int64_t suppressed(void)
{
	return gateway_int(g, "SELECT suppressed_done + suppressed_pending"
			      " FROM once_counter WHERE group_no > 0");
}

static void each_once(int n)
{
	gateway_wait(g, EFFECTS, n, WAIT_MS);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, EFFECTS), n);
	assert_int_equal(gateway_int(g, ONCE), n);
}

static void an_event_takes_effect_once_and_is_acknowledged(void **state UNUSED)
{
	up();
	publish(0, 300);
	publish(0, 300);
	publish(300, 301);
	wait_received(601);
	each_once(301);
	assert_int_equal(suppressed(), 300);
	up();
	publish(301, 302);
	each_once(302);
	printf("fact: %lld of 302 acknowledged events came again\n",
	       (long long)suppressed() - 300);
}

static void what_is_published_while_it_is_away_arrives_later(
	void **state UNUSED)
{
	up();
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	publish(0, 1000);
	up();
	each_once(1000);
	printf("fact: the session is %s at the second connect\n",
	       gateway_logged(g, "session_present=1") ? "present" : "not"
	       " said to be present");
}

static void a_killed_daemon_gets_its_events_again(void **state UNUSED)
{
	up();
	for (int i = 0; i < 5; i++) {
		publish(i * 400, (i + 1) * 400);
		gateway_end(g, SIGKILL);
		up();
	}
	each_once(2000);
	printf("fact: %lld copies came after five kills\n",
	       (long long)suppressed());
}

static void a_killed_broker_is_connected_to_again(void **state UNUSED)
{
	up();
	publish(0, 100);
	gateway_wait(g, EFFECTS, 100, WAIT_MS);
	gateway_broker_end(g, SIGKILL);
	gateway_broker_start(g);
	gateway_wait_log(g, "link.up", 2, WAIT_MS);
	publish(100, 101);
	each_once(101);
	printf("fact: killed, the broker %s its sessions\n",
	       gateway_logged(g, "session.lost") ? "loses" : "keeps");
}

static void a_retry_waits_for_no_redelivery(void **state UNUSED)
{
	const char *list[] = { "{\"id\":\"r\",\"k\":\"later\"}",
			       "{\"id\":\"s\"}" };

	up();
	gateway_publish(g, "t/1", list, 2);
	each_once(2);
	assert_int_equal(gateway_logged(g, "link.up"), 1);
}

/* Longer than any of them waits before it sends again. */
static void what_is_sent_again_meanwhile_has_one_effect(void **state UNUSED)
{
	sqlite3 *other = NULL;
	char path[128];

	up();
	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	sqlite3_busy_timeout(other, 5000);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL,
				      NULL), SQLITE_OK);
	publish(0, 10);
	sleep(12);
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(other);
	gateway_wait(g, EFFECTS, 10, WAIT_MS);
	sleep(1);
	each_once(10);
	printf("fact: %lld copies of 10 events came on a connection that lived,"
	       " in 12 s\n", (long long)suppressed());
}

static void two_clients_of_one_id_are_told_so(void **state UNUSED)
{
	struct gateway *h = gateway_new(&(struct gateway_options){
		.no_broker = true, .port = g->port, .groups = GROUP,
		.broker = lines, .schema = SCHEMA, .handler = HANDLER });

	up();
	gateway_start(h, NULL);
	for (int i = 0; i < 600 && !gateway_logged(g, "link.takeover") &&
			!gateway_logged(h, "link.takeover"); i++)
		usleep(50000);
	printf("fact: a takeover is %stold\n",
	       gateway_logged(g, "another client connected") +
			       gateway_logged(h, "another client connected")
		       ? "" : "not ");
	assert_true(gateway_logged(g, "link.takeover") +
		    gateway_logged(h, "link.takeover") > 0);
	gateway_free(h);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, end)
	const struct CMUnitTest tests[] = {
		T(an_event_takes_effect_once_and_is_acknowledged),
		T(what_is_published_while_it_is_away_arrives_later),
		T(a_killed_daemon_gets_its_events_again),
		T(a_killed_broker_is_connected_to_again),
		T(a_retry_waits_for_no_redelivery),
		T(what_is_sent_again_meanwhile_has_one_effect),
		T(two_clients_of_one_id_are_told_so),
	};

	return cmocka_run_group_tests_name("broker", tests, NULL, NULL);
}
