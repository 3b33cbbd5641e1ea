/* After an owner that died: what may have killed it is run alone. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "handler/sql.h"

#define TABLES	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);\n"			\
	"SELECT retry('later') WHERE :payload ->> 'f' = 'later';\n"
#define GROUP								\
	"[limits]\nbatch = 4\n[group g]\nsubscribe = t\nid = payload:$.id\n" \
	"handler = sql:@H\nredelivery_horizon = 3h\nttl = 4h\n"

static int setup(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP);
	return 0;
}

static int teardown(void **state)
{
	fake_clock.boot_id = "boot-1";
	rig_free(*state);
	return 0;
}

static int64_t count(struct rig *r, const char *what)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	return rig_int(r, sql);
}

static void publish_three(void)
{
	rig_publish("t", "{\"id\":\"a\"}");
	rig_publish("t", "{\"id\":\"x\"}");
	rig_publish("t", "{\"id\":\"b\"}");
}

static void die_and_start(struct rig *r)
{
	rig_kill(r);
	rig_start(r);
}

static void after_a_stop_in_order_nobody_is_careful(void **state)
{
	struct rig *r = *state;

	rig_restart(r);
	assert_int_equal(store_last_end(r->d.store), STORE_STOPPED);
	publish_three();
	rig_drain(r);
	assert_int_equal(count(r, "effect"), 3);
}

static void after_a_crash_the_first_deliveries_wait_to_be_run_alone(void **state)
{
	struct rig *r = *state;

	die_and_start(r);
	assert_int_equal(store_last_end(r->d.store), STORE_DIED);
	publish_three();
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, 3);
	assert_int_equal(count(r, "effect"), 0);
	assert_int_equal(count(r, "once_pending WHERE attempts = 0"), 3);
	/* A window's worth was seen: the rest flows. */
	rig_publish("t", "{\"id\":\"c\"}");
	rig_drain(r);
	assert_int_equal(count(r, "effect"), 0);
	rig_publish("t", "{\"id\":\"d\"}");
	rig_drain(r);
	assert_int_equal(count(r, "effect"), 1);
	rig_retry_after(r, 0);
	assert_int_equal(count(r, "effect"), 5);
	assert_int_equal(count(r, "once_pending"), 0);
	assert_int_equal(count(r, "once_attempt"), 0);
	assert_int_equal(r->d.groups[0].pending_rows, 0);
}

static struct rig *watched;
static int64_t claims[8];
static unsigned claims_len;

/* What another connection sees while the handler runs. */
static enum err watch_claims(void *self UNUSED, const struct attempt *a,
			     struct result *ret_r)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT count(*) * 10 + coalesce("
		 "sum(event_id = '%.*s'), 0) FROM once_pending"
		 " WHERE claimed = %lld", SPAN_FMT(a->id->event_id),
		 (long long)store_epoch(watched->d.store));
	claims[claims_len++] = rig_int(watched, sql);
	*ret_r = (struct result){ .outcome = OUTCOME_OK };
	return OK;
}

static void watch(struct rig *r)
{
	watched = r;
	claims_len = 0;
	sql_handler_close(&r->d.groups[0].handler);
	r->d.groups[0].handler = (struct handler){ .attempt = watch_claims };
}

static void its_claim_is_committed_before_it_runs(void **state)
{
	struct rig *r = *state;

	die_and_start(r);
	watch(r);
	publish_three();
	rig_drain(r);
	rig_retry_after(r, 0);
	assert_int_equal(claims_len, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(claims[i], 11);	/* one claim, its own */
}

/* What waits from before is suspect once, not at each of its attempts. */
static void what_waited_is_claimed_for_its_first_run_only(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"w\",\"f\":\"later\"}");
	rig_drain(r);
	die_and_start(r);
	rig_retry_after(r, 2000);
	assert_int_equal(rig_int(r, "SELECT attempts FROM once_pending"), 2);
	assert_int_equal(rig_int(r, "SELECT claimed FROM once_pending"), 0);
	watch(r);
	rig_retry_after(r, 5000);
	assert_int_equal(claims_len, 1);
	assert_int_equal(claims[0], 0);
}

static void after_a_power_cut_nothing_is_counted_and_nobody_is_careful(
	void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"w\",\"f\":\"later\"}");
	rig_drain(r);
	rig_exec(r, "UPDATE once_pending SET claimed = 1, crashes = 2");
	fake_clock.boot_id = "boot-2";
	die_and_start(r);
	assert_int_equal(store_last_end(r->d.store), STORE_POWERED_OFF);
	assert_int_equal(rig_int(r, "SELECT crashes FROM once_pending"), 2);
	assert_int_equal(rig_int(r, "SELECT claimed FROM once_pending"), 0);
	publish_three();
	rig_drain(r);
	assert_int_equal(count(r, "effect"), 3);
	/* The same without a power cut counts. */
	rig_exec(r, "UPDATE once_pending SET claimed = 1");
	die_and_start(r);
	assert_int_equal(rig_int(r, "SELECT crashes FROM once_pending"), 3);
}

static void a_stop_in_order_costs_no_crash(void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"w\",\"f\":\"later\"}");
	rig_drain(r);
	rig_exec(r, "UPDATE once_pending SET claimed = 1, crashes = 2");
	rig_restart(r);
	assert_int_equal(rig_int(r, "SELECT crashes FROM once_pending"), 2);
}

/* A compiled-in handler that takes the process down at one event. */
static enum err crash_at_x(void *self UNUSED, const struct attempt *a,
			   struct result *ret_r)
{
	if (span_is(a->id->event_id, "x"))
		_exit(9);
	*ret_r = (struct result){ .outcome = OUTCOME_OK };
	return OK;
}

/* One life in a process of its own; whether it died. */
static bool live(struct rig *r)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		rig_start(r);
		sql_handler_close(&r->d.groups[0].handler);
		r->d.groups[0].handler =
			(struct handler){ .attempt = crash_at_x };
		publish_three();	/* again: none was acknowledged */
		rig_drain(r);
		rig_retry_after(r, 0);
		rig_stop(r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 9;
}

static void an_event_that_kills_its_owner_is_buried_and_the_rest_flows(
	void **state)
{
	struct rig *r = *state;
	int deaths = 0;

	rig_stop(r);
	while (deaths < 10 && live(r)) {
		deaths++;
		/* From the second life on nobody waits for it. */
		if (deaths > 2)
			assert_int_equal(count(r, "once_marker"), 2);
	}
	/* The first was nobody's yet. */
	assert_int_equal(deaths, 1 + RETRY_CRASHES);
	rig_start(r);
	assert_int_equal(count(r, "once_dead_letter WHERE event_id = 'x'"
				  " AND kind = 'crash_loop'"
				  " AND last_type = 'handler.crash'"), 1);
	assert_int_equal(count(r, "once_pending"), 0);
	assert_int_equal(count(r, "once_marker"), 2);
	assert_int_equal(rig_int(r, "SELECT dead_crash_loop"
				    " FROM once_counter"), 1);
	/* A copy is suppressed by the letter and harms nobody. */
	assert_int_equal(store_last_end(r->d.store), STORE_STOPPED);
}

static void wrong_starting_places_are_refused(void **state)
{
	struct rig *r = *state;
	struct store *st = r->d.store;
	int64_t id;

	rig_publish("t", "{\"id\":\"w\",\"f\":\"later\"}");
	rig_drain(r);
	id = rig_int(r, "SELECT id FROM once_pending");
	assert_ok(store_begin(st));
	assert_ok(pending_claim(st, id));
	assert_ok(pending_claim(st, id));	/* its own, again */
	assert_err(pending_claim(st, id + 1), ERR_GONE);
	store_rollback(st);
	rig_exec(r, "UPDATE once_pending SET claimed = 99");
	assert_ok(store_begin(st));
	assert_err(pending_claim(st, id), ERR_GONE);
	store_rollback(st);
	assert_ok(store_clean_put(st, fake_clock.boot_ms));
	assert_err(store_clean_put(st, fake_clock.boot_ms), ERR_GONE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(after_a_stop_in_order_nobody_is_careful),
		T(after_a_crash_the_first_deliveries_wait_to_be_run_alone),
		T(its_claim_is_committed_before_it_runs),
		T(what_waited_is_claimed_for_its_first_run_only),
		T(after_a_power_cut_nothing_is_counted_and_nobody_is_careful),
		T(a_stop_in_order_costs_no_crash),
		T(an_event_that_kills_its_owner_is_buried_and_the_rest_flows),
		T(wrong_starting_places_are_refused),
	};

	return cmocka_run_group_tests_name("careful", tests, NULL, NULL);
}
