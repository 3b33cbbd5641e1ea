/*
 * Each operation on the files fails, once or from then on, with each error: of
 * all that the store does nothing is lost or doubled, and it goes on.
 */
#include "../support/rig.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../fakes/fault_vfs.h"
#include "../support/shelf.h"
#include "../support/test.h"
#include "store/care.h"
#include "store/job.h"
#include "store/store.h"

#define TABLES								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"	\
	"CREATE TABLE once (x INTEGER NOT NULL) STRICT;"		\
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);\n"			\
	"INSERT INTO once SELECT NULL FROM switch"			\
	" WHERE broken AND :payload ->> 'k' = 'bad';\n"			\
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later';\n"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\nretry_initial = 1m\n"	\
	"max_attempts = 3\nretry_window = 5m\n"
#define MIN_MS	((int64_t)60 * 1000)
#define MOST	1000	/* operations of one scene */
#define FIRST	60	/* so many of it one by one, */
#define STEP	3	/* then some */

/* Where everything is, whatever way it went. */
#define PICTURE								\
	"SELECT (SELECT ifnull(group_concat(id), '') FROM"		\
	" (SELECT id FROM effect ORDER BY id))"				\
	" || '; ' || (SELECT ifnull(group_concat(kind || state), '') FROM" \
	" (SELECT kind, state FROM once_dead_letter ORDER BY event_id, kind))" \
	" || '; ' || (SELECT ifnull(group_concat(event_id), '') FROM"	\
	" (SELECT event_id FROM once_pending ORDER BY event_id))"	\
	" || '; ' || (SELECT count(*) FROM once_marker)"		\
	" || '; ' || (SELECT ifnull(group_concat(state), '') FROM once_job)" \
	" || '; ' || (SELECT group_concat(state) FROM"			\
	" (SELECT state FROM once_generation ORDER BY generation))"

static struct rig *r;
static char path[128];
static struct shelf then;
static struct fake_broker broker_then;
static struct fake_clock clock_then;
static unsigned published;
static int64_t jobs;

struct scene {
	const char *name;
	void (*prepare)(void);
	enum err (*act)(struct err_detail *why);
	bool starts;	/* @act opens the store */
};

static void publish(const char *payload)
{
	rig_publish("t", payload);
	published++;
}

static enum err say(enum err e, struct err_detail *why)
{
	return e ? err_say(why, e, "%s", store_detail(r->d.store)) : OK;
}

/* one event of each fate */

static void one_of_each(void)
{
	publish("{\"id\":\"known\"}");
	rig_drain(r);
	publish("{\"id\":\"fine\"}");
	publish("{\"id\":\"bad\",\"k\":\"bad\"}");
	publish("{\"id\":\"later\",\"k\":\"later\"}");
	publish("{\"id\":\"known\"}");
	publish("{\"id\":\"known\",\"v\":2}");
	publish("{\"no\":\"id\"}");
	publish("{malformed");
	publish("{\"id\":\"fine\"}");
}

static enum err turn(struct err_detail *why)
{
	unsigned acked = fake_broker.acked_len;
	enum err e = rig_turn(r);

	if (e)
		assert_int_equal(fake_broker.acked_len, acked);
	return say(e, why);
}

/* the last attempt */

static void one_that_has_one_left(void)
{
	publish("{\"id\":\"later\",\"k\":\"later\"}");
	publish("{\"id\":\"fine\"}");
	rig_drain(r);
	rig_retry_after(r, 75000);
	fake_clock.boot_ms += 150000;
}

static enum err retry(struct err_detail *why)
{
	enum err e = retry_refresh(&r->d.retry);

	while (!e && !retry_wait_ms(&r->d.retry, fake_clock.boot_ms))
		e = retry_turn(&r->d.retry, fake_clock.boot_ms);
	return say(e, why);
}

/* a replay of three letters */

static void three_letters(void)
{
	publish("{\"id\":\"a\",\"k\":\"bad\"}");
	publish("{\"id\":\"b\",\"k\":\"bad\"}");
	publish("{\"id\":\"c\",\"k\":\"bad\"}");
	rig_drain(r);
	rig_exec(r, "UPDATE switch SET broken = 0");
}

static enum err make_job(void)
{
	const struct job j = { .what = span_str("test") };
	int64_t id = 0;
	bool taken;
	enum err e = store_begin(r->d.store);

	if (e)
		return e;
	e = job_put(r->d.store, &j, &id);
	for (int64_t l = 1; !e && l <= 3; l++)
		e = job_add(r->d.store, id, l, (struct span){ 0 }, &taken);
	if (!e)
		e = job_resume(r->d.store, id);
	if (!e)
		return store_commit(r->d.store);
	store_rollback(r->d.store);
	return e;
}

static enum err run_jobs(void)
{
	bool started;
	enum err e = OK;

	for (int i = 0; !e && i < 100 && !r->d.replay.idle; i++) {
		fake_clock.boot_ms += 50;
		e = replay_turn(&r->d.replay, fake_clock.boot_ms, &started);
		if (!e)
			e = retry_refresh(&r->d.retry);
		if (!e)
			e = retry_turn(&r->d.retry, fake_clock.boot_ms);
	}
	return e;
}

static enum err replay(struct err_detail *why)
{
	enum err e = jobs ? OK : make_job();

	replay_wake(&r->d.replay);
	return say(e ? e : run_jobs(), why);
}

/* a generation that is drained, and another that is closed */

static void an_expired_generation(void)
{
	static char text[200][32];

	for (int i = 0; i < 200; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"e%d\"}", i);
		publish(text[i]);
	}
	rig_drain(r);
	for (int i = 0; i < 3; i++) {
		fake_clock.boot_ms += 81 * MIN_MS;
		assert_ok(maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms));
	}
	rig_exec(r, "DELETE FROM effect");
	fake_clock.boot_ms += 81 * MIN_MS;
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 200);
}

static enum err sweep(struct err_detail *why)
{
	fake_clock.boot_ms += 1000;
	return say(maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms), why);
}

/* a start: on what another left behind, and on nothing */

/* With its WAL, as a process leaves it that is killed. */
static void a_store_whose_owner_died(void)
{
	one_of_each();
	rig_drain(r);
	shelf_take(&then, path);
}

static void no_store(void)
{
}

static enum err start(struct err_detail *why)
{
	r->d = (struct daemon){ .config = r->config };
	return daemon_open(&r->d, why);
}

/* a backup */

static void backup_path(char buf[128])
{
	snprintf(buf, 128, "%s/copy", r->dir);
}

static enum err backup(struct err_detail *why)
{
	char copy[128];

	backup_path(copy);
	return access(copy, F_OK) ? store_backup(r->d.store, copy, 1, why) : OK;
}

static const struct scene scenes[] = {
	{ "a turn", one_of_each, turn, false },
	{ "the last attempt", one_that_has_one_left, retry, false },
	{ "a replay", three_letters, replay, false },
	{ "a sweep", an_expired_generation, sweep, false },
	{ "a start", a_store_whose_owner_died, start, true },
	{ "the first start", no_store, start, true },
	{ "a backup", one_of_each, backup, false },
};

static void fault_text(void *arg UNUSED, const char *text)
{
	fail_msg("%s", text);
}

static void is_sound(void)
{
	unsigned n = 0;

	assert_ok(store_verify(r->d.store, store_now_ms(r->d.store,
		fake_clock.boot_ms), fault_text, NULL, &n));
	assert_int_equal(n, 0);
}

/* The survivors of daemon_turn(): the others end the daemon. */
static bool ends(enum err e)
{
	return e != ERR_FULL && e != ERR_BUSY && e != ERR_NOMEM;
}

/* Everything comes to its place; where that is comes back. */
static const char *finish(const struct scene *s, enum err e)
{
	struct err_detail why = { "" };

	if (s->starts && e) {
		rig_kill(r);
		rig_start(r);
	} else if (e && ends(e)) {
		rig_kill(r);
		rig_start(r);
	}
	/* A commit whose sync failed may have come about. */
	jobs = rig_int(r, "SELECT count(*) FROM once_job");
	if (e && !s->starts && s->act(&why))
		fail_msg("%s: it does not go on: %s", s->name, why.text);
	rig_drain(r);
	rig_retry_after(r, 1000);
	is_sound();
	assert_int_equal(fake_broker.acked_len, published);
	return rig_text(r, PICTURE);
}

struct fault {
	const char *name;
	int err_no, code;	/* one of them */
};

static void arm(const struct fault *f, uint64_t nth, bool onwards)
{
	fault_vfs_reset();
	if (f->err_no)
		fault_vfs_fail_errno(FAULT_ANY, nth, f->err_no, onwards);
	else
		fault_vfs_fail(FAULT_ANY, nth, f->code, onwards);
}

/* Makes what each of a scene's runs begins with. */
static void prepare(const struct scene *s)
{
	char name[160];

	fault_vfs_reset();
	published = 0;
	r = rig_new(TABLES, HANDLER, GROUP);
	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	/* A ballast of no bytes costs no time. */
	snprintf(name, sizeof(name), "%s.ballast", path);
	assert_int_equal(truncate(name, 0), 0);
	assert_int_equal(truncate(name, 32 << 20), 0);
	s->prepare();
	if (!s->starts) {
		rig_stop(r);
		shelf_take(&then, path);
		rig_start(r);
	}
	broker_then = fake_broker;
	clock_then = fake_clock;
}

static void begin(const struct scene *s)
{
	char copy[128];

	rig_kill(r);
	fault_vfs_reset();
	jobs = 0;
	fake_broker = broker_then;
	fake_clock = clock_then;
	shelf_put(&then, path);
	backup_path(copy);
	unlink(copy);
	if (!s->starts)
		rig_start(r);
}

/* Whether there was an operation to fail. */
static bool try_fault(const struct scene *s, const struct fault *f,
		      uint64_t nth, bool onwards, const char *want)
{
	struct err_detail why = { "" };
	const char *got;
	bool met;
	enum err e;

	begin(s);
	arm(f, nth, onwards);
	e = s->act(&why);
	met = fault_vfs_failed() > 0;
	fault_vfs_reset();
	if (e && (!met || !*why.text || e == ERR_BUG || e == ERR_CORRUPT))
		fail_msg("%s, %s at %u%s: %s: %s", s->name, f->name,
			 (unsigned)nth, onwards ? " and on" : "", err_text(e),
			 why.text);
	got = finish(s, e);
	if (strcmp(got, want))
		fail_msg("%s, %s at %u%s: %s:\n%s\n%s", s->name, f->name,
			 (unsigned)nth, onwards ? " and on" : "", why.text, got,
			 want);
	return met;
}

static unsigned sweep_scene(const struct scene *s, bool all)
{
	static const struct fault faults[] = {
		{ "EIO", EIO, 0 },	 { "ENOSPC", ENOSPC, 0 },
		{ "EDQUOT", EDQUOT, 0 }, { "EROFS", EROFS, 0 },
		{ "read-only", 0, SQLITE_READONLY },
	};
	/* In turn; ERRORS=all: each with all of them, in minutes. */
	size_t kinds = ARRAY_LEN(faults) * 2, tries = all ? kinds : 1;
	unsigned n = 0, step = all ? 1 : STEP;
	struct err_detail why = { "" };
	char want[256];

	prepare(s);
	begin(s);
	assert_ok(s->act(&why));
	snprintf(want, sizeof(want), "%s", finish(s, OK));
	for (size_t i = 0; i < tries; i++) {
		uint64_t nth = 1;

		while (try_fault(s, &faults[(i + nth) % kinds / 2], nth,
				 (i + nth) % 2, want)) {
			nth += nth < FIRST ? 1 : step;
			n++;
		}
		assert_in_range(nth, 5, MOST);
	}
	rig_free(r);
	shelf_free(&then);
	return n;
}

static void an_error_at_any_operation_loses_and_doubles_nothing(
	void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
		print_message("%s: %u faults\n", scenes[i].name,
			      sweep_scene(&scenes[i], getenv("ERRORS")));
}

/* Whoever's quota is used up, or whose file may not grow, waits for room. */
static void what_is_as_good_as_a_full_disk_is_one(void **state UNUSED)
{
	static const int errors[] = { ENOSPC, EDQUOT, EFBIG };

	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		prepare(&scenes[0]);
		fault_vfs_fail_errno(FAULT_WRITE, 1, errors[i], true);
		assert_err(rig_turn(r), ERR_FULL);
		fault_vfs_reset();
		rig_drain(r);
		assert_int_equal(fake_broker.acked_len, published);
		/* After a sync that failed nothing is known. */
		publish("{\"id\":\"x\"}");
		fault_vfs_fail_errno(FAULT_SYNC, 1, errors[i], false);
		assert_err(rig_turn(r), ERR_IO);
		fault_vfs_reset();
		rig_free(r);
		shelf_free(&then);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_as_good_as_a_full_disk_is_one),
		cmocka_unit_test(
			an_error_at_any_operation_loses_and_doubles_nothing),
	};

	folder_in_memory();
	fault_vfs_install();
	return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
