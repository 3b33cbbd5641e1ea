/* Statements that change a state refuse each wrong starting place. */
#include "../support/rig.h"

#include <string.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../support/test.h"
#include "store/job.h"
#include "store/letter.h"
#include "store/pending.h"

#define TABLES	"CREATE TABLE effect (id TEXT) STRICT;"
#define HANDLER								\
	"SELECT retry('later') WHERE :payload ->> 'id' = 'late';"	\
	"SELECT reject('broken');"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

static int setup(void **state)
{
	struct rig *r = rig_new(TABLES, HANDLER, GROUP);

	rig_publish("t", "{\"id\":\"late\"}");
	rig_publish("t", "{\"id\":\"dead\"}");
	rig_drain(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static void a_wait_is_not_written_over_another(void **state)
{
	struct rig *r = *state;
	struct store *st = r->d.store;
	struct pending p = { .id = rig_int(r, "SELECT id FROM once_pending") };

	assert_ok(store_begin(st));
	p.runs = 1;		/* the one that was written already */
	assert_err(pending_wait(st, &p), ERR_GONE);
	p.runs = 3;		/* one that nobody made */
	assert_err(pending_wait(st, &p), ERR_GONE);
	p.runs = 2;
	assert_ok(pending_wait(st, &p));
	assert_err(pending_wait(st, &p), ERR_GONE);
	store_rollback(st);
}

static int64_t make_job(struct store *st, int64_t letter_id)
{
	const struct job j = { .what = span_str("a test") };
	bool taken = false;
	int64_t id = 0;

	assert_ok(job_put(st, &j, &id));
	assert_ok(job_add(st, id, letter_id, (struct span){ 0 }, &taken));
	assert_true(taken);
	return id;
}

static void an_item_that_does_not_run_does_not_end(void **state)
{
	struct rig *r = *state;
	struct store *st = r->d.store;
	int64_t letter, job, waits;

	/* Another's, so that nothing else is missing. */
	waits = rig_int(r, "SELECT id FROM once_pending");
	letter = rig_int(r, "SELECT id FROM once_dead_letter");
	assert_ok(store_begin(st));
	job = make_job(st, letter);
	/* Its letter says that it runs, and the item that it does not. */
	assert_ok(letter_move(st, letter, "open", "replaying", 0,
			      LETTER_NOBODY));
	assert_err(job_end_item(st, job, letter, waits, JOB_DONE, 0), ERR_GONE);
	store_rollback(st);
}

static void only_a_discarded_letter_is_dropped(void **state)
{
	struct rig *r = *state;
	struct store *st = r->d.store;
	const struct hash_key key = { .bytes = "none" };
	int64_t id = rig_int(r, "SELECT id FROM once_dead_letter");

	assert_ok(store_begin(st));
	assert_err(letter_drop(st, id, &key, 0, "discarded"), ERR_GONE);
	assert_err(letter_drop(st, id, &key, 0, "resolved"), ERR_GONE);
	assert_ok(letter_drop(st, id, &key, 0, "open"));
	store_rollback(st);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_wait_is_not_written_over_another),
		T(an_item_that_does_not_run_does_not_end),
		T(only_a_discarded_letter_is_dropped),
	};

	return cmocka_run_group_tests_name("guards", tests, NULL, NULL);
}
