/* What fails for a while is tried again from the store. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"

/* The operator's switch decides whether the effect works. */
#define TABLES								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, try INTEGER) STRICT;" \
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
#define HANDLER								\
	"INSERT INTO effect (id, try) VALUES (:event_id, :attempt);\n"	\
	"SELECT retry('broken') FROM switch WHERE broken"		\
	" AND :payload ->> 'k' IS NOT 'fine';\n"
#define GROUP(more)							\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\n" more

#define HOUR_MS	((int64_t)3600 * 1000)

static int setup(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP(""));
	return 0;
}

static int setup_many(void **state)
{
	*state = rig_new(TABLES, HANDLER,
			 GROUP("max_attempts = 2000\nretry_window = 40d\n"
			       "retry_max = 30m\n"));
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static void mend(struct rig *r)
{
	rig_exec(r, "UPDATE switch SET broken = 0");
}

static void a_transient_failure_succeeds_later_without_a_reconnect(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 0);
	/* The dedup layer knows it and still does not suppress our own retry. */
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(r->d.groups[0].unsaved.suppressed_pending, 1);
	mend(r);
	rig_retry_after(r, 2000);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	assert_int_equal(rig_int(r, "SELECT try FROM effect"), 2);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 1);
	assert_string_equal(rig_text(r, "SELECT group_concat(outcome)"
					" FROM once_attempt"), "transient,ok");
	assert_int_equal(r->connects, 1);
	assert_int_equal(r->d.groups[0].pending_rows, 0);
	assert_int_equal(r->d.groups[0].pending_bytes, 0);
}

static int64_t pending_at_flush;
static struct rig *watched;

static void count_pending(void)
{
	pending_at_flush = rig_int(watched, "SELECT count(*) FROM once_pending");
}

static void acknowledgements_keep_their_order_when_the_first_fails(void **state)
{
	struct rig *r = watched = *state;

	fake_broker.on_flush = count_pending;
	rig_publish("t", "{\"id\":\"1\"}");
	rig_publish("t", "{\"id\":\"2\",\"k\":\"fine\"}");
	rig_publish("t", "{\"id\":\"3\",\"k\":\"fine\"}");
	rig_drain(r);
	assert_int_equal(pending_at_flush, 1);
	assert_int_equal(fake_broker.acked_len, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_broker.acked[i], i + 1);
}

/* Every acknowledged event is in exactly one place, whatever happened. */
static int64_t places(struct rig *r)
{
	return rig_int(r, "SELECT (SELECT count(*) FROM once_pending)"
			  " + (SELECT count(*) FROM once_marker)"
			  " + (SELECT count(*) FROM once_dead_letter)");
}

static void an_event_out_of_time_is_buried_as_exhausted(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	for (int i = 0; i < 40; i++) {
		rig_retry_after(r, 60000);
		assert_int_equal(places(r), 1);
	}
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"
				    " WHERE kind = 'exhausted'"
				    " AND first_type = 'broken'"
				    " AND last_type = 'broken'"
				    " AND payload = x'7b226964223a2261227d'"), 1);
	assert_true(rig_int(r, "SELECT attempts FROM once_dead_letter") > 8);
	assert_int_equal(rig_int(r, "SELECT max(n) FROM once_attempt"),
			 rig_int(r, "SELECT attempts FROM once_dead_letter"));
	/* A late copy is suppressed by the letter. */
	mend(r);
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 0);
	assert_int_equal(rig_int(r, "SELECT redeliveries FROM once_dead_letter"),
			 1);
}

static void of_a_thousand_attempts_the_first_3_and_last_17_are_kept(
	void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	while (rig_int(r, "SELECT attempts FROM once_pending") < 1000)
		rig_retry_after(r, 40 * 60000);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_attempt"), 20);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_attempt"
				    " WHERE n <= 3"), 3);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_attempt"
				    " WHERE n > 983"), 17);
	assert_int_equal(rig_int(r, "SELECT max(n) FROM once_attempt"), 1000);
}

/* A success between them keeps the breaker out of it. */
static void a_thousand_due_at_once_are_spread_and_bounded(void **state)
{
	static char text[1250][40];
	struct rig *r = *state;

	for (int i = 0; i < 1250; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"%d\"%s}", i,
			 i % 5 == 4 ? ",\"k\":\"fine\"" : "");
		rig_publish("t", text[i]);
	}
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 1000);
	assert_true(rig_int(r, "SELECT count(DISTINCT due_ms)"
			       " FROM once_pending") > 100);
	mend(r);
	rig_restart(r);
	rig_retry_after(r, 0);
	fake_clock.boot_ms += 2000;
	for (int i = 1; i <= 5; i++) {
		assert_ok(retry_turn(&r->d.retry, fake_clock.boot_ms));
		assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"),
				 1000 - i * RETRY_ROWS);
	}
	rig_publish("t", "{\"id\":\"live\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"
				    " WHERE id = 'live'"), 1);
}

static void a_redelivery_is_suppressed_until_the_ttl_and_runs_after_it(
	void **state)
{
	static const int64_t ttl = 4 * HOUR_MS;
	struct rig *r = *state;

	mend(r);
	fake_clock.boot_ms = (fake_clock.boot_ms / 1000 + 1) * 1000;
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	fake_clock.boot_ms += ttl - 1000;
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	fake_clock.boot_ms += 2000;	/* marker times are rounded up */
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 2);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 1);
}

/* I6: to the last millisecond, though markers keep seconds. */
static void a_marker_holds_for_its_whole_ttl(void **state)
{
	static const int64_t ttl = 4 * HOUR_MS;
	struct rig *r = *state;

	mend(r);
	for (int i = 0; i < 4; i++) {
		int64_t effects = rig_int(r, "SELECT count(*) FROM effect");

		fake_clock.boot_ms = (fake_clock.boot_ms / 1000 + 3) * 1000 +
				     i * 333;
		rig_publish("t", "{\"id\":\"a\"}");
		rig_drain(r);
		assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"),
				 effects + 1);
		fake_clock.boot_ms += ttl - 1;
		rig_publish("t", "{\"id\":\"a\"}");
		rig_drain(r);
		assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"),
				 effects + 1);
	}
}

/* I6: in every phase of rotation and draining. */
static void no_marker_goes_before_its_ttl(void **state)
{
	static char text[400][32];
	struct rig *r = *state;
	int64_t expected = 0;

	mend(r);
	for (int i = 0; i < 400; i++) {
		uint64_t deliveries = (uint64_t)i;

		snprintf(text[i], sizeof(text[i]), "{\"id\":\"%d\"}", i);
		rig_publish("t", text[i]);
		/* Published 3 h 50 min ago: within the ttl of 4 h. */
		if (i >= 23)
			rig_publish("t", text[i - 23]);
		rig_drain(r);
		expected++;
		assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"),
				 expected);
		fake_clock.boot_ms += HOUR_MS / 6;
		assert_ok(maintain_turn(&r->d.maintain, deliveries,
					fake_clock.boot_ms));
	}
	/* And they do go: 66 hours of events, at most 8 kept. */
	assert_true(rig_int(r, "SELECT count(*) FROM once_marker") < 60);
}

static void a_restart_goes_on_with_the_clock_and_the_retries(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	mend(r);
	rig_restart(r);
	rig_retry_after(r, 0);
	assert_int_equal(retry_wait_ms(&r->d.retry, fake_clock.boot_ms) > 0, 1);
	/* The wall clock jumps by ten years; nothing fires. */
	fake_clock.wall_ms += (int64_t)3650 * 24 * HOUR_MS;
	rig_retry_after(r, 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 0);
	rig_retry_after(r, 1500);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
}

/* Stopped and started within one boot: that time is known, and counts. */
static void time_between_two_owners_of_one_boot_counts(void **state)
{
	struct rig *r = *state;
	int64_t before = store_now_ms(r->d.store, fake_clock.boot_ms);

	rig_stop(r);
	fake_clock.boot_ms += HOUR_MS;
	rig_start(r);
	assert_int_equal(store_now_ms(r->d.store, fake_clock.boot_ms),
			 before + HOUR_MS);
}

static void time_without_power_does_not_count(void **state)
{
	struct rig *r = *state;
	int64_t before, after;

	mend(r);
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	before = store_now_ms(r->d.store, fake_clock.boot_ms);
	/* The new boot's clock is ahead: a long up-time, not our time. */
	fake_clock.boot_id = "boot-2";
	fake_clock.boot_ms += 100 * HOUR_MS;
	rig_kill(r);
	rig_start(r);
	after = store_now_ms(r->d.store, fake_clock.boot_ms);
	assert_true(after <= before);
	assert_true(after >= before - 10000);
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	fake_clock.boot_id = "boot-1";
}

/* After the ttl an id may start a second life, also after a long first one. */
static void a_second_life_begins_with_a_new_history(void **state)
{
	struct rig *r = *state;

	for (int life = 0; life < 3; life++) {
		rig_exec(r, "UPDATE switch SET broken = 1");
		rig_publish("t", "{\"id\":\"a\"}");
		rig_drain(r);
		rig_retry_after(r, 1500);
		mend(r);
		rig_retry_after(r, 5000);
		assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"),
				 life + 1);
		assert_int_equal(rig_int(r, "SELECT count(*)"
					    " FROM once_attempt"), 3);
		fake_clock.boot_ms += 5 * HOUR_MS;
	}
}

static void histories_go_when_their_event_is_long_gone(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\"}");
	rig_publish("t", "{\"id\":\"b\"}");
	rig_drain(r);
	rig_exec(r, "UPDATE once_pending SET due_ms = 1 << 50"
		    " WHERE event_id = 'b'");
	mend(r);
	rig_retry_after(r, 2000);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_attempt"), 3);
	fake_clock.boot_ms += 5 * HOUR_MS;
	assert_ok(maintain_turn(&r->d.maintain, 9, fake_clock.boot_ms));
	/* b still waits: its history stays. */
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_attempt"), 1);
}

/* A job's items by the primary key are all of them, however many are done. */
static bool is_scan(const char *plan, int id)
{
	bool whole_job = strstr(plan, "USING PRIMARY KEY (job_id=?)");

	if (id == STMT_JOB_PUT || id == STMT_JOB_LIST ||
	    id == STMT_JOB_CANCEL_ITEMS || id == STMT_JOB_CANCEL_LETTERS)
		whole_job = false;	/* asked by operators only */
	return whole_job || (!strncmp(plan, "SCAN once_", 10) &&
			     !strstr(plan, "INDEX"));
}

static void no_statement_of_the_hot_path_scans_a_table(void **state)
{
	static const int allowed[] = {
		STMT_PENDING_TOTALS, STMT_GROUP_LONGEST_TTL, STMT_GENERATIONS,
		STMT_GROUP_HAS_RECORDS, STMT_SCHEMA_FOREIGN, STMT_RECORDS_EXIST,
		STMT_GROUP_LIST,	/* groups are few */
		STMT_GROUP_NEW, STMT_GROUP_SET,		/* at start */
		STMT_GROUP_LIST, STMT_GROUP_DROP,	/* of few rows */
		STMT_MARKER_DRAIN_0, STMT_MARKER_DRAIN_1,
		STMT_MARKER_DRAIN_2, STMT_MARKER_DRAIN_3, /* by LIMIT */
		STMT_MARKER_COUNT_0, STMT_MARKER_COUNT_1,
		STMT_MARKER_COUNT_2, STMT_MARKER_COUNT_3, /* no owner's */
	};
	struct rig *r = *state;

	for (int i = 0; i < STMT_COUNT; i++) {
		char sql[4096];
		sqlite3_stmt *q;
		bool skip = false;

		for (size_t k = 0; k < ARRAY_LEN(allowed); k++)
			skip |= allowed[k] == i;
		if (skip)
			continue;
		snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s",
			 sqlite3_sql(r->d.store->stmt[i].raw));
		if (sqlite3_prepare_v2(r->d.store->db, sql, -1, &q, NULL))
			continue;	/* BEGIN, PRAGMA and their like */
		while (sqlite3_step(q) == SQLITE_ROW) {
			const char *d = (const char *)sqlite3_column_text(q, 3);

			if (is_scan(d, i))
				fail_msg("%s\n%s", sql, d);
		}
		sqlite3_finalize(q);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_transient_failure_succeeds_later_without_a_reconnect),
		T(acknowledgements_keep_their_order_when_the_first_fails),
		T(an_event_out_of_time_is_buried_as_exhausted),
		cmocka_unit_test_setup_teardown(
			of_a_thousand_attempts_the_first_3_and_last_17_are_kept,
			setup_many, teardown),
		T(a_thousand_due_at_once_are_spread_and_bounded),
		T(a_redelivery_is_suppressed_until_the_ttl_and_runs_after_it),
		T(a_marker_holds_for_its_whole_ttl),
		T(no_marker_goes_before_its_ttl),
		T(a_restart_goes_on_with_the_clock_and_the_retries),
		T(time_between_two_owners_of_one_boot_counts),
		T(time_without_power_does_not_count),
		T(a_second_life_begins_with_a_new_history),
		T(histories_go_when_their_event_is_long_gone),
		T(no_statement_of_the_hot_path_scans_a_table),
	};

	return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
