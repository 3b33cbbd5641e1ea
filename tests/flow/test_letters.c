/* Dead letters within their limit. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "store/letter.h"

#define TABLES	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER	"SELECT reject('never');\n"
#define GROUP(more)							\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\n" more

#define HOUR_MS	((int64_t)3600 * 1000)

static int setup(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP("max_dead = 10 thin\n"));
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

/* Each batch is a second younger than the one before. */
static void publish(struct rig *r, int first, int n)
{
	static char text[4096][32];
	static int at;

	for (int i = 0; i < n; i++, at = (at + 1) % 4096) {
		snprintf(text[at], sizeof(text[at]), "{\"id\":\"%d\"}",
			 first + i);
		rig_publish("t", text[at]);
	}
	rig_drain(r);
	fake_clock.boot_ms += 1000;
}

static int64_t count(struct rig *r, const char *what)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	return rig_int(r, sql);
}

#define KEPT	"once_dead_letter WHERE payload IS NOT NULL"

static void beyond_the_limit_the_oldest_lose_their_payload_and_stay(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 25; i += 5)
		publish(r, i, 5);
	assert_int_equal(count(r, "once_dead_letter WHERE state = 'open'"), 25);
	assert_int_equal(count(r, KEPT), 10);
	assert_int_equal(count(r, KEPT " AND CAST(event_id AS INTEGER) < 15"),
			 0);
	assert_int_equal(r->d.groups[0].open_letters, 25);
	assert_int_equal(r->d.groups[0].kept_letters, 10);
	/* What is left says what it was. */
	assert_int_equal(count(r, "once_dead_letter WHERE payload IS NULL"
				  " AND payload_bytes > 0 AND topic = 't'"
				  " AND last_type = 'never'"), 15);
	rig_restart(r);
	assert_int_equal(r->d.groups[0].open_letters, 25);
	assert_int_equal(r->d.groups[0].kept_letters, 10);
	/* And it suppresses as before. */
	publish(r, 0, 1);
	assert_int_equal(count(r, "once_dead_letter"), 25);
}

static void below_the_limit_nothing_is_lost(void **state)
{
	struct rig *r = *state;

	publish(r, 0, 10);
	assert_int_equal(count(r, KEPT), 10);
}

static void with_stop_nothing_is_ever_thinned(void **state)
{
	struct rig *r = *state;
	const struct group *g = NULL;
	enum ingest_block why = INGEST_OPEN;

	rig_configure(r, GROUP("max_dead = 10 stop\n"));
	publish(r, 0, 9);
	assert_ok(ingest_look(&r->d.ingest, &why, &g));
	assert_int_equal(why, INGEST_OPEN);
	publish(r, 9, 6);		/* what was read is still kept */
	assert_int_equal(count(r, KEPT), 15);
	assert_ok(ingest_look(&r->d.ingest, &why, &g));
	assert_int_equal(why, INGEST_DEAD_FULL);
	assert_string_equal(g->config->name, "g");
}

static void a_lowered_limit_is_reached_in_slices(void **state)
{
	struct rig *r = *state;

	rig_configure(r, GROUP("max_dead = 5000 thin\n"));
	publish(r, 0, 1200);
	assert_int_equal(count(r, KEPT), 1200);
	rig_configure(r, GROUP("max_dead = 10 thin\n"));
	for (int left = 700; left > 0; left -= 500) {
		fake_clock.boot_ms += 1000;
		assert_ok(maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms));
		assert_int_equal(count(r, KEPT), left);
	}
	fake_clock.boot_ms += 1000;
	assert_ok(maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms));
	assert_int_equal(count(r, KEPT), 10);
	assert_int_equal(count(r, "once_dead_letter"), 1200);
}

/* Nor a discarded one: only an operator ends those. */
static void no_letter_goes_before_somebody_decided(void **state)
{
	struct rig *r = *state;

	publish(r, 0, 8);
	rig_exec(r, "UPDATE once_dead_letter SET state = 'discarded',"
		    " changed_ms = 0 WHERE id = 1;"
		    "UPDATE once_dead_letter SET changed_ms = 0 WHERE id = 2;"
		    "UPDATE once_dead_letter SET state = 'resolved',"
		    " changed_ms = 0 WHERE id = 3");
	for (int day = 0; day < 100; day++) {
		fake_clock.boot_ms += 24 * HOUR_MS;
		assert_ok(maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms));
	}
	assert_int_equal(count(r, "once_dead_letter"), 7);
	assert_int_equal(count(r, "once_dead_letter WHERE state = 'resolved'"),
			 0);
}

static int refuse_commit(void *arg UNUSED)
{
	return 1;
}

static void the_numbers_follow_the_commit(void **state)
{
	struct rig *r = *state;

	publish(r, 0, 8);
	sqlite3_commit_hook(r->d.store->db, refuse_commit, NULL);
	rig_publish("t", "{\"id\":\"x\"}");
	assert_true(rig_turn(r) != OK);
	assert_int_equal(r->d.groups[0].open_letters, 8);
	assert_int_equal(r->d.groups[0].kept_letters, 8);
	sqlite3_commit_hook(r->d.store->db, NULL, NULL);
	rig_drain(r);
	assert_int_equal(r->d.groups[0].open_letters, 9);
}

/* A second life of a letter that had lost its payload brings it back. */
static void a_letter_buried_again_has_its_payload_again(void **state)
{
	struct rig *r = *state;

	publish(r, 0, 11);
	assert_int_equal(count(r, "once_dead_letter WHERE payload IS NULL"), 1);
	rig_exec(r, "UPDATE once_dead_letter SET state = 'discarded'");
	rig_restart(r);
	assert_int_equal(r->d.groups[0].open_letters, 0);
	fake_clock.boot_ms += 5 * HOUR_MS;
	publish(r, 0, 11);
	assert_int_equal(count(r, "once_dead_letter"), 11);
	assert_int_equal(count(r, KEPT), 10);
	assert_int_equal(r->d.groups[0].open_letters, 11);
	assert_int_equal(r->d.groups[0].kept_letters, 10);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(no_letter_goes_before_somebody_decided),
		T(beyond_the_limit_the_oldest_lose_their_payload_and_stay),
		T(below_the_limit_nothing_is_lost),
		T(with_stop_nothing_is_ever_thinned),
		T(a_lowered_limit_is_reached_in_slices),
		T(the_numbers_follow_the_commit),
		T(a_letter_buried_again_has_its_payload_again),
	};

	return cmocka_run_group_tests_name("letters", tests, NULL, NULL);
}
