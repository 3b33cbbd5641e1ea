/* The turns of the daemon and the gate that stops ingest at each limit. */
#include "../support/rig.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "store/owner.h"

#define TABLE	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);"			\
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later';"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

static int setup(void **state)
{
	*state = rig_new(TABLE, HANDLER,
			 "[limits]\nlinger = 200ms\npending_rows = 3\n" GROUP);
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static void turn(struct rig *r, int64_t ms, bool readable)
{
	short ready[LOOP_SOURCES] = { 0 };

	fake_clock.boot_ms += ms;
	if (readable)
		ready[LOOP_LINK] = POLLIN;
	assert_ok(daemon_turn(&r->d, ready));
}

static void connect_it(struct rig *r)
{
	for (int i = 0; i < 5 && r->d.session.state != SESSION_UP; i++)
		turn(r, 0, false);
	assert_int_equal(r->d.session.state, SESSION_UP);
}

/* Reads what there is, linger included. */
static void read_it(struct rig *r)
{
	turn(r, 0, true);
	turn(r, 200, true);
}

static void linger_waits_a_little_for_more(void **state)
{
	struct rig *r = *state;

	connect_it(r);
	rig_publish("t", "{\"id\":\"a\"}");
	turn(r, 0, true);
	assert_int_equal(fake_broker.reads, 0);
	assert_true(daemon_wait_ms(&r->d) <= 200);
	rig_publish("t", "{\"id\":\"b\"}");
	turn(r, 199, true);
	assert_int_equal(fake_broker.reads, 0);
	turn(r, 1, true);
	assert_int_equal(fake_broker.reads, 1);
	assert_int_equal(fake_broker.acked_len, 2);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 2);
}

static sqlite3 *lock(struct rig *r)
{
	sqlite3 *db;
	char path[128];

	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
			 SQLITE_OK);
	return db;
}

static void a_short_lock_is_waited_for(void **state)
{
	struct rig *r = *state;
	sqlite3 *other;

	connect_it(r);
	rig_publish("t", "{\"id\":\"a\"}");
	other = lock(r);
	read_it(r);
	assert_int_equal(r->d.gate, GATE_LOCKED);
	assert_int_equal(fake_broker.reads, 0);
	assert_int_equal(fake_broker.drops, 0);
	assert_true(daemon_wait_ms(&r->d) <= 20);
	sqlite3_close(other);
	turn(r, 20, true);
	read_it(r);
	assert_int_equal(r->d.gate, GATE_OPEN);
	assert_int_equal(fake_broker.acked_len, 1);
}

static void a_lock_longer_than_the_keepalive_sends_it_away_and_back(void **state)
{
	struct rig *r = *state;
	sqlite3 *other;

	connect_it(r);
	rig_publish("t", "{\"id\":\"a\"}");
	other = lock(r);
	read_it(r);
	turn(r, 61000, false);
	assert_true(r->d.session.held);
	assert_null(r->d.ingest.link);
	assert_int_equal(fake_broker.acked_len, 0);
	sqlite3_close(other);
	turn(r, 20, false);
	connect_it(r);
	assert_false(r->d.session.held);
	read_it(r);
	assert_int_equal(fake_broker.acked_len, 1);
}

/* I10 */
static void at_the_pending_limit_events_stay_with_the_broker(void **state)
{
	static char text[6][32];
	struct rig *r = *state;
	char lines[256];
	pid_t pid;

	connect_it(r);
	for (int i = 0; i < 3; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"%d\",\"k\":\"later\"}", i);
		rig_publish("t", text[i]);
	}
	read_it(r);
	assert_int_equal(r->d.groups[0].pending_rows, 3);
	turn(r, 0, true);
	turn(r, 1000, true);
	assert_int_equal(r->d.gate, GATE_PENDING);
	assert_true(r->d.session.held);
	assert_int_equal(fake_broker.acked_len, 3);
	owner_look(r->config->store.path, &pid, lines, sizeof(lines));
	assert_non_null(strstr(lines, "pending limit"));
	/* The retries go on, and when they go well it comes back. */
	rig_exec(r, "UPDATE once_pending SET payload = x'7b7d'");
	turn(r, 400000, false);
	turn(r, 1000, false);
	assert_int_equal(r->d.gate, GATE_OPEN);
	connect_it(r);
}

/* max_dead = N stop: nothing is lost, and status names the group. */
static void at_the_limit_of_open_letters_events_stay_with_the_broker(
	void **state)
{
	struct rig *r = *state;
	char lines[256];
	pid_t pid;

	rig_configure(r, GROUP "max_dead = 2 stop\n");
	connect_it(r);
	rig_publish("t", "{}");
	turn(r, 0, true);
	turn(r, 1000, true);
	assert_int_equal(r->d.gate, GATE_OPEN);
	rig_publish("t", "{\"n\":2}");
	turn(r, 0, true);
	turn(r, 1000, true);
	assert_int_equal(r->d.gate, GATE_DEAD);
	assert_true(r->d.session.held);
	assert_int_equal(fake_broker.acked_len, 2);
	owner_look(r->config->store.path, &pid, lines, sizeof(lines));
	assert_non_null(strstr(lines, "max_dead dead letters: group g"));
	rig_publish("t", "{\"id\":\"a\"}");
	turn(r, 1000, true);
	assert_int_equal(fake_broker.acked_len, 2);
	/* A restart counts them again; one less and it comes back. */
	rig_restart(r);
	assert_int_equal(r->d.groups[0].open_letters, 2);
	turn(r, 1000, false);
	assert_int_equal(r->d.gate, GATE_DEAD);
	r->d.groups[0].open_letters--;
	turn(r, 1000, false);
	assert_int_equal(r->d.gate, GATE_OPEN);
	connect_it(r);
	read_it(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
}

/* Held, it connects now and then, only so that the session lives. */
static void a_held_session_is_touched_before_it_expires(void **state)
{
	struct rig *r = *state;
	unsigned drops;

	connect_it(r);
	r->d.groups[0].pending_rows = 3;
	turn(r, 1000, false);
	assert_true(r->d.session.held);
	drops = fake_broker.drops;
	turn(r, 29 * 60000, false);
	assert_int_equal(fake_broker.drops, drops);
	for (int i = 0; i < 4; i++)
		turn(r, 60000, false);
	assert_int_equal(fake_broker.drops, drops + 1);
	assert_true(r->d.session.held);
	assert_null(r->d.ingest.link);
	assert_int_equal(fake_broker.acked_len, 0);
}

static void losses_are_followed_by_longer_waits_within_the_cap(void **state)
{
	struct rig *r = *state;
	int64_t waited = 0, connects = 0;

	connect_it(r);
	for (int i = 0; i < 300; i++) {
		if (r->d.session.state == SESSION_UP) {
			fake_broker.read_result = ERR_LINK;
			turn(r, 0, true);
			turn(r, 200, true);
			fake_broker.read_result = OK;
			connects++;
			assert_int_equal(r->d.session.state, SESSION_AWAY);
		}
		waited += 1000;
		turn(r, 1000, false);
	}
	/* Five minutes of accept-and-drop: at most 12 connects a minute. */
	assert_true(connects >= 5 && connects <= 60);
	assert_true(session_wait_ms(&r->d.session, fake_clock.boot_ms) <=
		    300000);
}

static int64_t away_ms(struct rig *r)
{
	return session_wait_ms(&r->d.session, fake_clock.boot_ms);
}

/* A broker that is away: each attempt ends before CONNACK. */
static void a_broker_away_for_long_is_found_within_the_cap(void **state)
{
	struct rig *r = *state;
	int64_t cap_ms = r->config->broker.reconnect_max_ms, back_ms;

	connect_it(r);
	fake_broker.refuse = true;
	fake_broker.read_result = ERR_LINK;
	turn(r, 0, true);
	turn(r, 200, true);
	for (int s = 0; s < 15 * 60; s++) {
		turn(r, 1000, false);
		assert_true(away_ms(r) <= cap_ms);
	}
	assert_true(fake_broker.refused >= 15 * 60000 / cap_ms);
	assert_int_equal(r->d.session.state, SESSION_AWAY);

	fake_broker.refuse = false;
	fake_broker.read_result = OK;
	rig_publish("t", "{\"id\":\"a\"}");
	back_ms = fake_clock.boot_ms;
	while (r->d.session.state != SESSION_UP)
		turn(r, 1000, false);
	assert_true(fake_clock.boot_ms - back_ms <= cap_ms + 2000);
	assert_true(fake_broker.subscribes > 1);
	read_it(r);
	assert_int_equal(fake_broker.acked_len, 1);
}

/* At the default cap, whenever the minute is taken to begin. */
static void a_broker_that_accepts_and_drops_is_met_12_times_a_minute_at_most(
	void **state)
{
	struct rig *r = *state;
	unsigned in_second[600] = { 0 };

	for (int s = 0; s < 600; s++) {
		unsigned minute = 0;

		turn(r, 1000, false);
		turn(r, 0, false);
		turn(r, 0, false);
		if (r->d.session.state == SESSION_UP) {
			in_second[s]++;
			fake_broker.read_result = ERR_LINK;
			turn(r, 0, true);
			turn(r, 200, true);
			fake_broker.read_result = OK;
		}
		for (int i = s < 60 ? 0 : s - 60; i <= s; i++)
			minute += in_second[i];
		assert_true(minute <= 12);
	}
}

/* Owners that die, one after the other. */
static void die(struct rig *r, int times)
{
	for (int i = 0; i < times; i++) {
		rig_kill(r);
		rig_start(r);
	}
}

static void what_kills_each_process_before_one_event_is_backed_off_from(void **state)
{
	struct rig *r = *state;

	die(r, 4);
	assert_int_equal(away_ms(r), 0);
	die(r, 1);
	assert_true(away_ms(r) >= 60000);
	fake_clock.boot_ms += 400000;
	connect_it(r);
	die(r, 1);
	assert_true(away_ms(r) >= 60000);
	fake_clock.boot_ms += 400000;
	connect_it(r);
	rig_publish("t", "{\"id\":\"a\"}");
	read_it(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	die(r, 4);
	assert_int_equal(away_ms(r), 0);
}

/* On a quiet topic it died of something else. */
static void a_death_after_a_steady_time_is_no_poison(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 6; i++) {
		assert_int_equal(away_ms(r), 0);
		connect_it(r);
		turn(r, 31000, false);
		die(r, 1);
	}
	assert_int_equal(away_ms(r), 0);
}

static void a_power_cut_is_nobodys_fault(void **state)
{
	struct rig *r = *state;

	die(r, 4);
	fake_clock.boot_id = "another";
	die(r, 1);
	assert_int_equal(away_ms(r), 0);
	fake_clock.boot_id = "boot-1";
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_kills_each_process_before_one_event_is_backed_off_from),
		T(a_death_after_a_steady_time_is_no_poison),
		T(a_power_cut_is_nobodys_fault),
		T(linger_waits_a_little_for_more),
		T(a_short_lock_is_waited_for),
		T(a_lock_longer_than_the_keepalive_sends_it_away_and_back),
		T(at_the_pending_limit_events_stay_with_the_broker),
		T(at_the_limit_of_open_letters_events_stay_with_the_broker),
		T(a_held_session_is_touched_before_it_expires),
		T(losses_are_followed_by_longer_waits_within_the_cap),
		T(a_broker_away_for_long_is_found_within_the_cap),
		T(a_broker_that_accepts_and_drops_is_met_12_times_a_minute_at_most),
	};

	return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
