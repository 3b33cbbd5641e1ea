/* The store fails at any moment: nothing is acknowledged, nothing is lost. */
#include "../support/rig.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../fakes/fault_vfs.h"
#include "../support/test.h"
#include "handler/sql.h"
#include "store/space.h"

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
	"max_attempts = 2\nretry_window = 2s\n"

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

static int64_t places_of(struct rig *r, const char *id)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT (SELECT count(*) FROM once_pending WHERE event_id ="
		 " '%s') + (SELECT count(*) FROM once_dead_letter"
		 " WHERE event_id = '%s') + (SELECT count(*) FROM effect"
		 " WHERE id = '%s')", id, id, id);
	return rig_int(r, sql);
}

/* What stops is restarted, as a service manager does after exit 74. */
static void go_on(struct rig *r)
{
	fault_vfs_reset();
	rig_kill(r);
	rig_start(r);
}

/* One event of each fate; an I/O error at the Nth write or sync. */
static void sweep(struct rig *r, enum fault_op op, int code)
{
	static char text[3][64];
	static const char *const kinds[] = { "fine", "bad", "later" };
	static unsigned round;
	uint64_t failed = 1;

	for (uint64_t nth = 1; failed && nth < 100; nth++, round++) {
		unsigned acked = fake_broker.acked_len;
		enum err e;

		for (int i = 0; i < 3; i++) {
			snprintf(text[i], sizeof(text[i]),
				 "{\"id\":\"%u%s\",\"k\":\"%s\"}", round,
				 kinds[i], kinds[i]);
			rig_publish("t", text[i]);
		}
		fault_vfs_reset();
		fault_vfs_fail(op, nth, code, false);
		e = rig_turn(r);
		failed = fault_vfs_failed();
		if (e) {
			assert_null(r->d.ingest.link);
			assert_int_equal(fake_broker.acked_len, acked);
			go_on(r);
		}
		rig_drain(r);
		assert_int_equal(fake_broker.acked_len, acked + 3);
		for (int i = 0; i < 3; i++) {
			char id[32];

			snprintf(id, sizeof(id), "%u%s", round, kinds[i]);
			assert_int_equal(places_of(r, id), 1);
		}
	}
	assert_int_equal(failed, 0);	/* the sweep went past the last one */
}

static void an_error_at_any_write_acknowledges_nothing(void **state)
{
	sweep(*state, FAULT_WRITE, SQLITE_IOERR_WRITE);
}

static void a_full_disk_at_any_write_acknowledges_nothing(void **state)
{
	sweep(*state, FAULT_WRITE, SQLITE_FULL);
}

/* I1: the sync that covers a batch fails. */
static void an_error_at_any_sync_acknowledges_nothing(void **state)
{
	sweep(*state, FAULT_SYNC, SQLITE_IOERR_FSYNC);
}

/* An exhausted event whose burial fails at any write. */
static void a_burial_that_fails_leaves_the_event_pending(void **state)
{
	static const enum fault_op ops[] = { FAULT_WRITE, FAULT_SYNC };
	static char text[64], fine[64];
	struct rig *r = *state;
	unsigned round = 0;

	for (size_t o = 0; o < ARRAY_LEN(ops); o++) {
		uint64_t failed = 1;

		for (uint64_t nth = 1; failed && nth < 100; nth++, round++) {
			char id[32];
			enum err e;

			snprintf(id, sizeof(id), "x%u", round);
			snprintf(text, sizeof(text),
				 "{\"id\":\"%s\",\"k\":\"later\"}", id);
			rig_publish("t", text);
			rig_drain(r);
			/* One that goes well keeps the breaker out of it. */
			snprintf(fine, sizeof(fine), "{\"id\":\"f%u\"}", round);
			rig_publish("t", fine);
			rig_drain(r);
			rig_retry_after(r, 0);
			fake_clock.boot_ms += 5000;
			fault_vfs_reset();
			fault_vfs_fail(ops[o], nth, SQLITE_IOERR, false);
			e = retry_turn(&r->d.retry, fake_clock.boot_ms);
			failed = fault_vfs_failed();
			assert_int_equal(failed ? !!e : !e, 1);
			if (e)
				go_on(r);
			fault_vfs_reset();
			assert_int_equal(places_of(r, id), 1);
			rig_retry_after(r, 5000);
			assert_int_equal(places_of(r, id), 1);
		}
		assert_int_equal(failed, 0);
	}
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"),
			 round);
	assert_true(round > 10);
}

static unsigned runs;

static enum err count_run(void *self UNUSED, const struct attempt *a UNUSED,
			  struct result *ret_r)
{
	runs++;
	*ret_r = (struct result){ .outcome = OUTCOME_OK };
	return OK;
}

/* I9 */
static void without_the_lock_no_handler_runs(void **state)
{
	struct rig *r = *state;
	sqlite3 *other;
	char path[128];

	sql_handler_close(&r->d.groups[0].handler);
	r->d.groups[0].handler = (struct handler){ .attempt = count_run };
	runs = 0;
	rig_publish("t", "{\"id\":\"a\"}");
	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL,
				      NULL), SQLITE_OK);
	assert_err(rig_turn(r), ERR_BUSY);
	assert_int_equal(runs, 0);
	assert_int_equal(fake_broker.acked_len, 0);
	sqlite3_close(other);
	rig_drain(r);
	assert_int_equal(runs, 1);
}

/* I10: the page budget's reserve keeps room for what must still be written. */
static void below_the_reserve_ingest_is_told_to_stay_away(void **state)
{
	static char text[64];
	struct rig *r = *state;
	const struct group *g;
	enum ingest_block why = INGEST_OPEN;
	int64_t room = 0;

	rig_exec(r, "INSERT INTO effect (id) WITH RECURSIVE r(i) AS (SELECT 1"
		    " UNION ALL SELECT i + 1 FROM r WHERE i < 7700)"
		    " SELECT hex(zeroblob(1000)) FROM r");
	assert_ok(ingest_look(&r->d.ingest, &why, &g));
	assert_int_equal(why, INGEST_NO_SPACE);
	assert_ok(space_headroom(r->d.store, &room));
	assert_true(room > 0);
	/* What was read before that is still written. */
	snprintf(text, sizeof(text), "{\"id\":\"a\",\"k\":\"bad\"}");
	rig_publish("t", text);
	rig_drain(r);
	assert_int_equal(places_of(r, "a"), 1);
	/* And room that is made opens it again. */
	rig_exec(r, "DELETE FROM effect");
	assert_ok(ingest_look(&r->d.ingest, &why, &g));
	assert_int_equal(why, INGEST_OPEN);
}

/* A handler that finds no room below the reserve: not its event's fault. */
static void an_event_is_not_buried_for_want_of_space(void **state)
{
	struct rig *r = *state;

	rig_set_handler(r, "INSERT INTO effect (id) SELECT :event_id;\n"
			   "INSERT INTO effect (id)"
			   " SELECT hex(zeroblob(900000));\n");
	rig_restart(r);
	rig_exec(r, "INSERT INTO effect (id) WITH RECURSIVE r(i) AS (SELECT 1"
		    " UNION ALL SELECT i + 1 FROM r WHERE i < 7700)"
		    " SELECT hex(zeroblob(1000)) FROM r");
	rig_publish("t", "{\"id\":\"a\"}");
	assert_err(rig_turn(r), ERR_FULL);
	assert_int_equal(fake_broker.acked_len, 0);
	assert_int_equal(places_of(r, "a"), 0);
	rig_exec(r, "DELETE FROM effect");
	rig_drain(r);
	assert_int_equal(places_of(r, "a"), 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"), 0);
}

static void at_the_pending_limit_ingest_is_told_the_group(void **state)
{
	static char text[20][64];
	struct rig *r = *state;
	struct limits_config tight = *r->d.ingest.limits;
	const struct group *g = NULL;
	enum ingest_block why = INGEST_OPEN;

	tight.pending_rows = 20;
	r->d.ingest.limits = &tight;
	for (int i = 0; i < 20; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"%d\",\"k\":\"later\"}", i);
		rig_publish("t", text[i]);
	}
	rig_drain(r);
	assert_ok(ingest_look(&r->d.ingest, &why, &g));
	assert_int_equal(why, INGEST_PENDING_FULL);
	assert_string_equal(g->config->name, "g");
	r->d.ingest.limits = &r->config->limits;
}

/* What is written to a file without a name is gone with the process. */
static void a_file_that_was_removed_takes_no_commit(void **state)
{
	static const char *const files[] = { "", "-wal", "-shm" };
	static char text[ARRAY_LEN(files)][24];
	struct rig *r = *state;
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		size_t from_end = ARRAY_LEN(files) - 1 - i;
		unsigned acked = fake_broker.acked_len;

		snprintf(path, sizeof(path), "%s/store.db%s", r->dir,
			 files[from_end]);
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"%zu\"}", i);
		rig_publish("t", text[i]);
		assert_int_equal(unlink(path), 0);
		assert_err(rig_turn(r), ERR_IO);
		assert_int_equal(fake_broker.acked_len, acked);
		assert_non_null(strstr(store_detail(r->d.store), "removed"));
		if (!from_end)
			break;
		/* What was committed before is there, and it goes on. */
		rig_kill(r);
		rig_start(r);
		rig_drain(r);
		rig_retry_after(r, 0);
		assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"),
				 i + 1);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_error_at_any_write_acknowledges_nothing),
		T(a_full_disk_at_any_write_acknowledges_nothing),
		T(an_error_at_any_sync_acknowledges_nothing),
		T(a_burial_that_fails_leaves_the_event_pending),
		T(a_file_that_was_removed_takes_no_commit),
		T(without_the_lock_no_handler_runs),
		T(below_the_reserve_ingest_is_told_to_stay_away),
		T(an_event_is_not_buried_for_want_of_space),
		T(at_the_pending_limit_ingest_is_told_the_group),
	};

	fault_vfs_install();
	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
