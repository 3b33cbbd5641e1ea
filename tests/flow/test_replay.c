/* Letters come back: by a job, once each, for the group that failed. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../fakes/fault_vfs.h"
#include "../support/test.h"
#include "store/job.h"
#include "store/letter.h"

#define TABLES								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, grp TEXT, id TEXT, body TEXT) STRICT;" \
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
#define HANDLER								\
	"INSERT INTO effect (grp, id, body)"				\
	" VALUES (:group, :event_id, :payload);\n"			\
	"SELECT reject('broken') FROM switch"				\
	" WHERE broken AND :group = 'g';\n"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"				\
	"[group other]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

static int setup(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP);
	return 0;
}

static int teardown(void **state)
{
	fault_vfs_reset();
	rig_free(*state);
	return 0;
}

static void bury(struct rig *r, int n)
{
	static char text[200][32];

	for (int i = 0; i < n; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"e%d\"}", i);
		rig_publish("t", text[i]);
	}
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"
				    " WHERE state = 'open'"), n);
}

static void mend(struct rig *r)
{
	rig_exec(r, "UPDATE switch SET broken = 0");
}

/* A job of the letters from..to, at @rate, stopping after @stop failures. */
static int64_t make_job(struct rig *r, int64_t from, int64_t to, int64_t rate,
			int64_t stop, struct span payload)
{
	const struct job j = { .rate = rate, .stop_after = stop,
			       .what = span_str("test") };
	int64_t id = 0;
	bool taken;

	assert_ok(store_begin(r->d.store));
	assert_ok(job_put(r->d.store, &j, &id));
	for (int64_t l = from; l <= to; l++)
		assert_ok(job_add(r->d.store, id, l, payload, &taken));
	assert_ok(job_resume(r->d.store, id));
	assert_ok(store_commit(r->d.store));
	replay_wake(&r->d.replay);
	return id;
}

static void turn(struct rig *r, int64_t ms)
{
	bool started;

	fake_clock.boot_ms += ms;
	assert_ok(replay_turn(&r->d.replay, fake_clock.boot_ms, &started));
	rig_retry_after(r, 0);
}

static void run_all(struct rig *r)
{
	for (int i = 0; i < 1000 && !r->d.replay.idle; i++)
		turn(r, 50);
	assert_true(r->d.replay.idle);
}

static int64_t count(struct rig *r, const char *table, const char *where)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE %s", table,
		 where);
	return rig_int(r, sql);
}

static void a_replay_runs_the_failed_group_only_and_resolves_the_letter(
	void **state)
{
	struct rig *r = *state;

	bury(r, 3);
	assert_int_equal(count(r, "effect", "grp = 'other'"), 3);
	mend(r);
	make_job(r, 1, 3, 0, 0, (struct span){ 0 });
	run_all(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 3);
	assert_int_equal(count(r, "effect", "grp = 'other'"), 3);
	assert_int_equal(count(r, "once_dead_letter", "state = 'resolved'"), 3);
	assert_int_equal(count(r, "once_pending", "1"), 0);
	assert_int_equal(count(r, "once_job", "state = 'done' AND done = 3"), 1);
	/* The letter and the marker go on suppressing. */
	rig_publish("t", "{\"id\":\"e0\"}");
	rig_drain(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 3);
	assert_string_equal(rig_text(r, "SELECT group_concat(outcome)"
		" FROM (SELECT outcome FROM once_attempt ORDER BY key, n"
		" LIMIT 2)"), "permanent,ok");
}

static void a_failed_replay_opens_the_letter_with_a_longer_history(void **state)
{
	struct rig *r = *state;

	bury(r, 1);
	for (int i = 0; i < 3; i++) {
		make_job(r, 1, 1, 0, 0, (struct span){ 0 });
		run_all(r);
	}
	assert_int_equal(count(r, "once_dead_letter",
			       "state = 'open' AND attempts = 4"
			       " AND replays = 3"), 1);
	assert_int_equal(count(r, "once_attempt", "1"), 4);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 0);
}

static void a_mended_payload_is_run_and_the_original_is_kept(void **state)
{
	struct rig *r = *state;

	bury(r, 1);
	mend(r);
	make_job(r, 1, 1, 0, 0, span_str("{\"id\":\"e0\",\"mended\":1}"));
	run_all(r);
	assert_string_equal(rig_text(r, "SELECT body FROM effect"
					" WHERE grp = 'g'"),
			    "{\"id\":\"e0\",\"mended\":1}");
	assert_string_equal(rig_text(r, "SELECT CAST(payload AS TEXT)"
					" FROM once_dead_letter"),
			    "{\"id\":\"e0\"}");
	/* The id is the letter's: the event that comes again is known. */
	rig_publish("t", "{\"id\":\"e0\"}");
	rig_drain(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 1);
}

/* The marker says it was done meanwhile. */
static void what_was_done_meanwhile_is_suppressed_and_resolved(void **state)
{
	struct rig *r = *state;

	bury(r, 1);
	mend(r);
	rig_exec(r, "INSERT INTO once_marker_0 SELECT key, fingerprint, 0, 1,"
		    " 1000000 FROM once_dead_letter");
	make_job(r, 1, 1, 0, 0, (struct span){ 0 });
	run_all(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 0);
	assert_int_equal(count(r, "once_dead_letter", "state = 'resolved'"), 1);
	assert_int_equal(count(r, "once_job", "suppressed = 1"), 1);
}

static void a_conflict_runs_its_own_event_in_spite_of_the_first(void **state)
{
	struct rig *r = *state;

	mend(r);
	rig_publish("t", "{\"id\":\"e\",\"v\":1}");
	rig_publish("t", "{\"id\":\"e\",\"v\":2}");
	rig_drain(r);
	assert_int_equal(count(r, "once_dead_letter", "kind = 'conflict'"), 2);
	make_job(r, 1, 2, 0, 0, (struct span){ 0 });
	run_all(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 2);
	assert_int_equal(count(r, "once_dead_letter", "state = 'resolved'"), 2);
	/* The id is still the first event's. */
	assert_int_equal(count(r, "once_marker", "1"), 2);
}

static void two_jobs_cannot_run_one_letter_twice(void **state)
{
	struct rig *r = *state;
	bool taken = true;
	int64_t other = 0;

	bury(r, 1);
	make_job(r, 1, 1, 0, 0, (struct span){ 0 });
	assert_ok(store_begin(r->d.store));
	assert_ok(job_put(r->d.store, &(struct job){ .what = span_str("x") },
			  &other));
	assert_ok(job_add(r->d.store, other, 1, (struct span){ 0 }, &taken));
	assert_false(taken);
	store_rollback(r->d.store);
}

static void a_job_keeps_its_rate_and_stops_after_its_failures(void **state)
{
	struct rig *r = *state;

	bury(r, 100);
	make_job(r, 1, 100, 10, 0, (struct span){ 0 });
	for (int i = 0; i < 20; i++)
		turn(r, 50);
	assert_in_range(count(r, "once_job_item", "state = 'failed'"), 9, 11);
	rig_exec(r, "UPDATE once_job SET rate = 0, stop_after = 15");
	run_all(r);
	assert_int_equal(count(r, "once_job", "state = 'stopped'"
			       " AND failed = 15"), 1);
	assert_int_equal(count(r, "once_job_item", "state = 'waiting'"), 85);
	assert_int_equal(count(r, "once_dead_letter", "state = 'open'"), 100);
	mend(r);
	assert_ok(store_begin(r->d.store));
	assert_ok(job_resume(r->d.store, 1));
	assert_ok(store_commit(r->d.store));
	replay_wake(&r->d.replay);
	run_all(r);
	assert_int_equal(count(r, "once_job", "state = 'done'"
			       " AND done = 85"), 1);
}

static void cancelling_leaves_every_item_in_one_state(void **state)
{
	struct rig *r = *state;
	bool started;

	bury(r, 50);
	make_job(r, 1, 50, 0, 0, (struct span){ 0 });
	assert_ok(replay_turn(&r->d.replay, fake_clock.boot_ms, &started));
	assert_true(started);
	assert_int_equal(count(r, "once_dead_letter", "state = 'replaying'"),
			 REPLAY_IN_FLIGHT);
	rig_restart(r);		/* a crash in the middle changes nothing */
	assert_ok(store_begin(r->d.store));
	assert_ok(job_cancel(r->d.store, 1, 0));
	assert_ok(store_commit(r->d.store));
	assert_int_equal(count(r, "once_dead_letter", "state = 'open'"), 50);
	assert_int_equal(count(r, "once_pending", "1"), 0);
	assert_int_equal(count(r, "once_job_item", "state = 'cancelled'"), 50);
}

static void a_crash_between_start_and_attempt_goes_on_after_it(void **state)
{
	struct rig *r = *state;
	bool started;

	bury(r, 5);
	mend(r);
	make_job(r, 1, 5, 0, 0, (struct span){ 0 });
	assert_ok(replay_turn(&r->d.replay, fake_clock.boot_ms, &started));
	rig_restart(r);
	fake_clock.boot_ms += 100;
	rig_retry_after(r, 100);
	run_all(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 5);
	assert_int_equal(count(r, "once_job", "state = 'done'"), 1);
	/* Nothing waits: the limit of pending rows is as far as before. */
	assert_int_equal(r->d.groups[0].pending_rows, 0);
	assert_int_equal(r->d.groups[0].pending_bytes, 0);
}

static void a_paused_group_holds_its_replays_too(void **state)
{
	struct rig *r = *state;

	bury(r, 3);
	mend(r);
	assert_ok(store_begin(r->d.store));
	assert_ok(group_pause(r->d.store, r->d.groups[0].record.group_no, true));
	assert_ok(store_commit(r->d.store));
	r->d.groups[0].record.paused = true;
	make_job(r, 1, 3, 0, 0, (struct span){ 0 });
	for (int i = 0; i < 5; i++)
		turn(r, 1000);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 0);
	assert_int_equal(count(r, "once_dead_letter", "state = 'replaying'"), 3);
	r->d.groups[0].record.paused = false;
	assert_ok(retry_refresh(&r->d.retry));
	run_all(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 3);
}

/* What cannot run, for who knows how long, is not in the others' way. */
/* Made in slices, another operator comes between. */
static void a_job_cancelled_while_it_is_made_takes_no_more(void **state)
{
	struct rig *r = *state;
	const struct job j = { .what = span_str("test") };
	bool taken = false;
	int64_t id = 0;

	bury(r, 2);
	assert_ok(store_begin(r->d.store));
	assert_ok(job_put(r->d.store, &j, &id));
	assert_ok(job_add(r->d.store, id, 1, (struct span){ 0 }, &taken));
	assert_true(taken);
	assert_ok(job_cancel(r->d.store, id, 0));
	assert_ok(job_add(r->d.store, id, 2, (struct span){ 0 }, &taken));
	assert_false(taken);
	assert_int_equal(job_resume(r->d.store, id), ERR_GONE);
	assert_ok(store_commit(r->d.store));
	assert_int_equal(count(r, "once_job_item", "state = 'waiting'"), 0);
}

static void a_job_of_a_held_group_holds_no_other_job(void **state)
{
	struct rig *r = *state;

	bury(r, 30);
	mend(r);
	rig_exec(r, "UPDATE once_dead_letter SET group_no = 2 WHERE id > 25");
	r->d.groups[0].record.paused = true;
	make_job(r, 1, 25, 0, 0, (struct span){ 0 });
	make_job(r, 26, 28, 0, 0, (struct span){ 0 });
	for (int i = 0; i < 10; i++)
		turn(r, 50);
	assert_int_equal(count(r, "once_job_item", "state = 'running'"), 20);
	assert_int_equal(count(r, "once_job", "state = 'done' AND done = 3"), 1);
	/* All of it in flight: no less in the way. */
	rig_exec(r, "DELETE FROM once_job_item WHERE state = 'waiting'");
	make_job(r, 29, 30, 0, 0, (struct span){ 0 });
	for (int i = 0; i < 10; i++)
		turn(r, 50);
	assert_int_equal(count(r, "once_job", "state = 'done' AND done = 2"), 1);
	r->d.groups[0].record.paused = false;
	assert_ok(retry_refresh(&r->d.retry));
	run_all(r);
	assert_int_equal(count(r, "once_job", "state = 'done' AND done = 20"), 1);
}

static int setup_order(void **state)
{
	*state = rig_new(TABLES, HANDLER,
			 "[group g]\nsubscribe = t\nid = payload:$.id\n"
			 "order_key = payload:$.k\norder_by = payload:$.v\n"
			 "handler = sql:@H\nredelivery_horizon = 3h\n"
			 "ttl = 24h\n");
	return 0;
}

static void a_replay_never_overwrites_newer_state(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"old\",\"k\":\"x\",\"v\":1}");
	rig_drain(r);
	mend(r);
	rig_publish("t", "{\"id\":\"new\",\"k\":\"x\",\"v\":2}");
	rig_drain(r);
	make_job(r, 1, 1, 0, 0, (struct span){ 0 });
	run_all(r);
	assert_string_equal(rig_text(r, "SELECT group_concat(id) FROM effect"),
			    "new");
	assert_int_equal(count(r, "once_dead_letter", "state = 'resolved'"), 1);
	assert_int_equal(rig_int(r, "SELECT superseded FROM once_counter"), 1);
}

/* The Nth write or sync of a replay fails: the letter is in one place. */
static void a_fault_at_any_write_leaves_the_letter_in_one_place(void **state)
{
	static const enum fault_op ops[] = { FAULT_WRITE, FAULT_SYNC };
	struct rig *r = *state;
	uint64_t failed;

	bury(r, 1);
	for (size_t o = 0; o < ARRAY_LEN(ops); o++) {
		failed = 1;
		for (uint64_t nth = 1; failed && nth < 60; nth++) {
			bool started;
			enum err e;

			rig_exec(r, "DELETE FROM once_job_item");
			make_job(r, 1, 1, 0, 0, (struct span){ 0 });
			fault_vfs_fail(ops[o], nth, SQLITE_IOERR, false);
			e = replay_turn(&r->d.replay, fake_clock.boot_ms,
					&started);
			if (!e)
				e = retry_refresh(&r->d.retry);
			if (!e)
				e = retry_turn(&r->d.retry, fake_clock.boot_ms);
			failed = fault_vfs_failed();
			fault_vfs_reset();
			if (e)
				rig_restart(r);
			assert_int_equal(rig_int(r,
				"SELECT (SELECT count(*) FROM once_dead_letter"
				" WHERE state = 'open') + (SELECT count(*)"
				" FROM once_pending)"), 1);
			rig_retry_after(r, 0);
			run_all(r);
			assert_int_equal(count(r, "once_dead_letter",
					       "state = 'open'"), 1);
		}
		assert_int_equal(failed, 0);
	}
}

/* Every guarded statement refuses each wrong starting place. */
static void no_letter_moves_from_a_state_it_is_not_in(void **state)
{
	static const char *const states[] = { "open", "replaying", "resolved",
					      "discarded" };
	struct rig *r = *state;
	char sql[128];

	bury(r, 1);
	for (size_t is = 0; is < ARRAY_LEN(states); is++)
		for (size_t from = 0; from < ARRAY_LEN(states); from++) {
			enum err e;

			snprintf(sql, sizeof(sql), "UPDATE once_dead_letter"
				 " SET state = '%s'", states[is]);
			rig_exec(r, sql);
			assert_ok(store_begin(r->d.store));
			e = letter_move(r->d.store, 1, states[from], "open", 0,
					0);
			assert_err(e, is == from ? OK : ERR_GONE);
			e = letter_purge(r->d.store, 1, 0);
			assert_err(e, is == 3 && from != 3 ? OK : ERR_GONE);
			store_rollback(r->d.store);
		}
}

/* From the effect on, not from the burial. */
static void a_replayed_event_is_vouched_for_during_its_ttl(void **state)
{
	static const int64_t hour_ms = 3600000;
	struct rig *r = *state;

	bury(r, 1);
	mend(r);
	fake_clock.boot_ms += 20 * hour_ms;
	make_job(r, 1, 1, 0, 0, (struct span){ 0 });
	run_all(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 1);
	fake_clock.boot_ms += 23 * hour_ms;
	rig_publish("t", "{\"id\":\"e0\"}");
	rig_drain(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 1);
	fake_clock.boot_ms += 2 * hour_ms;
	rig_publish("t", "{\"id\":\"e0\"}");
	rig_drain(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 2);
}

static void a_letter_discarded_while_it_waits_leaves_its_job(void **state)
{
	struct rig *r = *state;

	bury(r, 3);
	mend(r);
	make_job(r, 1, 3, 0, 0, (struct span){ 0 });
	assert_ok(store_begin(r->d.store));
	assert_ok(letter_discard(r->d.store, 2, 0, 0));
	assert_ok(letter_purge(r->d.store, 2, 0));
	assert_ok(letter_pulled(r->d.store, 3, span_str("f"), 0, 0));
	assert_ok(store_commit(r->d.store));
	run_all(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 1);
	assert_int_equal(count(r, "once_job_item", "state = 'done'"), 1);
	assert_int_equal(count(r, "once_job_item", "state = 'cancelled'"), 1);
	assert_int_equal(count(r, "once_job", "state = 'done'"), 1);
}

static void a_purge_within_the_ttl_leaves_a_marker(void **state)
{
	struct rig *r = *state;

	bury(r, 1);
	assert_ok(store_begin(r->d.store));
	assert_ok(letter_move(r->d.store, 1, "open", "discarded", 0, 0));
	assert_ok(letter_purge(r->d.store, 1,
			       store_now_ms(r->d.store, fake_clock.boot_ms)));
	assert_ok(store_commit(r->d.store));
	assert_int_equal(count(r, "once_dead_letter", "1"), 0);
	assert_int_equal(count(r, "once_attempt", "1"), 0);
	mend(r);
	rig_publish("t", "{\"id\":\"e0\"}");
	rig_drain(r);
	assert_int_equal(count(r, "effect", "grp = 'g'"), 0);
	assert_int_equal(count(r, "once_marker", "state = 'dead'"), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_replay_runs_the_failed_group_only_and_resolves_the_letter),
		T(a_failed_replay_opens_the_letter_with_a_longer_history),
		T(a_mended_payload_is_run_and_the_original_is_kept),
		T(what_was_done_meanwhile_is_suppressed_and_resolved),
		T(a_conflict_runs_its_own_event_in_spite_of_the_first),
		T(two_jobs_cannot_run_one_letter_twice),
		T(a_job_keeps_its_rate_and_stops_after_its_failures),
		T(cancelling_leaves_every_item_in_one_state),
		T(a_crash_between_start_and_attempt_goes_on_after_it),
		T(a_paused_group_holds_its_replays_too),
		T(a_job_cancelled_while_it_is_made_takes_no_more),
		T(a_job_of_a_held_group_holds_no_other_job),
		cmocka_unit_test_setup_teardown(
			a_replay_never_overwrites_newer_state, setup_order,
			teardown),
		T(a_fault_at_any_write_leaves_the_letter_in_one_place),
		T(no_letter_moves_from_a_state_it_is_not_in),
		T(a_replayed_event_is_vouched_for_during_its_ttl),
		T(a_letter_discarded_while_it_waits_leaves_its_job),
		T(a_purge_within_the_ttl_leaves_a_marker),
	};

	fault_vfs_install();
	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
