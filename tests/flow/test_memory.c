/* SQLite gets no memory, at any of its requests: nothing is lost or doubled. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../fakes/fault_alloc.h"
#include "../support/test.h"

#define TABLES								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"	\
	"CREATE TABLE once (x INTEGER NOT NULL) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);\n"			\
	"INSERT INTO once SELECT NULL WHERE :payload ->> 'k' = 'bad';\n" \
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later';\n"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\nretry_initial = 1s\n"	\
	"max_attempts = 3\nretry_window = 6s\n"
#define MOST	100000	/* requests in one scene */

static struct rig *r;

static int setup(void **state UNUSED)
{
	r = rig_new(TABLES, HANDLER, GROUP);
	return 0;
}

static int teardown(void **state UNUSED)
{
	fault_alloc_fail(0, false);
	rig_free(r);
	return 0;
}

static int64_t places_of(const char *id)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT (SELECT count(*) FROM once_pending WHERE event_id ="
		 " '%s') + (SELECT count(*) FROM once_dead_letter"
		 " WHERE event_id = '%s') + (SELECT count(*) FROM effect"
		 " WHERE id = '%s')", id, id, id);
	return rig_int(r, sql);
}

/* Later requests lie further apart: each of the first, every 7th of the rest. */
static uint64_t next(uint64_t nth)
{
	return nth < 60 ? nth + 1 : nth + 7;
}

static void publish_three(unsigned round, char id[3][32])
{
	static char text[3][64];
	static const char *const kinds[] = { "fine", "bad", "later" };

	for (int i = 0; i < 3; i++) {
		snprintf(id[i], 32, "%u%s", round, kinds[i]);
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"%s\",\"k\":\"%s\"}", id[i], kinds[i]);
		rig_publish("t", text[i]);
	}
}

/* True while the scene was disturbed. */
static bool disturb_turn(uint64_t nth, bool onwards, unsigned round)
{
	unsigned acked = fake_broker.acked_len;
	char id[3][32];
	bool failed;
	enum err e;

	publish_three(round, id);
	fault_alloc_fail(nth, onwards);
	e = rig_turn(r);
	failed = fault_alloc_failed();
	fault_alloc_fail(0, false);
	if (e) {
		assert_null(r->d.ingest.link);
		assert_int_equal(fake_broker.acked_len, acked);
	}
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, acked + 3);
	for (int i = 0; i < 3; i++)
		if (places_of(id[i]) != 1)
			fail_msg("request %llu: %s is in %lld places",
				 (unsigned long long)nth, id[i],
				 (long long)places_of(id[i]));
	/* One that is fine is done, whatever its neighbours met. */
	if (rig_int(r, "SELECT count(*) FROM effect") != (int64_t)round + 1)
		fail_msg("request %llu: an event that is fine is not done",
			 (unsigned long long)nth);
	return failed;
}

static void sweep_turns(bool onwards)
{
	uint64_t nth = 1;
	unsigned round = 0;

	while (disturb_turn(nth, onwards, round)) {
		nth = next(nth);
		round++;
		rig_exec(r, "DELETE FROM once_pending");
		assert_true(nth < MOST);
	}
	assert_true(round > 10);
}

static void a_turn_without_memory_acknowledges_nothing(void **state UNUSED)
{
	sweep_turns(false);
}

static void a_turn_that_gets_none_any_more_acknowledges_nothing(
	void **state UNUSED)
{
	sweep_turns(true);
}

static void a_start_without_memory_can_be_made_again(void **state UNUSED)
{
	uint64_t nth = 1;
	bool failed = true;

	rig_publish("t", "{\"id\":\"x\"}");
	rig_drain(r);
	for (unsigned n = 0; failed; n++, nth = next(nth)) {
		struct err_detail why = { "" };
		enum err e;

		rig_kill(r);
		r->d = (struct daemon){ .config = r->config };
		fault_alloc_fail(nth, false);
		e = daemon_open(&r->d, &why);
		failed = fault_alloc_failed();
		fault_alloc_fail(0, false);
		if (e)
			assert_true(*why.text);
		assert_true(nth < MOST);
	}
	rig_restart(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
}

static void a_retry_without_memory_is_made_later(void **state UNUSED)
{
	bool failed = true;
	uint64_t nth = 1;

	for (unsigned n = 0; failed; n++, nth = next(nth)) {
		char id[3][32];

		publish_three(n, id);
		rig_drain(r);
		fake_clock.boot_ms += 2000;
		fault_alloc_fail(nth, false);
		(void)!retry_turn(&r->d.retry, fake_clock.boot_ms);
		failed = fault_alloc_failed();
		fault_alloc_fail(0, false);
		assert_int_equal(places_of(id[2]), 1);
		rig_kill(r);
		rig_start(r);
		rig_retry_after(r, 120000);
		assert_int_equal(places_of(id[2]), 1);
		rig_exec(r, "DELETE FROM once_pending");
		assert_true(nth < MOST);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_turn_without_memory_acknowledges_nothing),
		T(a_turn_that_gets_none_any_more_acknowledges_nothing),
		T(a_start_without_memory_can_be_made_again),
		T(a_retry_without_memory_is_made_later),
	};

	fault_alloc_install();
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
