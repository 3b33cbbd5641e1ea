/* What only shows after restarts, changed settings, and years. */
#include "../support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"

#define TABLES                                                                 \
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, try INTEGER) "   \
	"STRICT;"                                                              \
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch "     \
	"VALUES (0);"
#define HANDLER                                                                \
	"INSERT INTO effect (id, try) VALUES (:event_id, :attempt);\n"         \
	"SELECT retry('broken') FROM switch WHERE broken;\n"
#define HEAD	    "[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n"
#define GROUP(more) HEAD "redelivery_horizon = 3h\nttl = 4h\n" more
#define HOUR_MS	    ((int64_t)3600 * 1000)

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static int setup_plain(void **state)
{
	*state = rig_new(TABLES, HANDLER,
			 GROUP("") "[group long]\nsubscribe = other\nid = "
				   "payload:$.id\nhandler = sql:@H\n"
				   "redelivery_horizon = 3h\nttl = 30d\n");
	return 0;
}

static void
a_ttl_raised_while_an_event_waits_does_not_stop_the_daemon(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	rig_retry_after(r, 5 * HOUR_MS); /* its marker has expired */
	rig_exec(r, "UPDATE switch SET broken = 1");
	rig_publish("t", "{\"id\":\"a\"}"); /* a new event again */
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 1);
	rig_exec(r, "UPDATE switch SET broken = 0");
	rig_stop(r);
	((struct group_config *)(uintptr_t)&r->config->groups[0])->ttl_ms =
		24 * HOUR_MS;
	rig_start(r);
	rig_retry_after(r, 10000);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 2);
}

/* An id that comes again each day, beside a group that remembers a month. */
static void a_marker_that_takes_an_expired_ones_place_is_counted_once(
	void **state)
{
	struct rig *r = *state;

	for (int day = 0; day < 5; day++) {
		rig_publish("t", "{\"id\":\"a\"}");
		rig_drain(r);
		rig_retry_after(r, 24 * HOUR_MS);
	}
	rig_stop(r);
	rig_start(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 5);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 1);
	assert_int_equal(rig_int(r, "SELECT sum(markers) FROM once_counter"),
			 1);
}

static int setup_fts(void **state)
{
	*state =
		rig_new("CREATE TABLE doc (id INTEGER PRIMARY KEY, body TEXT);"
			"CREATE VIRTUAL TABLE ft USING fts5 (body, "
			"content='doc', content_rowid='id');"
			"CREATE TABLE effect (id TEXT) STRICT;",
			"INSERT INTO effect VALUES (:event_id);\n"
			"INSERT INTO doc (body) VALUES (:payload ->> 'body');\n"
			"INSERT INTO ft (rowid, body) SELECT "
			"last_insert_rowid(), :payload ->> 'body';\n"
			"INSERT INTO ft (ft, rank) SELECT 'integrity-check', 1 "
			"WHERE :payload ->> 'check';\n"
			"DELETE FROM doc WHERE :payload ->> 'spoil';\n",
			GROUP(""));
	return 0;
}

static void fts5_works_in_a_handler(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\",\"body\":\"x y z\"}");
	rig_publish("t", "{\"id\":\"b\",\"body\":\"u v w\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 2);
	assert_int_equal(
		rig_int(r, "SELECT count(*) FROM ft WHERE ft MATCH 'v'"), 1);
}

static void a_corrupt_virtual_table_harms_only_its_event(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\",\"body\":\"x y z\",\"spoil\":1}");
	rig_drain(r);
	rig_publish("t", "{\"id\":\"b\",\"body\":\"u v w\",\"check\":1}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"),
			 1);
}

static int setup_props(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP(""));
	return 0;
}

static void
the_bytes_that_wait_are_counted_alike_before_and_after_a_restart(void **state)
{
	struct rig *r = *state;
	static char value[60000];
	int64_t before;
	const struct property p = { span_str("k"),
				    span_of(value, sizeof(value)) };
	const char *payload = "{\"id\":\"a\"}";
	const struct event ev = {
		.topic = span_str("t"),
		.payload = span_str(payload),
		.payload_bytes = strlen(payload),
		.qos = 1,
		.properties = &p,
		.properties_len = 1,
	};

	memset(value, 'v', sizeof(value));
	rig_exec(r, "UPDATE switch SET broken = 1");
	fake_publish(&ev);
	rig_drain(r);
	before = r->d.groups[0].pending_bytes;
	assert_int_equal(before, 60012);
	rig_restart(r);
	assert_int_equal(r->d.groups[0].pending_bytes, before);
	rig_exec(r, "UPDATE switch SET broken = 0");
	rig_retry_after(r, 5000);
	assert_int_equal(r->d.groups[0].pending_rows, 0);
	assert_int_equal(r->d.groups[0].pending_bytes, 0);
}

static int setup_off(void **state)
{
	*state = rig_new(TABLES, "SELECT reject('no');\n",
			 GROUP("dead_letter = off\n"));
	return 0;
}

static void dropped_events_leave_nothing_behind_for_ever(void **state)
{
	struct rig *r = *state;
	static char text[1000][32];

	for (int i = 0; i < 1000; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"e%d\"}", i);
		rig_publish("t", text[i]);
	}
	rig_drain(r);
	for (int i = 0; i < 400; i++) {
		fake_clock.boot_ms += HOUR_MS;
		assert_ok(maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms));
	}
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_attempt"), 0);
}

static void boots_of_a_minute_do_not_freeze_what_waits(void **state)
{
	struct rig *r = *state;
	static char id[30][16];

	((struct group_config *)(uintptr_t)&r->config->groups[0])
		->retry.initial_ms = 300000;
	((struct group_config *)(uintptr_t)&r->config->groups[0])
		->retry.max_ms = 300000;
	rig_exec(r, "UPDATE switch SET broken = 1");
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	rig_exec(r, "UPDATE switch SET broken = 0");
	for (int boot = 0; boot < 20; boot++) {
		rig_stop(r);
		snprintf(id[boot], sizeof(id[boot]), "boot-%d", boot);
		fake_clock.boot_id = id[boot];
		fake_clock.boot_ms = 1000;
		rig_start(r);
		for (int s = 0; s < 60; s++) {
			fake_clock.boot_ms += 1000;
			assert_ok(maintain_turn(&r->d.maintain, 0,
						fake_clock.boot_ms));
			assert_ok(retry_turn(&r->d.retry, fake_clock.boot_ms));
		}
	}
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_ttl_raised_while_an_event_waits_does_not_stop_the_daemon,
			setup_plain, teardown),
		cmocka_unit_test_setup_teardown(
			a_marker_that_takes_an_expired_ones_place_is_counted_once,
			setup_plain, teardown),
		cmocka_unit_test_setup_teardown(fts5_works_in_a_handler,
						setup_fts, teardown),
		cmocka_unit_test_setup_teardown(
			a_corrupt_virtual_table_harms_only_its_event, setup_fts,
			teardown),
		cmocka_unit_test_setup_teardown(
			the_bytes_that_wait_are_counted_alike_before_and_after_a_restart,
			setup_props, teardown),
		cmocka_unit_test_setup_teardown(
			dropped_events_leave_nothing_behind_for_ever, setup_off,
			teardown),
		cmocka_unit_test_setup_teardown(
			boots_of_a_minute_do_not_freeze_what_waits, setup_props,
			teardown),
	};

	return cmocka_run_group_tests_name("years", tests, NULL, NULL);
}
