/* The real program against a real mosquitto, both protocol versions. */
#include "../support/gateway.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../support/test.h"

#define SCHEMA	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER "INSERT INTO effect (id) VALUES (:event_id);"
#define GROUP                                                                  \
	"[group g]\nsubscribe = t/#\nid = payload:$.id\nhandler = sql:@H\n"    \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define EFFECTS "SELECT count(*) FROM effect"
#define ONCE	"SELECT count(DISTINCT id) FROM effect"

static const char *protocol; /* line for [broker] */

static struct gateway *make(const char *mosquitto, const char *broker)
{
	char lines[256];

	snprintf(lines, sizeof(lines), "%s%s", protocol, broker);
	return gateway_new(&(struct gateway_options){ .mosquitto = mosquitto,
						      .broker = lines,
						      .groups = GROUP,
						      .schema = SCHEMA,
						      .handler = HANDLER });
}

/* Events with the ids from..to-1. */
static void publish(struct gateway *g, int from, int to)
{
	static char text[2000][64];
	const char *list[2000];

	assert_true(to - from <= 2000);
	for (int i = from; i < to; i++) {
		snprintf(text[i - from], sizeof(text[0]), "{\"id\":\"e%d\"}",
			 i);
		list[i - from] = text[i - from];
	}
	gateway_publish(g, "t/1", list, (unsigned)(to - from));
}

static void an_event_takes_effect_once_and_is_acknowledged(void **state UNUSED)
{
	struct gateway *g = make("", "");

	gateway_up(g);
	publish(g, 0, 300);
	publish(g, 0, 300);
	publish(g, 300, 301); /* is there once all copies were read */
	gateway_wait(g, EFFECTS, 301, 10000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, EFFECTS), 301);
	assert_int_equal(gateway_int(g, "SELECT suppressed_done"
					" FROM once_counter"),
			 300);
	/* Nothing is left unacknowledged: nothing comes again. */
	gateway_up(g);
	publish(g, 301, 302);
	gateway_wait(g, EFFECTS, 302, 10000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, "SELECT received FROM once_counter"),
			 602);
	gateway_free(g);
}

static void
what_is_published_while_it_is_away_arrives_later(void **state UNUSED)
{
	struct gateway *g = make("", "");

	gateway_up(g);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	publish(g, 0, 10);
	gateway_up(g);
	gateway_wait(g, EFFECTS, 10, 10000);
	assert_int_equal(gateway_logged(g, "session_present=1"), 1);
	gateway_free(g);
}

static void a_broker_that_forgot_the_session_is_noticed(void **state UNUSED)
{
	struct gateway *g = make("", "reconnect_max = 1s\n");

	gateway_up(g);
	gateway_broker_end(g, SIGKILL);
	gateway_broker_start(g);
	gateway_wait_log(g, "link.up", 2, 20000);
	assert_int_equal(gateway_logged(g, "session.lost"), 1);
	publish(g, 0, 1);
	gateway_wait(g, EFFECTS, 1, 10000);
	gateway_wait(g,
		     "SELECT sessions_lost FROM once_counter"
		     " WHERE group_no = 0",
		     1, 10000);
	gateway_free(g);
}

static void what_a_crashed_broker_repeats_is_suppressed(void **state UNUSED)
{
	struct gateway *g = make("persistence true\npersistence_location @D/\n"
				 "autosave_interval 1\n"
				 "autosave_on_changes true\n",
				 "reconnect_max = 1s\n");

	gateway_up(g);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	publish(g, 0, 100); /* saved with the queue full */
	gateway_broker_end(g, SIGTERM);
	gateway_broker_start(g);
	{
		char command[256];

		snprintf(command, sizeof(command),
			 "cp %s/mosquitto.db %s/old.db", g->dir, g->dir);
		assert_int_equal(system(command), 0);
		gateway_up(g);
		gateway_wait(g, EFFECTS, 100, 10000);
		/* It dies and comes back with the state from before. */
		gateway_broker_end(g, SIGKILL);
		snprintf(command, sizeof(command),
			 "cp %s/old.db %s/mosquitto.db", g->dir, g->dir);
		assert_int_equal(system(command), 0);
	}
	gateway_broker_start(g);
	gateway_wait_log(g, "link.up", 3, 20000);
	publish(g, 100, 101);
	gateway_wait(g, EFFECTS, 101, 10000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, EFFECTS), 101);
	assert_int_equal(gateway_int(g, "SELECT suppressed_done"
					" FROM once_counter"),
			 100);
	gateway_free(g);
}

static void
a_lock_held_for_longer_than_the_keepalive_loses_nothing(void **state UNUSED)
{
	struct gateway *g = make("", "keepalive = 5s\nreconnect_max = 2s\n");
	char path[128];
	sqlite3 *other;
	int64_t received;

	gateway_up(g);
	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	sqlite3_busy_timeout(other, 5000);
	assert_int_equal(
		sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL),
		SQLITE_OK);
	publish(g, 0, 1000);
	sleep(30);
	assert_int_equal(gateway_int(g, EFFECTS), 0);
	received = gateway_int(g, "SELECT count(*) FROM once_marker");
	assert_int_equal(received, 0);
	assert_true(gateway_logged(g, "ingest.stopped") > 0);
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(other);
	gateway_wait(g, EFFECTS, 1000, 20000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, EFFECTS), 1000);
	assert_int_equal(gateway_int(g, ONCE), 1000);
	gateway_free(g);
}

static void a_second_owner_is_refused_and_told_the_pid(void **state UNUSED)
{
	struct gateway *g = make("", "");
	char out[512], pid[32];

	gateway_up(g);
	snprintf(pid, sizeof(pid), "pid %d", (int)g->daemon);
	assert_int_equal(gateway_command(g, out, sizeof(out), "run"), 75);
	assert_non_null(strstr(out, pid));
	gateway_free(g);
}

static void two_clients_of_one_id_are_told_so(void **state UNUSED)
{
	struct gateway *g = make("", "reconnect_max = 1s\n");
	struct gateway *h = gateway_new(
		&(struct gateway_options){ .no_broker = true,
					   .port = g->port,
					   .groups = GROUP,
					   .broker = "reconnect_max = 1s\n",
					   .schema = SCHEMA,
					   .handler = HANDLER });

	gateway_up(g);
	gateway_start(h, NULL);
	/* They kick each other until one of them says why. */
	for (int i = 0; i < 600 && !gateway_logged(g, "link.takeover") &&
			!gateway_logged(h, "link.takeover");
	     i++)
		usleep(50000);
	assert_true(gateway_logged(g, "link.takeover") +
			    gateway_logged(h, "link.takeover") >
		    0);
	assert_true(gateway_logged(g, "client_id=gw") > 0);
	gateway_free(h);
	gateway_free(g);
}

/* A shared filter, for the client @id at the broker on @port. */
static void share(struct gateway *g, const char *id, int port)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "[store]\npath = @D/store/s.db\nschema = @D/s.sql\n"
		 "[broker]\nurl = mqtt://127.0.0.1:%d\nclient_id = %s\n"
		 "session_expiry = 1h\n%s[group g]\nsubscribe = $share/s/t/#\n"
		 "id = payload:$.id\nhandler = sql:@H\n"
		 "redelivery_horizon = 3h\nttl = 24h\n",
		 port, id, protocol);
	gateway_file(g, "mqonce.conf", text);
	gateway_file(g, "h.sql",
		     "INSERT INTO effect (id) VALUES (:event_id);"
		     "SELECT reject('topic') WHERE :topic <> 't/1';");
}

static void wait_both(struct gateway *g, struct gateway *h, int64_t want)
{
	for (int i = 0; i < 1000; i++) {
		if (gateway_int(g, EFFECTS) + gateway_int(h, EFFECTS) >= want)
			break;
		usleep(20000);
	}
	assert_int_equal(gateway_int(g, EFFECTS) + gateway_int(h, EFFECTS),
			 want);
}

/* A share may be sent to a peer that is away: it waits for that peer. */
static void a_share_of_an_offline_peer_is_not_lost(void **state UNUSED)
{
	struct gateway *g = make("", "");
	struct gateway *h =
		gateway_new(&(struct gateway_options){ .no_broker = true,
						       .port = g->port,
						       .groups = GROUP,
						       .schema = SCHEMA,
						       .handler = HANDLER });
	static char out[8192];

	share(g, "gw-a", g->port);
	share(h, "gw-b", g->port);
	gateway_up(g);
	gateway_up(h);
	publish(g, 0, 200);
	wait_both(g, h, 200);
	assert_true(gateway_int(g, EFFECTS) > 0 && gateway_int(h, EFFECTS) > 0);
	assert_int_equal(gateway_end(h, SIGKILL), -SIGKILL);
	publish(g, 200, 400);
	gateway_up(h);
	wait_both(g, h, 400);
	/* No $share in the topic that the handler saw. */
	assert_int_equal(gateway_int(g, "SELECT count(*)"
					" FROM once_dead_letter"),
			 0);
	assert_int_equal(gateway_command(g, out, sizeof(out), "check"), 0);
	assert_non_null(strstr(out, "is shared"));
	gateway_free(h);
	gateway_free(g);
}

/* Our retries hold no PUBACK, so they fill nobody's queue. */
static void what_waits_here_does_not_fill_the_brokers_queue(void **state UNUSED)
{
	struct gateway *g = make("max_queued_messages 100\n", "");

	gateway_file(g, "h.sql",
		     "INSERT INTO effect (id) VALUES (:event_id);"
		     "SELECT retry('later') WHERE :attempt = 1"
		     " AND :event_id LIKE '%0';");
	gateway_up(g);
	for (int i = 0; i < 500; i += 50)
		publish(g, i, i + 50);
	gateway_wait(g, EFFECTS, 500, 20000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, ONCE), 500);
	gateway_free(g);
}

/* What a broker drops is outside the promise; nothing else is touched. */
static void
a_broker_drops_above_its_limit_and_what_it_kept_is_there(void **state UNUSED)
{
	/* Twenty in flight at most, a hundred behind them. */
	struct gateway *g = make("max_queued_messages 100\n",
				 "keepalive = 5s\n[limits]\nbatch = 20\n");
	static char out[8192];
	char path[128];
	sqlite3 *other;
	int64_t kept;

	gateway_up(g);
	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	sqlite3_busy_timeout(other, 5000);
	assert_int_equal(
		sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL),
		SQLITE_OK);
	publish(g, 0, 500);
	sleep(7); /* away by now: longer than the keepalive */
	sqlite3_close(other);
	gateway_wait(g, EFFECTS, 100, 20000);
	publish(g, 500, 501);
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'e500'", 1,
		     20000);
	kept = gateway_int(g, EFFECTS);
	print_message("%lld of 500 were kept\n", (long long)kept - 1);
	assert_int_equal(gateway_int(g, ONCE), kept);
	assert_in_range(kept, 101, 400);
	assert_int_equal(gateway_command(g, out, sizeof(out), "check"), 0);
	assert_non_null(strstr(out, "itself loses"));
	gateway_free(g);
}

/* A removed filter's events are acknowledged, and the filter is taken back. */
static void a_filter_no_longer_configured_is_unsubscribed(void **state UNUSED)
{
	struct gateway *g = make("", "");
	static const char *const one[] = { "{\"id\":\"x\"}" };
	char text[1024];

	gateway_up(g);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	snprintf(text, sizeof(text),
		 "[store]\npath = @D/store/s.db\n"
		 "schema = @D/s.sql\n[broker]\nurl = mqtt://127.0.0.1:@P\n"
		 "client_id = gw\nsession_expiry = 1h\n%s"
		 "[group g]\nsubscribe = other\nid = payload:$.id\n"
		 "handler = sql:@H\nredelivery_horizon = 3h\nttl = 24h\n",
		 protocol);
	gateway_file(g, "mqonce.conf", text);
	gateway_publish(g, "t/1", one, 1); /* waits in the old filter */
	gateway_up(g);
	assert_int_equal(gateway_logged(g, "link.unsubscribe"), 1);
	gateway_publish(g, "other", one, 1);
	gateway_wait(g, EFFECTS, 1, 10000);
	gateway_publish(g, "t/1", one, 1); /* nobody wants it any more */
	gateway_publish(g, "other", (const char *const[]){ "{\"id\":\"y\"}" },
			1);
	gateway_wait(g, EFFECTS, 2, 10000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, "SELECT unmatched FROM once_counter"
					" WHERE group_no = 0"),
			 1);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_filter"), 1);
	gateway_free(g);
}

static void
a_reload_takes_the_new_configuration_and_keeps_a_good_one(void **state UNUSED)
{
	struct gateway *g = make("", "");

	gateway_up(g);
	gateway_file(g, "h.sql",
		     "INSERT INTO effect (id)"
		     " VALUES ('new-' || :event_id);");
	kill(g->daemon, SIGHUP);
	gateway_wait_log(g, "link.up", 2, 10000);
	publish(g, 0, 1);
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'new-e0'", 1,
		     10000);
	gateway_file(g, "mqonce.conf", "[store]\npth = x\n");
	kill(g->daemon, SIGHUP);
	gateway_wait_log(g, "config.reload", 1, 10000);
	publish(g, 1, 2);
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'new-e1'", 1,
		     10000);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_event_takes_effect_once_and_is_acknowledged),
		cmocka_unit_test(
			what_is_published_while_it_is_away_arrives_later),
		cmocka_unit_test(a_broker_that_forgot_the_session_is_noticed),
		cmocka_unit_test(what_a_crashed_broker_repeats_is_suppressed),
		cmocka_unit_test(a_filter_no_longer_configured_is_unsubscribed),
		cmocka_unit_test(a_second_owner_is_refused_and_told_the_pid),
	};
	const struct CMUnitTest once[] = {
		cmocka_unit_test(two_clients_of_one_id_are_told_so),
		cmocka_unit_test(a_share_of_an_offline_peer_is_not_lost),
		cmocka_unit_test(
			what_waits_here_does_not_fill_the_brokers_queue),
		cmocka_unit_test(
			a_broker_drops_above_its_limit_and_what_it_kept_is_there),
		cmocka_unit_test(
			a_reload_takes_the_new_configuration_and_keeps_a_good_one),
		cmocka_unit_test(
			a_lock_held_for_longer_than_the_keepalive_loses_nothing),
	};
	int failed;

	protocol = "protocol = 5\n";
	failed = cmocka_run_group_tests_name("gateway, MQTT 5", tests, NULL,
					     NULL);
	failed += cmocka_run_group_tests_name("gateway", once, NULL, NULL);
	protocol = "protocol = 3.1.1\n";
	failed += cmocka_run_group_tests_name("gateway, MQTT 3.1.1", tests,
					      NULL, NULL);
	return failed;
}
