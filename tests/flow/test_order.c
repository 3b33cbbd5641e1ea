/* The order guard: what is older never overwrites what is newer. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "store/order.h"

/* The state of each thing, and a history of what was written. */
#define TABLES								\
	"CREATE TABLE thing (k TEXT PRIMARY KEY, v TEXT) STRICT;"	\
	"CREATE TABLE log (n INTEGER PRIMARY KEY, id TEXT, stale INTEGER,"	\
	" k TEXT, v TEXT) STRICT;"					\
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
#define HANDLER								\
	"INSERT OR REPLACE INTO thing VALUES (:order_key, :order_by);\n" \
	"INSERT INTO log (id, stale, k, v)"				\
	" VALUES (:event_id, :stale, :order_key, :order_by);\n"		\
	"SELECT retry('broken') FROM switch WHERE broken"		\
	" AND :payload ->> 'f' = 'later';\n"				\
	"SELECT reject('never') WHERE :payload ->> 'f' = 'never';\n"
#define GROUP(more)							\
	"[group g]\nsubscribe = t/+\ntenant = topic:2\nid = payload:$.id\n" \
	"order_key = payload:$.k\norder_by = payload:$.v\n"		\
	"handler = sql:@H\nredelivery_horizon = 3h\nttl = 4h\n" more

#define HOUR_MS	((int64_t)3600 * 1000)

static int setup_with(void **state, const char *groups)
{
	*state = rig_new(TABLES, HANDLER, groups);
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, GROUP(""));
}

static int setup_handle(void **state)
{
	return setup_with(state, GROUP("stale = handle\n"));
}

static int setup_bury(void **state)
{
	return setup_with(state, GROUP("stale = bury\n"));
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

/* @v as JSON; texts stay, as the rig's broker borrows them. */
static void publish_as(struct rig *r, const char *topic, const char *id,
		       const char *v, const char *more)
{
	static char text[256][96];
	static int at;
	char *t = text[at++ % 256];

	snprintf(t, sizeof(text[0]), "{\"id\":\"%s\",\"k\":\"door\",\"v\":%s%s}",
		 id, v, more);
	rig_publish(topic, t);
	rig_drain(r);
}

static void publish(struct rig *r, const char *id, const char *v)
{
	publish_as(r, "t/1", id, v, "");
}

static int64_t count(struct rig *r, const char *what)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	return rig_int(r, sql);
}

static const char *door(struct rig *r)
{
	return rig_text(r, "SELECT v FROM thing WHERE k = 'door'");
}

static void an_older_event_is_done_without_effect(void **state)
{
	struct rig *r = *state;

	publish(r, "a", "9");
	publish(r, "b", "10");		/* as numbers, not as text */
	publish(r, "c", "9");
	assert_string_equal(door(r), "10");
	assert_int_equal(count(r, "log"), 2);
	assert_int_equal(count(r, "once_marker WHERE outcome = 'superseded'"
				  " AND state = 'done'"), 1);
	assert_int_equal(rig_int(r, "SELECT superseded FROM once_counter"), 1);
	assert_int_equal(rig_int(r, "SELECT done FROM once_counter"), 2);
	assert_int_equal(fake_broker.acked_len, 3);
	/* Its copies are copies of something done. */
	publish(r, "c", "9");
	assert_int_equal(r->d.groups[0].unsaved.suppressed_done, 1);
}

static void within_one_batch_it_holds_too(void **state)
{
	struct rig *r = *state;

	rig_publish("t/1", "{\"id\":\"a\",\"k\":\"door\",\"v\":2}");
	rig_publish("t/1", "{\"id\":\"b\",\"k\":\"door\",\"v\":1}");
	rig_publish("t/1", "{\"id\":\"c\",\"k\":\"gate\",\"v\":1}");
	rig_drain(r);
	assert_string_equal(door(r), "2");
	assert_int_equal(count(r, "log"), 2);
}

static void an_equal_value_of_another_event_is_handled(void **state)
{
	struct rig *r = *state;

	publish(r, "a", "10");
	publish(r, "b", "1e1");
	assert_string_equal(door(r), "1e1");
	assert_int_equal(count(r, "log"), 2);
}

static void times_compare_as_text(void **state)
{
	struct rig *r = *state;

	publish(r, "a", "\"2026-05-01T00:00:00Z\"");
	publish(r, "b", "\"2026-04-30T23:59:59Z\"");
	assert_string_equal(door(r), "2026-05-01T00:00:00Z");
}

static void keys_of_different_tenants_are_different_keys(void **state)
{
	struct rig *r = *state;

	publish_as(r, "t/1", "a", "10", "");
	publish_as(r, "t/2", "b", "9", "");
	assert_int_equal(count(r, "log"), 2);
	assert_int_equal(count(r, "once_order"), 2);
}

static void a_failed_event_does_not_move_the_key(void **state)
{
	struct rig *r = *state;

	publish_as(r, "t/1", "a", "10", ",\"f\":\"never\"");
	assert_int_equal(count(r, "once_order"), 0);
	publish(r, "b", "9");
	assert_string_equal(door(r), "9");
}

static void a_retry_after_a_newer_event_is_superseded(void **state)
{
	struct rig *r = *state;

	publish_as(r, "t/1", "a", "1", ",\"f\":\"later\"");
	publish(r, "b", "2");
	rig_exec(r, "UPDATE switch SET broken = 0");
	rig_retry_after(r, 2000);
	assert_string_equal(door(r), "2");
	assert_int_equal(count(r, "once_pending"), 0);
	assert_int_equal(count(r, "once_marker WHERE outcome = 'superseded'"), 1);
	assert_int_equal(count(r, "once_attempt"), 1);
	assert_int_equal(r->d.groups[0].pending_rows, 0);
}

/* The value is the store's, whoever owns it. */
static void after_a_restart_an_older_event_does_not_overwrite_newer_state(void **state)
{
	struct rig *r = *state;

	publish_as(r, "t/1", "a", "1", ",\"f\":\"later\"");
	publish(r, "b", "2");
	rig_exec(r, "UPDATE switch SET broken = 0");
	rig_restart(r);
	rig_retry_after(r, HOUR_MS);
	assert_string_equal(door(r), "2");
	assert_int_equal(count(r, "log"), 1);
}

static void with_stale_handle_the_handler_is_told(void **state)
{
	struct rig *r = *state;

	publish(r, "a", "2");
	publish(r, "b", "1");
	assert_int_equal(count(r, "log WHERE id = 'b' AND stale = 1"), 1);
	assert_int_equal(count(r, "log WHERE id = 'a' AND stale = 0"), 1);
	/* The key's value stays the newest. */
	assert_int_equal(count(r, "once_order WHERE value = '2'"), 1);
	publish(r, "c", "1.5");
	assert_int_equal(count(r, "log WHERE stale = 1"), 2);
	assert_int_equal(count(r, "once_marker WHERE outcome = 'ok'"), 3);
}

static void with_stale_bury_it_is_a_letter(void **state)
{
	struct rig *r = *state;

	publish(r, "a", "2");
	publish(r, "b", "1");
	assert_int_equal(count(r, "log"), 1);
	assert_int_equal(count(r, "once_dead_letter WHERE kind = 'permanent'"
				  " AND last_type = 'order.stale'"
				  " AND event_id = 'b'"), 1);
}

static void an_event_without_its_values_is_poison(void **state)
{
	struct rig *r = *state;
	static char long_one[400], fill[300];

	memset(fill, 'x', 256);
	snprintf(long_one, sizeof(long_one), "{\"id\":\"l\",\"k\":\"%s\",\"v\":1}",
		 fill);
	rig_publish("t/1", "{\"id\":\"a\",\"k\":\"door\"}");
	rig_publish("t/1", "{\"id\":\"b\",\"v\":1}");
	rig_publish("t/1", "{\"id\":\"c\",\"k\":\"door\",\"v\":null}");
	rig_publish("t/1", long_one);
	rig_drain(r);
	assert_int_equal(count(r, "once_dead_letter WHERE kind = 'poison'"
				  " AND last_type = 'order.missing'"), 3);
	assert_int_equal(count(r, "once_dead_letter WHERE kind = 'poison'"
				  " AND last_type = 'order.invalid'"), 1);
	assert_int_equal(count(r, "log"), 0);
}

static void sweep(struct rig *r)
{
	/* Once round, and once from the start. */
	for (int i = 0; i < 3; i++) {
		fake_clock.boot_ms += 2000;
		assert_ok(maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms));
	}
}

/* Nor while a pending event or an open letter has the key. */
static void order_keys_go_when_nothing_refers_to_them(void **state)
{
	struct rig *r = *state;

	publish(r, "a", "1");
	rig_publish("t/2", "{\"id\":\"b\",\"k\":\"gate\",\"v\":1}");
	rig_publish("t/2", "{\"id\":\"c\",\"k\":\"gate\",\"v\":2,\"f\":\"later\"}");
	rig_publish("t/3", "{\"id\":\"d\",\"k\":\"wall\",\"v\":1}");
	rig_publish("t/3", "{\"id\":\"e\",\"k\":\"wall\",\"v\":2,\"f\":\"never\"}");
	rig_drain(r);
	r->d.groups[0].record.paused = true;
	assert_int_equal(count(r, "once_order"), 3);
	fake_clock.boot_ms += 4 * HOUR_MS - 60000;
	sweep(r);
	assert_int_equal(count(r, "once_order"), 3);
	fake_clock.boot_ms += 60000;
	sweep(r);
	assert_int_equal(count(r, "once_order"), 2);
	/* A discarded letter can be restored, and replayed. */
	rig_exec(r, "DELETE FROM once_pending;"
		    "UPDATE once_dead_letter SET state = 'discarded'");
	sweep(r);
	assert_int_equal(count(r, "once_order"), 1);
	rig_exec(r, "UPDATE once_dead_letter SET state = 'resolved'");
	sweep(r);
	assert_int_equal(count(r, "once_order"), 0);
}

static void a_newer_value_is_never_replaced_by_an_older(void **state)
{
	struct rig *r = *state;
	struct store *st = r->d.store;
	int64_t g = r->d.groups[0].record.group_no;
	struct order o = { .key = span_str("k"), .by = span_str("5") };
	bool stale;

	assert_ok(store_begin(st));
	assert_ok(order_put(st, g, &o, 0));
	assert_ok(order_put(st, g, &o, 0));
	o.by = span_str("4.99");
	assert_err(order_put(st, g, &o, 0), ERR_GONE);
	assert_ok(order_is_stale(st, &o, &stale));
	assert_true(stale);
	store_rollback(st);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_older_event_is_done_without_effect),
		T(within_one_batch_it_holds_too),
		T(an_equal_value_of_another_event_is_handled),
		T(times_compare_as_text),
		T(keys_of_different_tenants_are_different_keys),
		T(a_failed_event_does_not_move_the_key),
		T(a_retry_after_a_newer_event_is_superseded),
		T(after_a_restart_an_older_event_does_not_overwrite_newer_state),
		cmocka_unit_test_setup_teardown(
			with_stale_handle_the_handler_is_told, setup_handle,
			teardown),
		cmocka_unit_test_setup_teardown(with_stale_bury_it_is_a_letter,
						setup_bury, teardown),
		T(an_event_without_its_values_is_poison),
		T(order_keys_go_when_nothing_refers_to_them),
		T(a_newer_value_is_never_replaced_by_an_older),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
