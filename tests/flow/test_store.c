/* Opening, refusing, owning: the file itself. */
#include "../support/test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/store/database.h"
#include "../../src/store/migrations.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fault_vfs.h"
#include "store/owner.h"
#include "store/space.h"
#include "store/store.h"

struct fx {
	char dir[64], path[96];
	struct err_detail why;
};

static int setup(void **state)
{
	struct fx *fx = calloc(1, sizeof(*fx));

	snprintf(fx->dir, sizeof(fx->dir), "/tmp/mqonce-store-XXXXXX");
	assert_non_null(mkdtemp(fx->dir));
	snprintf(fx->path, sizeof(fx->path), "%s/s.db", fx->dir);
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	struct fx *fx = *state;
	char command[128];

	fault_vfs_reset();
	snprintf(command, sizeof(command), "rm -rf '%s'", fx->dir);
	assert_int_equal(system(command), 0);
	free(fx);
	return 0;
}

static enum err open_as(struct fx *fx, enum store_role role,
			struct store **ret_st)
{
	const struct store_options o = { .path = fx->path,
					 .max_size = 8 << 20 };

	return store_open(&o, role, ret_st, &fx->why);
}

static void make(struct fx *fx)
{
	struct store *st;

	if (open_as(fx, STORE_OWNER, &st))
		fail_msg("%s", fx->why.text);
	store_close(st);
}

static char *slurp(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(1 << 22);

	assert_non_null(f);
	*ret_n = fread(p, 1, 1 << 22, f);
	fclose(f);
	return p;
}

/* The error, its words, and the file as it was, byte for byte. */
static void refuses(struct fx *fx, enum err want, const char *words)
{
	size_t n1, n2;
	char *before = slurp(fx->path, &n1), *after;
	struct store *st = NULL;

	assert_err(open_as(fx, STORE_OWNER, &st), want);
	if (!strstr(fx->why.text, words))
		fail_msg("\"%s\" does not say \"%s\"", fx->why.text, words);
	after = slurp(fx->path, &n2);
	assert_int_equal(n1, n2);
	assert_memory_equal(before, after, n1);
	free(before);
	free(after);
}

static void sql(struct fx *fx, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(fx->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void overwrite(struct fx *fx, off_t at, const void *data, size_t n)
{
	int fd = open(fx->path, O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, at), (ssize_t)n);
	close(fd);
}

static void a_new_store_is_private_and_in_wal_mode(void **state)
{
	struct fx *fx = *state;
	struct store *st;
	struct stat sb;
	int64_t v = 0;

	assert_ok(open_as(fx, STORE_OWNER, &st));
	assert_int_equal(stat(fx->path, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0600);
	assert_ok(store_pragma_int(st, "PRAGMA synchronous", &v));
	assert_int_equal(v, 2);
	assert_ok(store_pragma_int(st, "PRAGMA foreign_keys", &v));
	assert_int_equal(v, 1);
	assert_ok(store_pragma_int(st, "PRAGMA page_size", &v));
	assert_int_equal(v, 4096);
	assert_ok(store_pragma_int(st, "PRAGMA application_id", &v));
	assert_int_equal(v, STORE_APPLICATION_ID);
	assert_ok(store_pragma_int(st, "PRAGMA wal_autocheckpoint", &v));
	assert_int_equal(v, 0);
	assert_ok(store_pragma_int(st, "PRAGMA max_page_count", &v));
	assert_int_equal(v, 2048);
	store_close(st);
}

static void each_start_is_a_new_epoch_and_is_synced(void **state)
{
	struct fx *fx = *state;
	struct store *st;

	make(fx);
	for (int epoch = 2; epoch < 5; epoch++) {
		uint64_t syncs = fault_vfs_count(FAULT_SYNC);

		assert_ok(open_as(fx, STORE_OWNER, &st));
		assert_int_equal(store_epoch(st), epoch);
		/* The epoch's commit; the checkpoint had nothing to move. */
		assert_true(fault_vfs_count(FAULT_SYNC) > syncs);
		store_close(st);
	}
}

/* I7 */
static void a_second_owner_is_refused_and_told_the_pid(void **state)
{
	struct fx *fx = *state;
	char pid[32];
	struct store *st;
	int status;
	pid_t child;

	assert_ok(open_as(fx, STORE_OWNER, &st));
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	child = fork();
	if (child == 0) {
		struct store *other;
		enum err e = open_as(fx, STORE_OWNER, &other);

		_exit(e == ERR_BUSY && strstr(fx->why.text, pid) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	store_close(st);
}

static void a_foreign_file_is_refused_and_left_as_it_was(void **state)
{
	struct fx *fx = *state;

	sql(fx, "CREATE TABLE t (x); PRAGMA journal_mode = WAL;");
	refuses(fx, ERR_SCHEMA, "another program's");
}

static void a_file_of_another_kind_is_refused_and_left_as_it_was(void **state)
{
	struct fx *fx = *state;
	char text[200];

	memset(text, 'x', sizeof(text));
	overwrite(fx, 0, text, sizeof(text));
	refuses(fx, ERR_SCHEMA, "not an SQLite file");
}

static void a_newer_store_is_refused_and_left_as_it_was(void **state)
{
	struct fx *fx = *state;

	make(fx);
	sql(fx, "PRAGMA user_version = 99");
	refuses(fx, ERR_SCHEMA, "newer mqonce");
}

static void a_zeroed_store_is_refused_and_left_as_it_was(void **state)
{
	static const char zeros[4096];
	struct fx *fx = *state;

	make(fx);
	overwrite(fx, 0, zeros, sizeof(zeros));
	refuses(fx, ERR_CORRUPT, "zeroed");
}

static void a_short_file_is_refused_and_left_as_it_was(void **state)
{
	struct fx *fx = *state;

	overwrite(fx, 0, "SQLite", 6);
	refuses(fx, ERR_CORRUPT, "cut short");
}

static void a_damaged_store_is_refused_with_words(void **state)
{
	struct fx *fx = *state;
	char junk[2 * 4096];
	struct store *st = NULL;
	enum err e;

	make(fx);
	memset(junk, 0xa5, sizeof(junk));
	overwrite(fx, 4096, junk, sizeof(junk));
	overwrite(fx, 100, junk, 64);	/* the root of the catalogue */
	e = open_as(fx, STORE_OWNER, &st);
	assert_err(e, ERR_CORRUPT);
	assert_non_null(strstr(fx->why.text, "store quarantine"));
}

static void a_wal_without_its_file_is_not_taken_for_a_new_store(void **state)
{
	struct fx *fx = *state;
	char wal[128];
	struct store *st = NULL;
	int fd;

	snprintf(wal, sizeof(wal), "%s-wal", fx->path);
	fd = open(wal, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_err(open_as(fx, STORE_OWNER, &st), ERR_CORRUPT);
	assert_non_null(strstr(fx->why.text, "-wal"));
}

/* A power cut at any write of the first start leaves a store or none. */
static void a_store_is_made_whole_or_not_at_all(void **state)
{
	struct fx *fx = *state;
	struct store *st;
	enum err e;
	int n = 0;

	do {
		fault_vfs_reset();
		fault_vfs_fail(FAULT_WRITE, (uint64_t)++n, SQLITE_IOERR_WRITE,
			       true);
		unlink(fx->path);
		st = NULL;
		e = open_as(fx, STORE_OWNER, &st);
		store_close(st);
		fault_vfs_reset();
		make(fx);
	} while (e && n < 200);
	assert_true(n > 10 && n < 200);
}

static void a_reader_needs_a_store_and_does_not_make_one(void **state)
{
	struct fx *fx = *state;
	struct store *st = NULL;

	assert_err(open_as(fx, STORE_READER, &st), ERR_NO);
	assert_int_not_equal(access(fx->path, F_OK), 0);
	make(fx);
	assert_ok(open_as(fx, STORE_READER, &st));
	store_close(st);
}

static void a_reader_sees_what_the_owner_says(void **state)
{
	struct fx *fx = *state;
	char text[128];
	struct store *st;
	pid_t pid;

	assert_ok(open_as(fx, STORE_OWNER, &st));
	owner_say(st, "connected\n");
	owner_look(fx->path, &pid, text, sizeof(text));
	assert_int_equal(pid, getpid());
	assert_string_equal(text, "connected\n");
	store_close(st);
	owner_look(fx->path, &pid, text, sizeof(text));
	assert_int_equal(pid, 0);
}

static void a_foreign_writer_is_noticed(void **state)
{
	struct fx *fx = *state;
	struct store *st;
	bool seen = true;

	assert_ok(open_as(fx, STORE_OWNER, &st));
	assert_ok(store_foreign_writer(st, &seen));
	assert_false(seen);
	sql(fx, "CREATE TABLE intruder (x)");
	assert_ok(store_foreign_writer(st, &seen));
	assert_true(seen);
	assert_ok(store_foreign_writer(st, &seen));
	assert_false(seen);
	store_close(st);
}

static void every_migration_is_plain_sql(void **state UNUSED)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (unsigned i = 0; i < migrations_len; i++)
		assert_int_equal(sqlite3_exec(db, migrations[i].sql, NULL, NULL,
					      NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void the_headroom_counts_free_pages_and_the_ballast_is_real(void **state)
{
	struct fx *fx = *state;
	char path[128];
	struct store *st;
	struct stat sb;
	int64_t room = 0;

	assert_ok(open_as(fx, STORE_OWNER, &st));
	assert_ok(space_headroom(st, &room));
	assert_true(room > 7 << 20 && room < 8 << 20);
	assert_int_equal(space_reserve(st), 1 << 20);
	assert_true(space_ballast_put(st));
	snprintf(path, sizeof(path), "%s.ballast", fx->path);
	assert_int_equal(stat(path, &sb), 0);
	assert_true(sb.st_blocks * 512 >= 4000 * 4096);
	/* Whoever made it may have died before it had any room. */
	assert_int_equal(truncate(path, 0), 0);
	assert_true(space_ballast_put(st));
	assert_int_equal(stat(path, &sb), 0);
	assert_true(sb.st_blocks * 512 >= 4000 * 4096);
	assert_true(space_ballast_drop(st));
	assert_false(space_ballast_drop(st));
	store_close(st);
}

static struct stat look(const struct fx *fx, const char *suffix)
{
	struct stat sb;
	char path[128];

	snprintf(path, sizeof(path), "%s%s", fx->path, suffix);
	assert_int_equal(stat(path, &sb), 0);
	return sb;
}

static void make_old(const struct fx *fx, const char *suffix)
{
	static const struct timespec old[2] = { { 0 } };
	char path[128];

	snprintf(path, sizeof(path), "%s%s", fx->path, suffix);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

/* After a failed sync later ones leave out what it should have written. */
static void a_start_writes_the_wal_again_before_it_uses_it(void **state)
{
	struct fx *fx = *state;
	struct store *st;
	pid_t child;

	make(fx);
	child = fork();
	if (child == 0)
		_exit(open_as(fx, STORE_OWNER, &st) != OK);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(look(fx, "-wal").st_size > 0);
	make_old(fx, "-wal");
	make_old(fx, "");
	fault_vfs_fail(FAULT_SYNC, 1, SQLITE_IOERR_FSYNC, true);
	assert_int_equal(open_as(fx, STORE_OWNER, &st), ERR_IO);
	assert_true(look(fx, "-wal").st_mtim.tv_sec > 0);
	assert_int_equal(look(fx, "").st_mtim.tv_sec, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_new_store_is_private_and_in_wal_mode),
		T(each_start_is_a_new_epoch_and_is_synced),
		T(a_second_owner_is_refused_and_told_the_pid),
		T(a_foreign_file_is_refused_and_left_as_it_was),
		T(a_file_of_another_kind_is_refused_and_left_as_it_was),
		T(a_newer_store_is_refused_and_left_as_it_was),
		T(a_zeroed_store_is_refused_and_left_as_it_was),
		T(a_short_file_is_refused_and_left_as_it_was),
		T(a_damaged_store_is_refused_with_words),
		T(a_wal_without_its_file_is_not_taken_for_a_new_store),
		T(a_store_is_made_whole_or_not_at_all),
		T(a_reader_needs_a_store_and_does_not_make_one),
		T(a_reader_sees_what_the_owner_says),
		T(a_foreign_writer_is_noticed),
		T(every_migration_is_plain_sql),
		T(the_headroom_counts_free_pages_and_the_ballast_is_real),
		T(a_start_writes_the_wal_again_before_it_uses_it),
	};

	fault_vfs_install();
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
