/* Handlers that hurt: no neighbour pays, at any position of a batch. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"
#include "handler/sql.h"

#define BATCH	20

/* What payload.k asks for happens after the effect was made. */
static const char tables[] =
	"CREATE TABLE effect (id TEXT PRIMARY KEY, extra ANY) STRICT;"
	"CREATE TABLE one (n INTEGER PRIMARY KEY) STRICT;"
	"INSERT INTO one VALUES (1);"
	"CREATE TABLE bomb (n INTEGER) STRICT;"
	"CREATE TRIGGER bomb_rollback BEFORE INSERT ON bomb WHEN new.n = 1"
	" BEGIN SELECT RAISE(ROLLBACK, 'no'); END;"
	"CREATE TRIGGER bomb_abort BEFORE INSERT ON bomb WHEN new.n = 2"
	" BEGIN SELECT RAISE(ABORT, 'no'); END;"
	"CREATE TRIGGER bomb_retry BEFORE INSERT ON bomb WHEN new.n = 3"
	" BEGIN SELECT retry('by_trigger'); END;"
	"CREATE TABLE child (p INTEGER REFERENCES one (n)"
	" DEFERRABLE INITIALLY DEFERRED) STRICT;"
	"CREATE TABLE big (b BLOB) STRICT;";

static const char handler[] =
	"INSERT INTO effect (id) VALUES (:event_id);\n"
	"INSERT OR ROLLBACK INTO one SELECT 1"
	" WHERE :payload ->> 'k' = 'or_rollback';\n"
	"INSERT INTO bomb SELECT 1 WHERE :payload ->> 'k' = 'raise_rollback';\n"
	"INSERT INTO bomb SELECT 2 WHERE :payload ->> 'k' = 'raise_abort';\n"
	"INSERT INTO bomb SELECT 3 WHERE :payload ->> 'k' = 'trigger_retry';\n"
	"INSERT INTO child SELECT 99 WHERE :payload ->> 'k' = 'deferred';\n"
	"INSERT INTO big WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL"
	" SELECT i + 1 FROM r) SELECT x'00' FROM r"
	" WHERE :payload ->> 'k' = 'runaway_write';\n"
	"SELECT count(*) FROM (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL"
	" SELECT i + 1 FROM r WHERE :payload ->> 'k' = 'runaway_read')"
	" SELECT i FROM r);\n"
	"INSERT INTO big SELECT zeroblob(12000000) FROM (SELECT 1 UNION ALL"
	" SELECT 2) WHERE :payload ->> 'k' = 'full_many';\n"
	"INSERT INTO big SELECT zeroblob(24000000)"
	" WHERE :payload ->> 'k' = 'full_one';\n"
	"UPDATE effect SET extra = hex(randomblob(17000000))"
	" WHERE id = :event_id AND :payload ->> 'k' = 'too_big';\n"
	"UPDATE effect SET extra = randomblob(30000000)"
	" WHERE id = :event_id AND :payload ->> 'k' = 'no_memory';\n"
	"INSERT INTO one SELECT 1 WHERE :payload ->> 'k' = 'unique';\n"
	"SELECT retry('busy_device') WHERE :payload ->> 'k' = 'retry';\n"
	"SELECT reject('unknown_device') WHERE :payload ->> 'k' = 'reject';\n"
	"SELECT poison('odd_version') WHERE :payload ->> 'k' = 'poison';\n"
	"SELECT reject(:payload ->> 'k') WHERE :payload ->> 'k' = 'a b';\n"
	"SELECT json('{' || (:payload ->> 'k')) WHERE :payload ->> 'k' = 'json';\n";

static const struct kind {
	const char *name;
	const char *place;	/* kind of letter; "pending" */
	const char *type;
	bool spoils;		/* costs a second run of those before it */
} kinds[] = {
	{ "or_rollback", "permanent", "SQLITE_CONSTRAINT_PRIMARYKEY", true },
	{ "raise_rollback", "permanent", "SQLITE_CONSTRAINT_TRIGGER", true },
	{ "raise_abort", "permanent", "SQLITE_CONSTRAINT_TRIGGER", false },
	{ "trigger_retry", "pending", "by_trigger", false },
	{ "deferred", "permanent", "SQLITE_CONSTRAINT_FOREIGNKEY", false },
	{ "runaway_write", "pending", "handler.timeout", true },
	{ "runaway_read", "pending", "handler.timeout", true },
	{ "full_many", "permanent", "handler.too_big", true },
	{ "full_one", "permanent", "handler.too_big", true },
	{ "too_big", "permanent", "handler.too_big", true },
	{ "no_memory", "permanent", "handler.too_big", true },
	{ "unique", "permanent", "SQLITE_CONSTRAINT_PRIMARYKEY", false },
	{ "retry", "pending", "busy_device", false },
	{ "reject", "permanent", "unknown_device", false },
	{ "poison", "poison", "odd_version", false },
	{ "a b", "permanent", "handler.bad_type", false },
	{ "json", "poison", "json.malformed", false },
};

/* What must end by itself must do so under the sanitizers too, and emulated. */
#ifndef __x86_64__
#define TIMEOUT	"600ms"
#elif defined(__SANITIZE_ADDRESS__)
#define TIMEOUT	"150ms"
#else
#define TIMEOUT	"40ms"
#endif
#define GROUP								\
	"[limits]\nbatch_bytes = 1M\n[group g]\nsubscribe = t\n"	\
	"id = payload:$.id\nhandler = sql:@H\nredelivery_horizon = 3h\n"	\
	"ttl = 24h\ntimeout = " TIMEOUT "\n"

static int setup(void **state)
{
	*state = rig_new(tables, handler, GROUP);
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static int commits;

static int count_commit(void *arg UNUSED)
{
	commits++;
	return 0;
}

static void check_offender(struct rig *r, const struct kind *k, unsigned round)
{
	char sql[256], type[64];

	if (!strcmp(k->place, "pending"))
		snprintf(sql, sizeof(sql), "SELECT last_type FROM once_pending"
			 " WHERE event_id = '%u-x'", round);
	else
		snprintf(sql, sizeof(sql), "SELECT last_type"
			 " FROM once_dead_letter WHERE event_id = '%u-x'"
			 " AND kind = '%s'", round, k->place);
	snprintf(type, sizeof(type), "%s", rig_text(r, sql));
	assert_string_equal(type, k->type);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM effect"
		 " WHERE id = '%u-x'", round);
	assert_int_equal(rig_int(r, sql), 0);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM once_attempt"
		 " WHERE n = 1 AND error_type = '%s'", k->type);
	assert_true(rig_int(r, sql) > 0);
}

/* One batch of twenty with the offender at @at. */
static void run_round(struct rig *r, const struct kind *k, unsigned at,
		      unsigned round)
{
	static char text[BATCH][64];
	unsigned acked = fake_broker.acked_len;
	int64_t before = rig_int(r, "SELECT count(*) FROM effect");

	for (unsigned i = 0; i < BATCH; i++) {
		if (i == at)
			snprintf(text[i], sizeof(text[i]),
				 "{\"id\":\"%u-x\",\"k\":\"%s\"}", round,
				 k->name);
		else
			snprintf(text[i], sizeof(text[i]),
				 "{\"id\":\"%u-%u\"}", round, i);
		rig_publish("t", text[i]);
	}
	commits = 0;
	assert_ok(rig_turn(r));
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"),
			 before + BATCH - 1);
	assert_int_equal(fake_broker.acked_len, acked + BATCH);
	for (unsigned i = 0; i < BATCH; i++)
		assert_int_equal(fake_broker.acked[acked + i],
				 (int)(acked + i) + 1);
	check_offender(r, k, round);
	/* Those before, the one, those after: not one for each neighbour. */
	assert_true(commits <= (k->spoils ? 3 : 1));
}

static void no_neighbour_pays_at_any_position(void **state)
{
	struct rig *r = *state;
	unsigned round = 0;

	sqlite3_commit_hook(r->d.store->db, count_commit, NULL);
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (unsigned at = 0; at < BATCH; at++)
			run_round(r, &kinds[k], at, round++);
	assert_int_equal(fake_broker.drops, 0);
	assert_string_equal(rig_text(r, "PRAGMA integrity_check"), "ok");
}

static void of_three_statements_with_the_third_failing_none_is_kept(
	void **state)
{
	struct rig *r = *state;

	rig_publish("t", "{\"id\":\"a\",\"k\":\"unique\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"), 1);
}

static void every_event_of_a_batch_may_take_the_transaction_down(void **state)
{
	static char text[BATCH][64];
	struct rig *r = *state;

	for (unsigned i = 0; i < BATCH; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"%u\",\"k\":\"or_rollback\"}", i);
		rig_publish("t", text[i]);
	}
	assert_ok(rig_turn(r));
	assert_int_equal(fake_broker.acked_len, BATCH);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"),
			 BATCH);
	assert_int_equal(rig_int(r, "SELECT dead_permanent FROM once_counter"),
			 BATCH);
	assert_int_equal(rig_int(r, "SELECT received FROM once_counter"), BATCH);
}

/* A handler that doubts when it has company and goes well alone. */
static unsigned company;

static enum err doubt(void *self UNUSED, const struct attempt *a,
		      struct result *ret_r)
{
	*ret_r = (struct result){ .outcome = OUTCOME_OK };
	if (span_is(a->id->event_id, "d") && company++ == 0)
		*ret_r = (struct result){ .outcome = OUTCOME_PERMANENT,
					  .type = { "handler.too_big" },
					  .doubtful = true };
	return OK;
}

static void a_failure_that_neighbours_caused_does_not_count(void **state)
{
	struct rig *r = *state;

	company = 0;
	sql_handler_close(&r->d.groups[0].handler);
	r->d.groups[0].handler = (struct handler){ .attempt = doubt };
	rig_publish("t", "{\"id\":\"a\"}");
	rig_publish("t", "{\"id\":\"d\"}");
	rig_publish("t", "{\"id\":\"b\"}");
	assert_ok(rig_turn(r));
	assert_int_equal(company, 2);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 3);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"), 0);
}

/* What was read and not run when the time is up waits in the store. */
static void a_turn_out_of_time_commits_the_rest_as_pending(void **state)
{
	static char text[BATCH][32];
	struct rig *r = *state;

	for (unsigned i = 0; i < BATCH; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"%u\"}", i);
		rig_publish("t", text[i]);
	}
	fake_clock.step_ms = 100;	/* three looks at the clock an event */
	assert_ok(rig_turn(r));
	fake_clock.step_ms = 0;
	assert_int_equal(fake_broker.acked_len, BATCH);
	assert_true(rig_int(r, "SELECT count(*) FROM once_pending"
			       " WHERE attempts = 0") > 5);
	assert_int_equal(rig_int(r, "SELECT (SELECT count(*) FROM once_pending)"
				    " + (SELECT count(*) FROM once_marker)"),
			 BATCH);
	rig_retry_after(r, 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), BATCH);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), BATCH);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(no_neighbour_pays_at_any_position),
		T(of_three_statements_with_the_third_failing_none_is_kept),
		T(every_event_of_a_batch_may_take_the_transaction_down),
		T(a_failure_that_neighbours_caused_does_not_count),
		T(a_turn_out_of_time_commits_the_rest_as_pending),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
