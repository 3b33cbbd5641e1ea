/* What holds a group back: its breaker, the operator, limits that changed. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "store/letter.h"

#define TABLES								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, grp TEXT) STRICT;" \
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
#define HANDLER								\
	"INSERT INTO effect (id, grp) VALUES (:event_id, :group);\n"	\
	"SELECT retry('broken') FROM switch WHERE broken"		\
	" AND :payload ->> 'k' IS NOT 'fine';\n"			\
	"SELECT reject('never') WHERE :payload ->> 'k' = 'never';\n"
#define GROUP_OF(name, topic, more)					\
	"[group " name "]\nsubscribe = " topic "\nid = payload:$.id\n"	\
	"handler = sql:@H\nredelivery_horizon = 3h\nttl = 4h\n" more
#define GROUP(more)	GROUP_OF("g", "t", more)

#define MIN_MS	((int64_t)60 * 1000)

static int setup(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP(""));
	return 0;
}

static int setup_two(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP("") GROUP_OF("h", "u", ""));
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static void mend(struct rig *r, bool broken)
{
	rig_exec(r, broken ? "UPDATE switch SET broken = 1"
			   : "UPDATE switch SET broken = 0");
}

/* Texts stay: the broker of the rig borrows them. */
static void publish(const char *topic, int first, int n, const char *more)
{
	static char text[4096][48];
	static int at;

	for (int i = 0; i < n; i++, at = (at + 1) % 4096) {
		snprintf(text[at], sizeof(text[at]), "{\"id\":\"%d\"%s}",
			 first + i, more);
		rig_publish(topic, text[at]);
	}
}

static int64_t count(struct rig *r, const char *what)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	return rig_int(r, sql);
}

static const struct breaker *breaker(const struct rig *r)
{
	return &r->d.groups[0].record.breaker;
}

static void an_outage_of_29_minutes_exhausts_nothing(void **state)
{
	struct rig *r = *state;
	int events = 0;

	for (int s = 0; s < 29 * 60; s++) {
		if (s % 60 == 0) {
			publish("t", events, 5, "");
			rig_drain(r);
			events += 5;
		}
		rig_retry_after(r, 1000);
	}
	assert_int_equal(count(r, "effect"), 0);
	assert_int_equal(count(r, "once_pending"), events);
	/* The five that opened it, their retries till then, and the probes. */
	assert_true(count(r, "once_attempt") < 29 * 2 + 20);
	mend(r, false);
	for (int s = 0; s < 10 * 60; s++)
		rig_retry_after(r, 1000);
	assert_int_equal(count(r, "once_dead_letter"), 0);
	assert_int_equal(count(r, "once_pending"), 0);
	assert_int_equal(count(r, "effect"), events);
	assert_int_equal(count(r, "once_marker"), events);
}

/* The same, and hours of it: time that the breaker was open does not count. */
static void an_outage_of_5_hours_exhausts_nothing(void **state)
{
	struct rig *r = *state;

	publish("t", 0, 8, "");
	rig_drain(r);
	for (int m = 0; m < 5 * 60; m++)
		rig_retry_after(r, MIN_MS);
	mend(r, false);
	for (int m = 0; m < 10; m++)
		rig_retry_after(r, MIN_MS);
	assert_int_equal(count(r, "once_dead_letter"), 0);
	assert_int_equal(count(r, "effect"), 8);
}

static void while_it_is_open_nothing_is_attempted_but_probes(void **state)
{
	struct rig *r = *state;

	publish("t", 0, 10, "");
	rig_drain(r);
	assert_true(breaker(r)->open);
	assert_int_equal(count(r, "once_attempt"), 5);
	assert_int_equal(count(r, "once_pending WHERE attempts = 0"), 5);
	assert_int_equal(fake_broker.acked_len, 10);
	rig_retry_after(r, 29000);
	assert_int_equal(count(r, "once_attempt"), 5);
	rig_retry_after(r, 1000);
	assert_int_equal(count(r, "once_attempt"), 6);
	/* In the history, and not counted. */
	assert_int_equal(rig_int(r, "SELECT sum(attempts) FROM once_pending"), 5);
	assert_int_equal(rig_int(r, "SELECT sum(runs) FROM once_pending"), 6);
	rig_retry_after(r, 30000);
	assert_int_equal(count(r, "once_attempt"), 7);
	/* Not the same one each time. */
	assert_int_equal(rig_int(r, "SELECT max(runs - attempts)"
				    " FROM once_pending"), 1);
	mend(r, false);
	rig_retry_after(r, 30000);
	assert_false(breaker(r)->open);
	assert_int_equal(rig_int(r, "SELECT open_since_ms IS NULL AND"
				    " open_total_ms = 90000 FROM once_group"), 1);
	rig_retry_after(r, 2000);
	assert_int_equal(count(r, "effect"), 10);
	assert_int_equal(count(r, "once_attempt WHERE outcome = 'ok'"), 7);
}

static void a_probe_that_is_refused_closes_it_too(void **state)
{
	struct rig *r = *state;

	publish("t", 0, 6, "");
	rig_drain(r);
	rig_exec(r, "UPDATE once_pending SET payload ="
		    " CAST('{\"k\":\"never\"}' AS BLOB)");
	mend(r, false);
	rig_retry_after(r, 30000);
	assert_false(breaker(r)->open);
	assert_true(count(r, "once_dead_letter WHERE last_type = 'never'") > 0);
}

static void it_stays_open_over_a_restart_and_probes_at_once(void **state)
{
	struct rig *r = *state;
	int64_t since;

	publish("t", 0, 6, "");
	rig_drain(r);
	since = rig_int(r, "SELECT open_since_ms FROM once_group");
	rig_retry_after(r, 10000);
	rig_restart(r);
	assert_true(breaker(r)->open);
	assert_int_equal(breaker(r)->open_since_ms, since);
	rig_retry_after(r, 0);
	assert_int_equal(count(r, "once_attempt"), 6);
	publish("t", 6, 1, "");
	rig_drain(r);
	assert_int_equal(count(r, "once_attempt"), 6);
	mend(r, false);
	rig_retry_after(r, 30000);
	rig_retry_after(r, 2000);
	assert_int_equal(count(r, "effect"), 7);
	rig_restart(r);
	assert_false(breaker(r)->open);
	assert_int_equal(breaker(r)->open_total_ms, 40000);
}

/* Due and window are in group time: neither moves while it is open. */
static void waits_and_windows_stand_still_while_it_is_open(void **state)
{
	struct rig *r = *state;
	int64_t waited;

	publish("t", 0, 5, "");
	rig_drain(r);
	waited = r->d.groups[0].next_due_ms -
		 breaker_group_ms(breaker(r), rig_int(r, "SELECT open_since_ms"
							  " FROM once_group"));
	assert_true(waited > 500);
	/* The event that closes it is one that arrives for nobody's retry. */
	rig_exec(r, "UPDATE once_pending SET payload ="
		    " CAST('{\"k\":\"fine\"}' AS BLOB) WHERE id = ("
		    " SELECT id FROM once_pending ORDER BY due_ms LIMIT 1)");
	rig_retry_after(r, 3600000);
	assert_false(breaker(r)->open);
	assert_int_equal(count(r, "once_pending"), 4);
	assert_int_equal(count(r, "once_attempt"), 6);
	assert_true(retry_wait_ms(&r->d.retry, fake_clock.boot_ms) > 0);
	assert_true(retry_wait_ms(&r->d.retry, fake_clock.boot_ms) <= 1200);
	assert_int_equal(rig_int(r, "SELECT open_total_ms FROM once_group"),
			 3600000);
}

static int refuse_commit(void *arg UNUSED)
{
	return 1;
}

/* Memory follows the commit. */
static void a_batch_that_fails_does_not_open_it(void **state)
{
	struct rig *r = *state;

	publish("t", 0, 6, "");
	sqlite3_commit_hook(r->d.store->db, refuse_commit, NULL);
	assert_true(rig_turn(r) != OK);
	assert_false(breaker(r)->open);
	assert_int_equal(breaker(r)->failures, 0);
	sqlite3_commit_hook(r->d.store->db, NULL, NULL);
	rig_drain(r);
	assert_true(breaker(r)->open);
}

static void another_groups_breaker_holds_nobody_else(void **state)
{
	struct rig *r = *state;

	publish("t", 0, 6, "");
	publish("u", 0, 6, ",\"k\":\"fine\"");
	rig_drain(r);
	assert_true(breaker(r)->open);
	assert_int_equal(count(r, "effect WHERE grp = 'h'"), 6);
}

static void a_group_with_much_to_do_does_not_starve_another(void **state)
{
	struct rig *r = *state;

	mend(r, false);
	r->d.groups[0].record.paused = r->d.groups[1].record.paused = true;
	publish("t", 0, 100, "");
	publish("u", 0, 3, "");
	rig_drain(r);
	r->d.groups[0].record.paused = r->d.groups[1].record.paused = false;
	rig_exec(r, "UPDATE once_pending SET due_ms = 0 WHERE group_no = 1");
	assert_ok(retry_turn(&r->d.retry, fake_clock.boot_ms));	/* review */
	assert_ok(retry_turn(&r->d.retry, fake_clock.boot_ms));
	assert_int_equal(count(r, "effect WHERE grp = 'h'"), 3);
	assert_int_equal(count(r, "effect WHERE grp = 'g'"), RETRY_ROWS / 2);
}

static void a_paused_group_takes_deliveries_and_runs_nothing(void **state)
{
	struct rig *r = *state;
	struct store *st = r->d.store;

	mend(r, false);
	assert_ok(store_begin(st));
	assert_ok(group_pause(st, r->d.groups[0].record.group_no, true));
	assert_ok(store_commit(st));
	rig_restart(r);
	st = r->d.store;
	assert_true(r->d.groups[0].record.paused);
	publish("t", 0, 4, "");
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, 4);
	assert_int_equal(count(r, "once_pending WHERE attempts = 0"), 4);
	rig_retry_after(r, 3600000);
	assert_int_equal(count(r, "effect"), 0);
	assert_int_equal(count(r, "once_attempt"), 0);
	assert_int_equal(retry_wait_ms(&r->d.retry, fake_clock.boot_ms), -1);
	/* A copy of what waits is still a copy, and poison is still poison. */
	publish("t", 0, 1, "");
	rig_publish("t", "{}");
	rig_drain(r);
	assert_int_equal(count(r, "once_pending"), 4);
	assert_int_equal(count(r, "once_dead_letter"), 1);
	assert_ok(store_begin(st));
	assert_ok(group_pause(st, r->d.groups[0].record.group_no, false));
	assert_ok(store_commit(st));
	rig_restart(r);
	rig_retry_after(r, 0);
	assert_int_equal(count(r, "effect"), 4);
}

static void a_lowered_max_attempts_buries_what_is_over_it(void **state)
{
	struct rig *r = *state;

	publish("t", 0, 2, "");
	rig_drain(r);
	for (int s = 0; s < 120; s++)
		rig_retry_after(r, 1000);
	assert_true(rig_int(r, "SELECT min(attempts) FROM once_pending") > 5);
	publish("t", 2, 1, "");
	rig_drain(r);
	rig_configure(r, GROUP("max_attempts = 4\nretry_window = 8s\n"));
	rig_retry_after(r, 0);
	assert_int_equal(count(r, "once_dead_letter WHERE kind = 'exhausted'"
				  " AND last_type = 'broken'"), 2);
	assert_int_equal(count(r, "once_pending"), 1);
	assert_int_equal(count(r, "once_dead_letter AS l WHERE attempts ="
				  " (SELECT max(n) FROM once_attempt AS a"
				  " WHERE a.key = l.key)"), 2);
	assert_int_equal(r->d.groups[0].pending_rows, 1);
}

static void a_review_goes_in_slices_and_misses_none(void **state)
{
	struct rig *r = *state;

	r->d.groups[0].record.paused = true;
	publish("t", 0, 1000, "");
	rig_drain(r);
	rig_exec(r, "UPDATE once_pending SET attempts = 9, runs = 9,"
		    " first_type = 'x', last_type = 'x' WHERE id % 2 = 0");
	rig_configure(r, GROUP("max_attempts = 9\nretry_window = 2m\n"));
	r->d.groups[0].record.paused = true;
	assert_ok(retry_turn(&r->d.retry, fake_clock.boot_ms));
	assert_int_equal(count(r, "once_dead_letter"), REVIEW_BURIALS);
	rig_retry_after(r, 0);
	assert_int_equal(count(r, "once_dead_letter"), 500);
	assert_int_equal(count(r, "once_pending WHERE attempts = 0"), 500);
}

static void a_shortened_window_and_longest_wait_pull_in_what_waits(void **state)
{
	struct rig *r = *state;

	rig_configure(r, GROUP("retry_initial = 20m\nretry_max = 40m\n"
			       "retry_window = 2h\n"));
	rig_retry_after(r, 0);
	publish("t", 0, 4, "");
	rig_drain(r);
	assert_true(retry_wait_ms(&r->d.retry, fake_clock.boot_ms) >
		    15 * MIN_MS);
	rig_configure(r, GROUP("retry_initial = 1s\nretry_max = 1m\n"
			       "retry_window = 15m\n"));
	rig_retry_after(r, 0);
	assert_true(retry_wait_ms(&r->d.retry, fake_clock.boot_ms) <=
		    72000);
	assert_true(rig_int(r, "SELECT count(DISTINCT due_ms)"
			       " FROM once_pending") > 1);
	/* Later still: those whose shorter window is over are over. */
	rig_exec(r, "UPDATE once_pending SET due_ms = due_ms + 1000000");
	fake_clock.boot_ms += 16 * MIN_MS;
	rig_restart(r);
	rig_retry_after(r, 0);
	assert_int_equal(count(r, "once_dead_letter WHERE kind = 'exhausted'"),
			 4);
}

static void an_event_of_a_group_that_is_gone_is_kept(void **state)
{
	struct rig *r = *state;

	publish("u", 0, 2, "");
	rig_drain(r);
	rig_configure(r, GROUP(""));
	rig_retry_after(r, 3600000);
	assert_int_equal(count(r, "once_pending"), 2);
	mend(r, false);
	rig_configure(r, GROUP("") GROUP_OF("h", "u", ""));
	rig_retry_after(r, 0);
	assert_int_equal(count(r, "effect WHERE grp = 'h'"), 2);
}

static void wrong_starting_places_are_refused(void **state)
{
	struct rig *r = *state;
	struct store *st = r->d.store;
	int64_t g = r->d.groups[0].record.group_no;
	struct breaker open = { .open = true, .open_since_ms = 5 };
	struct breaker shut = { .open = false };
	struct pending p;

	publish("t", 0, 1, "");
	rig_drain(r);
	p = (struct pending){
		.id = rig_int(r, "SELECT id FROM once_pending"),
		.attempts = 2, .runs = 3 };
	assert_ok(store_begin(st));
	assert_err(group_pause(st, g, false), ERR_GONE);
	assert_ok(group_pause(st, g, true));
	assert_err(group_pause(st, g, true), ERR_GONE);
	assert_err(group_pause(st, 99, true), ERR_GONE);
	assert_err(group_breaker_put(st, g, &open, &shut), ERR_GONE);
	assert_ok(group_breaker_put(st, g, &shut, &open));
	assert_err(group_breaker_put(st, g, &shut, &open), ERR_GONE);
	assert_err(pending_wait(st, &p), ERR_GONE);
	p.runs = 1;
	assert_err(pending_wait(st, &p), ERR_GONE);
	p.runs = 2;
	assert_ok(pending_wait(st, &p));
	assert_ok(pending_advance(st, p.id, -1));
	assert_err(pending_advance(st, p.id, 0), ERR_GONE);
	assert_err(pending_advance(st, 99, -9), ERR_GONE);
	store_rollback(st);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T2(f) cmocka_unit_test_setup_teardown(f, setup_two, teardown)
	const struct CMUnitTest tests[] = {
		T(an_outage_of_29_minutes_exhausts_nothing),
		T(an_outage_of_5_hours_exhausts_nothing),
		T(while_it_is_open_nothing_is_attempted_but_probes),
		T(a_probe_that_is_refused_closes_it_too),
		T(it_stays_open_over_a_restart_and_probes_at_once),
		T(waits_and_windows_stand_still_while_it_is_open),
		T(a_batch_that_fails_does_not_open_it),
		T2(another_groups_breaker_holds_nobody_else),
		T2(a_group_with_much_to_do_does_not_starve_another),
		T(a_paused_group_takes_deliveries_and_runs_nothing),
		T(a_lowered_max_attempts_buries_what_is_over_it),
		T(a_review_goes_in_slices_and_misses_none),
		T(a_shortened_window_and_longest_wait_pull_in_what_waits),
		T2(an_event_of_a_group_that_is_gone_is_kept),
		T(wrong_starting_places_are_refused),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
