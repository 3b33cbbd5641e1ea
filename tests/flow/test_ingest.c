#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "../../src/store/database.h"

#define TABLE	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, body TEXT) STRICT;"
#define HANDLER	"INSERT INTO effect (id, body) VALUES (:event_id, :payload);"
#define GROUP(name, more)						\
	"[group " name "]\nsubscribe = t/#\nid = payload:$.id\n"	\
	"fingerprint = payload\nhandler = sql:@H\n"			\
	"redelivery_horizon = 3h\nttl = 24h\n" more

static int setup(void **state)
{
	*state = rig_new(TABLE, HANDLER, GROUP("g", ""));
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static int64_t effects(struct rig *r)
{
	return rig_int(r, "SELECT count(*) FROM effect");
}

static void an_event_is_committed_then_acknowledged(void **state)
{
	struct rig *r = *state;

	rig_publish("t/1", "{\"id\":\"a\"}");
	rig_publish("t/1", "{\"id\":\"b\"}");
	rig_drain(r);
	assert_int_equal(effects(r), 2);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 2);
	assert_int_equal(fake_broker.acked_len, 2);
}

static struct rig *watched;
static int64_t effects_at_flush;

static void count_effects(void)
{
	effects_at_flush = effects(watched);
}

/* I1: another connection sees the effect before the PUBACK leaves. */
static void the_commit_comes_before_the_acknowledgement(void **state)
{
	watched = *state;
	effects_at_flush = -1;
	fake_broker.on_flush = count_effects;
	rig_publish("t/1", "{\"id\":\"a\"}");
	rig_drain(watched);
	assert_int_equal(effects_at_flush, 1);
}

static bool is_locked(void)
{
	return store_in_transaction(watched->d.store);
}

static void nothing_is_read_without_the_lock(void **state)
{
	struct rig *r = watched = *state;
	sqlite3 *other;
	char path[128];

	fake_broker.on_read = is_locked;
	rig_publish("t/1", "{\"id\":\"a\"}");
	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL,
				      NULL), SQLITE_OK);
	assert_err(rig_turn(r), ERR_BUSY);
	assert_int_equal(fake_broker.reads, 0);
	assert_int_equal(fake_broker.owed, 0);
	assert_non_null(r->d.ingest.link);
	sqlite3_close(other);
	rig_drain(r);
	assert_true(fake_broker.locked_read);
	assert_int_equal(effects(r), 1);
}

static void one_id_twice_in_a_batch_has_one_effect_and_two_acknowledgements(
	void **state)
{
	struct rig *r = *state;

	rig_publish("t/1", "{\"id\":\"a\"}");
	rig_publish("t/1", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(effects(r), 1);
	assert_int_equal(fake_broker.acked_len, 2);
	assert_int_equal(r->d.groups[0].unsaved.suppressed_done, 0);
	assert_int_equal(rig_int(r, "SELECT suppressed_done FROM once_counter"),
			 1);
}

static void a_lost_connection_keeps_what_was_read(void **state)
{
	struct rig *r = *state;

	rig_publish("t/1", "{\"id\":\"a\"}");
	fake_broker.read_result = ERR_LINK;
	assert_err(rig_turn(r), ERR_LINK);
	assert_int_equal(effects(r), 1);
	assert_int_equal(fake_broker.acked_len, 0);
}

static int refuse_commit(void *arg)
{
	return (*(int *)arg)-- > 0;
}

/* Whatever ends before COMMIT leaves nothing. */
static void a_failed_commit_drops_the_link_with_nothing_sent(void **state)
{
	struct rig *r = *state;
	int refusals = 1;

	rig_publish("t/1", "{\"id\":\"a\"}");
	rig_publish("t/1", "{\"id\":\"b\"}");
	/* The connection's own hook: as a disk that refuses. */
	sqlite3_commit_hook(r->d.store->db, refuse_commit, &refusals);
	assert_true(rig_turn(r) != OK);
	assert_null(r->d.ingest.link);
	assert_int_equal(fake_broker.acked_len, 0);
	assert_int_equal(effects(r), 0);
	assert_int_equal(r->d.groups[0].unsaved.done, 0);
	/* The broker delivers again, and then each is applied once. */
	rig_drain(r);
	assert_int_equal(effects(r), 2);
	assert_int_equal(fake_broker.acked_len, 2);
}

static void a_crash_between_commit_and_acknowledgement_has_no_second_effect(
	void **state)
{
	struct rig *r = *state;

	rig_publish("t/1", "{\"id\":\"a\"}");
	fake_broker.read_result = ERR_LINK;	/* committed, never flushed */
	assert_err(rig_turn(r), ERR_LINK);
	fake_broker.read_result = OK;
	rig_kill(r);
	rig_start(r);
	rig_drain(r);
	assert_int_equal(effects(r), 1);
	assert_int_equal(fake_broker.acked_len, 1);
	assert_int_equal(r->d.groups[0].unsaved.suppressed_done, 1);
}

static void a_small_window_is_committed_when_the_socket_is_dry(void **state)
{
	struct rig *r = *state;

	fake_broker.window = 1;
	for (int i = 0; i < 5; i++)
		rig_publish("t/1", "{\"id\":\"a\"}");
	assert_ok(rig_turn(r));
	assert_int_equal(fake_broker.acked_len, 1);
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, 5);
}

/* The same PUBLISH again, in the session. */
static void a_resend_in_the_session_has_one_effect_and_a_puback_each(
	void **state)
{
	struct rig *r = *state;

	rig_publish("t/1", "{\"id\":\"e5\"}");
	assert_ok(rig_turn(r));
	rig_publish("t/1", "{\"id\":\"e5\"}");
	assert_ok(rig_turn(r));
	assert_int_equal(effects(r), 1);
	assert_int_equal(fake_broker.acked_len, 2);
	assert_int_equal(fake_broker.drops, 0);
}

static void a_delivery_that_matches_no_group_is_acknowledged_and_counted(
	void **state)
{
	struct rig *r = *state;

	rig_publish("other/1", "{\"id\":\"a\"}");
	rig_publish("t/1", "{\"id\":\"b\"}");
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, 2);
	assert_int_equal(effects(r), 1);
	assert_int_equal(rig_int(r, "SELECT unmatched FROM once_counter"
				    " WHERE group_no = 0"), 1);
}

static void duplicates_alone_write_nothing(void **state)
{
	struct rig *r = *state;
	int64_t before;

	rig_publish("t/1", "{\"id\":\"a\"}");
	rig_drain(r);
	before = sqlite3_total_changes64(r->d.store->db);
	for (int i = 0; i < 10; i++)
		rig_publish("t/1", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(sqlite3_total_changes64(r->d.store->db), before);
	assert_int_equal(r->d.groups[0].unsaved.suppressed_done, 10);
	/* Their count is saved by the next minute's turn. */
	assert_ok(maintain_turn(&r->d.maintain, 1, fake_clock.boot_ms + 60000));
	assert_int_equal(rig_int(r, "SELECT suppressed_done FROM once_counter"),
			 10);
}

static void sql_in_a_payload_and_a_topic_of_65535_bytes_are_data(void **state)
{
	static char topic[65536];
	struct rig *r = *state;

	memset(topic, 'x', sizeof(topic) - 1);
	memcpy(topic, "t/", 2);
	rig_publish("t/1", "{\"id\":\"x'); DROP TABLE effect;--\"}");
	rig_publish(topic, "{\"id\":\"long\"}");
	rig_drain(r);
	assert_int_equal(effects(r), 2);
	assert_string_equal(rig_text(r, "SELECT id FROM effect WHERE n = 1"),
			    "x'); DROP TABLE effect;--");
}

static void retained_copies_are_left_alone(void **state)
{
	struct rig *r = *state;
	struct event ev = { .topic = span_str("t/1"), .qos = 1, .retain = true,
			    .payload = span_str("{\"id\":\"a\"}") };

	fake_publish(&ev);
	rig_drain(r);
	assert_int_equal(effects(r), 0);
	assert_int_equal(fake_broker.acked_len, 1);
	assert_int_equal(r->d.groups[0].unsaved.retained, 1);
}

static void more_than_memory_holds_is_not_acknowledged(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 100; i++)
		rig_publish("t/1", "{\"id\":\"a\"}");
	r->d.ingest.arena.max_bytes = 1024;
	assert_err(rig_turn(r), ERR_NOMEM);
	assert_null(r->d.ingest.link);
	assert_int_equal(fake_broker.acked_len, 0);
	assert_int_equal(effects(r), 0);
	assert_true(r->d.ingest.window < 500);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_event_is_committed_then_acknowledged),
		T(the_commit_comes_before_the_acknowledgement),
		T(nothing_is_read_without_the_lock),
		T(one_id_twice_in_a_batch_has_one_effect_and_two_acknowledgements),
		T(a_lost_connection_keeps_what_was_read),
		T(a_failed_commit_drops_the_link_with_nothing_sent),
		T(a_crash_between_commit_and_acknowledgement_has_no_second_effect),
		T(a_small_window_is_committed_when_the_socket_is_dry),
		T(a_resend_in_the_session_has_one_effect_and_a_puback_each),
		T(a_delivery_that_matches_no_group_is_acknowledged_and_counted),
		T(duplicates_alone_write_nothing),
		T(sql_in_a_payload_and_a_topic_of_65535_bytes_are_data),
		T(retained_copies_are_left_alone),
		T(more_than_memory_holds_is_not_acknowledged),
	};

	return cmocka_run_group_tests_name("ingest", tests, NULL, NULL);
}
