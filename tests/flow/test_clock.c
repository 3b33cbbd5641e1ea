/* Time as gateways have it, and sweeps that never stand in the way. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "store/marker.h"

#define TABLES	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);\n"			\
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later'"	\
	" AND :attempt < 2;\n"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\nretry_initial = 1h\n"	\
	"retry_max = 1h\nmax_attempts = 4\nretry_window = 3h\n"
#define SECOND_MS ((int64_t)1000)
#define HOUR_MS	  ((int64_t)3600 * 1000)
#define MARKERS	  12000
#define MARKERS_TEXT "12000"

static struct rig *r;

static int setup(void **state UNUSED)
{
	r = rig_new(TABLES, HANDLER, GROUP);
	return 0;
}

static int teardown(void **state UNUSED)
{
	rig_free(r);
	return 0;
}

static void publish(const char *kind, int i)
{
	static char text[4096][48];
	static int at;
	char *t = text[at++ % 4096];

	snprintf(t, sizeof(text[0]), "{\"id\":\"%s%d\",\"k\":\"%s\"}", kind, i,
		 kind);
	rig_publish("t", t);
	assert_ok(rig_turn(r));
}

/* A second of a daemon's life. */
static void tick(void)
{
	fake_clock.boot_ms += SECOND_MS;
	fake_clock.wall_ms += SECOND_MS;
	assert_ok(maintain_turn(&r->d.maintain, r->d.ingest.deliveries,
				fake_clock.boot_ms));
	for (int i = 0; i < 10 && !retry_wait_ms(&r->d.retry,
						 fake_clock.boot_ms); i++)
		assert_ok(retry_turn(&r->d.retry, fake_clock.boot_ms));
}

static int64_t count(const char *table)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	return rig_int(r, sql);
}

/* A generation that was closed so long ago that it may be drained. */
static void expire_markers(void)
{
	rig_exec(r, "INSERT INTO once_marker_1 WITH RECURSIVE r(i) AS (SELECT 1"
		    " UNION ALL SELECT i + 1 FROM r WHERE i < " MARKERS_TEXT ")"
		    " SELECT randomblob(16), 1, 0, 1, 0 FROM r;"
		    "UPDATE once_generation SET state = 'closed', opened_ms = 0,"
		    " closed_ms = 0 WHERE generation = 1");
	fake_clock.boot_ms += 5 * HOUR_MS;
	rig_restart(r);
}

static void a_sweep_of_many_markers_goes_in_bounded_slices_under_load(
	void **state UNUSED)
{
	int64_t left, before = MARKERS;
	int n = 0;

	expire_markers();
	for (; before; n++, before = left) {
		publish("e", n);
		tick();
		left = count("once_marker_1");
		assert_in_range(before - left, 1, MAINTAIN_ROWS);
		assert_int_equal(count("effect"), n + 1);
	}
	assert_int_equal(n, MARKERS / MAINTAIN_ROWS);
}

/* On a slow flash a slice is few rows: 15 ms pass at each look at the clock. */
static void a_slice_ends_when_its_time_is_up(void **state UNUSED)
{
	unsigned n = 0;
	bool more = false;

	expire_markers();
	fake_clock.step_ms = 15;
	assert_ok(marker_drain(r->d.store, store_now_ms(r->d.store,
							fake_clock.boot_ms),
			       4 * HOUR_MS, MAINTAIN_ROWS, &n, &more));
	fake_clock.step_ms = 0;
	assert_in_range(n, 1, MAINTAIN_ROWS / 2);
	assert_true(more);
	assert_int_equal(count("once_marker_1"), MARKERS - n);
}

static void a_sweep_gets_through_with_load_and_a_restart_every_30_seconds(
	void **state UNUSED)
{
	int n = 0;

	expire_markers();
	/* One slice is done before the first restart, whatever comes. */
	for (int start = 0; count("once_marker_1"); start++) {
		assert_true(start < 3);
		rig_kill(r);
		rig_start(r);
		for (int s = 0; s < 3; s++) {
			publish("e", n++);
			tick();
		}
		fake_clock.boot_ms += 27 * SECOND_MS;
	}
	rig_drain(r);
	for (int i = 0; i < 3; i++)
		tick();
	assert_int_equal(count("effect"), n);
	/* Counted out with the rows, however often somebody died. */
	assert_int_equal(rig_int(r, "SELECT markers FROM once_counter"
				    " WHERE group_no = 0"), -MARKERS);
}

/* When the one that waits is run; milliseconds with power on. */
static int64_t wait_for_retry(int64_t limit_ms, void (*each)(int second))
{
	for (int s = 1; s < limit_ms / 1000; s++) {
		each(s);
		tick();
		if (!count("once_pending"))
			return s * SECOND_MS;
	}
	fail_msg("it is frozen");
	return 0;
}

static int64_t publish_one_that_waits(void)
{
	publish("later", 0);
	assert_ok(retry_refresh(&r->d.retry));
	assert_int_equal(count("once_pending"), 1);
	tick();
	return retry_wait_ms(&r->d.retry, fake_clock.boot_ms);
}

/* 1970, now, 2036 and back, two weeks back. */
static void jump(int second)
{
	static const int64_t walls[] = { 0, 1800000000000, 2085000000000,
					 1800000000000, 1798790400000 };

	if (second % 60 == 0)
		fake_clock.wall_ms = walls[second / 60 % 5];
}

static void no_jump_of_the_wall_clock_fires_freezes_or_expires_anything(
	void **state UNUSED)
{
	int64_t wait, took;

	publish("known", 1);
	wait = publish_one_that_waits();
	took = wait_for_retry(2 * HOUR_MS, jump);
	assert_in_range(took, wait, wait + wait / 10);
	publish("known", 1);
	assert_int_equal(count("effect"), 2);
}

/* Each boot ends without a word. */
static void boot_again(int second)
{
	static char id[2][16];

	if (second % 60)
		return;
	snprintf(id[second / 60 % 2], sizeof(id[0]), "minute-%d", second);
	rig_kill(r);
	fake_clock.boot_id = id[second / 60 % 2];
	fake_clock.boot_ms = 1000;
	rig_start(r);
}

static void boots_of_a_minute_delay_a_retry_by_no_more_than_a_tenth(
	void **state UNUSED)
{
	int64_t wait = publish_one_that_waits();
	int64_t took = wait_for_retry(2 * HOUR_MS, boot_again);

	assert_in_range(took, wait, wait + wait / 10);
	publish("later", 0);
	assert_int_equal(count("effect"), 1);
}

/* CLOCK_BOOTTIME counts it: what is due is run, and markers have aged. */
static void a_suspend_of_8_hours_lets_time_pass_once(void **state UNUSED)
{
	publish("known", 1);
	publish_one_that_waits();
	fake_clock.boot_ms += 8 * HOUR_MS;
	tick();
	assert_int_equal(count("once_pending"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"
				    " WHERE id = 'known1'"), 1);
	publish("known", 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"
				    " WHERE id = 'known1'"), 2);
}

/* Of a claim no clock says that it is over: its owner's end does. */
static void ownership_is_told_by_the_epoch_whatever_the_clocks_say(
	void **state UNUSED)
{
	static const int64_t walls[] = { 0, 4102444800000, 1000000000000 };

	publish("later", 1);
	rig_drain(r);
	for (size_t i = 0; i < ARRAY_LEN(walls); i++) {
		rig_exec(r, "UPDATE once_pending SET claimed ="
			    " (SELECT epoch FROM once_meta)");
		fake_clock.wall_ms = walls[i];
		fake_clock.boot_ms += 100 * HOUR_MS;
		assert_ok(maintain_turn(&r->d.maintain, 1, fake_clock.boot_ms));
		assert_int_equal(rig_int(r, "SELECT claimed = (SELECT epoch"
					    " FROM once_meta) FROM"
					    " once_pending"), 1);
		rig_kill(r);
		if (i == 1) {		/* after a power cut, too */
			fake_clock.boot_id = "boot-2";
			fake_clock.boot_ms = 1000;
		}
		rig_start(r);
		assert_int_equal(rig_int(r, "SELECT claimed FROM"
					    " once_pending"), 0);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_sweep_of_many_markers_goes_in_bounded_slices_under_load),
		T(ownership_is_told_by_the_epoch_whatever_the_clocks_say),
		T(a_slice_ends_when_its_time_is_up),
		T(a_sweep_gets_through_with_load_and_a_restart_every_30_seconds),
		T(no_jump_of_the_wall_clock_fires_freezes_or_expires_anything),
		T(boots_of_a_minute_delay_a_retry_by_no_more_than_a_tenth),
		T(a_suspend_of_8_hours_lets_time_pass_once),
	};

	folder_in_memory();
	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
