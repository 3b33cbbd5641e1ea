/*
 * Two misfortunes in a row: a process dies or a sync fails, another goes on
 * with what it finds, and then the power fails.
 */
#include "../support/rig.h"

#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../fakes/power.h"
#include "../support/test.h"
#include "store/care.h"
#include "store/store.h"

#define TABLES	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);\n"			\
	"SELECT reject('bad') WHERE :payload ->> 'k' = 'bad';\n"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\n"
#define CUTS	6	/* of each moment, by chance */
#define MOST	500	/* operations of one thing */
#define EVENTS	4
#define START	40	/* operations of a start */

static struct rig *r;
static char path[128];

static int setup(void **state UNUSED)
{
	r = rig_new(TABLES, HANDLER, GROUP);
	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	rig_stop(r);
	power_watch(path);
	power_lies(false);
	rig_start(r);
	return 0;
}

static int teardown(void **state UNUSED)
{
	power_kill();
	rig_free(r);
	return 0;
}

static void publish_some(unsigned round)
{
	static char text[EVENTS][64];

	for (int i = 0; i < EVENTS; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"%u-%d\",\"k\":\"%s\"}", round, i,
			 i ? "fine" : "bad");
		rig_publish("t", text[i]);
	}
}

/*
 * The process goes, the machine stays.  False: the power fails while the next
 * one starts, at an operation that @round chooses.
 */
static bool start_again(unsigned round)
{
	struct seeded s = { round };
	struct err_detail why = { "" };
	bool dies = seeded_chance(&s, 70);
	enum err e;

	rig_kill(r);
	power_kill();
	if (dies)
		power_die_at(1 + seeded_below(&s, START));
	r->d = (struct daemon){ .config = r->config };
	e = daemon_open(&r->d, &why);
	dies = power_is_dead();
	if (e && !dies)
		fail_msg("%s", why.text);
	if (!dies)
		power_kill();
	return !dies;
}

static void cut(uint64_t seed)
{
	static char id[2][16];
	static unsigned boots;
	char *now = id[++boots % 2];

	rig_kill(r);
	power_seed(seed);
	power_cut();
	snprintf(now, sizeof(id[0]), "cut-%u", boots);
	fake_clock.boot_id = now;
	fake_clock.boot_ms = 1000;
}

static void fault_text(void *arg UNUSED, const char *text)
{
	fail_msg("%s", text);
}

/* All that is acknowledged is in one place; there are @rounds of it. */
static void look(unsigned rounds, uint64_t nth)
{
	int64_t effects, letters;
	unsigned n = 0;

	assert_ok(store_verify(r->d.store, store_now_ms(r->d.store,
		fake_clock.boot_ms), fault_text, NULL, &n));
	assert_int_equal(n, 0);
	effects = rig_int(r, "SELECT count(*) FROM effect");
	letters = rig_int(r, "SELECT count(*) FROM once_dead_letter");
	if (effects != (int64_t)rounds * (EVENTS - 1) || letters != rounds ||
	    effects != rig_int(r, "SELECT count(DISTINCT id) FROM effect"))
		fail_msg("operation %u, round %u: %lld effects, %lld letters",
			 (unsigned)nth, rounds, (long long)effects,
			 (long long)letters);
}

static void settle(void)
{
	rig_drain(r);
	rig_retry_after(r, 1000);
}

/* It died at the @nth operation of a turn: what it wrote is not synced. */
static bool die_then_cut(uint64_t nth, unsigned round)
{
	bool met;

	publish_some(round);
	power_die_at(nth);
	(void)!rig_turn(r);
	met = power_is_dead();
	/* Copies, suppressed by what the dead one wrote: nothing to write. */
	if (!met || start_again(round))
		rig_drain(r);
	cut(round);
	rig_start(r);
	settle();
	look(round + 1, nth);
	return met;
}

static void what_copies_are_suppressed_by_outlives_a_power_cut(
	void **state UNUSED)
{
	unsigned round = 0;
	uint64_t nth = 1;

	while (die_then_cut(nth, round++)) {
		if (round % CUTS == 0)
			nth++;
		assert_true(nth < MOST);
	}
	assert_true(nth > 10);
}

static bool fail_then_cut(uint64_t nth, unsigned round)
{
	uint64_t failed = power_failed();
	enum err e;

	publish_some(round);
	power_fail(POWER_SYNC, nth, SQLITE_IOERR_FSYNC, false);
	e = rig_turn(r);
	failed = power_failed() - failed;
	power_fail(POWER_SYNC, 1, 0, false);
	if (!e || start_again(round))
		rig_drain(r);
	cut(round);
	rig_start(r);
	settle();
	look(round + 1, nth);
	return failed;
}

/* Linux takes for written what a failed sync left behind. */
static void after_a_failed_sync_nothing_is_vouched_for_unwritten(
	void **state UNUSED)
{
	unsigned round = 0;
	uint64_t nth = 1;

	power_lies(true);
	while (fail_then_cut(nth, round++))
		if (round % (CUTS * 10) == 0)
			nth++;
	assert_true(nth > 1);
}

/* The first start, from nothing; true while the operation was met. */
static bool cut_the_first_start(uint64_t nth, enum power_op op, unsigned round)
{
	struct err_detail why = { "" };
	uint64_t failed = power_failed();
	bool met;

	rig_kill(r);
	folder_make(r->dir);
	file_put(r->dir, "s.sql", "%s", TABLES);
	file_put(r->dir, "h.sql", "%s", HANDLER);
	power_watch(path);
	if (op == POWER_ANY)
		power_die_at(nth);
	else
		power_fail(op, nth, SQLITE_IOERR_FSYNC, false);
	r->d = (struct daemon){ .config = r->config };
	(void)!daemon_open(&r->d, &why);
	met = power_is_dead() || power_failed() > failed;
	cut(round * 31 + nth);
	rig_start(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_meta"), 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 0);
	return met;
}

/* At each operation, and after each sync that failed: the directory's too. */
static void a_power_cut_leaves_a_new_store_whole_or_none(void **state UNUSED)
{
	static const enum power_op ops[] = { POWER_ANY, POWER_SYNC };

	power_lies(true);
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		uint64_t nth = 1;
		unsigned round = 0;

		while (cut_the_first_start(nth, ops[i], round)) {
			round = (round + 1) % (ops[i] == POWER_SYNC ? CUTS : 2);
			nth += round == 0;
			assert_true(nth < MOST);
		}
		assert_true(nth > 2);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_copies_are_suppressed_by_outlives_a_power_cut),
		T(after_a_failed_sync_nothing_is_vouched_for_unwritten),
		T(a_power_cut_leaves_a_new_store_whole_or_none),
	};

	folder_in_memory();
	power_install();
	return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}
