/* What the program says about stores, good and bad, and about dead letters. */
#include "../support/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/test.h"

/* the store's file */

static void sql(const char *path, const char *text)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void overwrite(const char *path, const char *bytes, size_t n, off_t at)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), n);
	close(fd);
}

static void make_foreign(const char *path)
{
	unlink(path);
	sql(path, "CREATE TABLE theirs (a)");
}

static void make_newer(const char *path)
{
	sql(path, "PRAGMA user_version = 99");
}

static void make_text(const char *path)
{
	static const char text[200] = "Dear diary, " CANARY;

	overwrite(path, text, sizeof(text), 0);
}

static void make_zeroed(const char *path)
{
	struct stat sb;
	static char zeros[1 << 20];

	assert_int_equal(stat(path, &sb), 0);
	overwrite(path, zeros, (size_t)sb.st_size, 0);
}

static void make_short(const char *path)
{
	assert_int_equal(truncate(path, 50), 0);
}

static void make_empty(const char *path)
{
	assert_int_equal(truncate(path, 0), 0);
}

static void make_half(const char *path)
{
	assert_int_equal(truncate(path, 5 * 4096), 0);
}

static void make_scratched(const char *path)
{
	char noise[8192];

	memset(noise, 0xa5, sizeof(noise));
	overwrite(path, noise, sizeof(noise), 4096);
}

static const struct {
	void (*make)(const char *path);
	const char *part;
} bad_stores[] = {
	{ make_foreign, "another program's SQLite file, left untouched; set "
			"[store] path to another file" },
	{ make_newer, "written by a newer mqonce (schema 99, this one knows" },
	{ make_text, "not an SQLite file, left untouched; set [store] path" },
	{ make_zeroed,
	  "the file is zeroed (a power cut, a bad flash?); `mqonce store "
	  "quarantine` moves it aside whole" },
	{ make_short, "the file is cut short (50 bytes); `mqonce store" },
	{ make_empty, "the file is cut short (0 bytes); `mqonce store" },
	{ make_half, "malformed" },
	{ make_scratched, "`mqonce store quarantine` moves it aside whole" },
};

static void
a_store_that_is_not_good_is_named_and_left_as_it_is(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_stores); i++) {
		struct gateway *g = cli_gateway();
		const char *path = cli_path(g, "store/s.db");
		size_t before_len, after_len;
		char *before, *after, part[256];

		cli_make_store(g);
		path = cli_path(g, "store/s.db");
		bad_stores[i].make(path);
		before = cli_file(path, &before_len);
		snprintf(part, sizeof(part), "%s", bad_stores[i].part);
		cli_each_fails(g, ALL "|check --accept", 65, "@D/store/s.db: ");
		cli_each_fails(g, "run", 65, part);
		path = cli_path(g, "store/s.db");
		after = cli_file(path, &after_len);
		assert_int_equal(before_len, after_len);
		assert_memory_equal(before, after, before_len);
		free(before);
		free(after);
		gateway_free(g);
	}
}

static void a_wal_without_its_store_is_not_thrown_away(void **state UNUSED)
{
	struct gateway *g = cli_gateway();
	char *text;
	size_t n;

	cli_make_store(g);
	assert_int_equal(rename(cli_path(g, "store/s.db"),
				cli_path(g, "store/s.db-wal")),
			 0);
	cli_each_fails(
		g, "run", 65,
		"@D/store/s.db-wal is there without @D/store/s.db: bring "
		"the file back");
	text = cli_file(cli_path(g, "store/s.db-wal"), &n);
	assert_true(n >= 4096);
	free(text);
	gateway_free(g);
}

static void
before_the_first_run_there_is_no_store_and_that_is_said(void **state UNUSED)
{
	struct gateway *g = cli_gateway();
	static struct ran r;

	cli_each_fails(
		g, "status|dead list|dead show 1", 1,
		"@D/store/s.db: there is no store yet; `mqonce run` makes "
		"it");
	cli_run(g, &r, "check");
	assert_int_equal(r.status, 0);
	assert_has(r.out, cli_expand(g, "ok: @D/store/s.db will be made at the "
					"first run"));
	assert_int_equal(access(cli_path(g, "store"), F_OK), -1);
	cli_make_store(g);
	cli_run(g, &r, "status");
	assert_int_equal(r.status, 0);
	assert_has(r.out, "owner       none; start it with `mqonce run`");
	assert_narrow(r.out, 80);
	cli_run(g, &r, "dead list");
	assert_int_equal(r.status, 0);
	assert_string_equal(r.out, "no dead letters\n");
	cli_each_fails(g, "dead show 7", 1,
		       "no dead letter 7; `mqonce dead list` shows them");
	gateway_free(g);
}

static void a_store_that_another_owns_names_its_pid(void **state UNUSED)
{
	struct gateway *g = cli_gateway();
	static struct ran r;
	char pid[32];

	gateway_start(g, NULL);
	gateway_wait_log(g, "run.start", 1, LIMIT_MS);
	snprintf(pid, sizeof(pid), "(pid %d)", (int)g->daemon);
	cli_each_fails(g, "run|check --accept", 75, pid);
	cli_run(g, &r, "status"); /* looking is free */
	assert_int_equal(r.status, 0);
	assert_has(r.out, "owner       pid ");
	cli_run(g, &r, "check");
	assert_int_equal(r.status, 0);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	cli_make_store(g);
	gateway_free(g);
}

/* with a broker */

static struct gateway *new_with_broker(const char *handler)
{
	return gateway_new(
		&(struct gateway_options){ .groups = GROUP("payload:$.id"),
					   .schema = SCHEMA,
					   .handler = handler });
}

static void configure(struct gateway *g, const char *group)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "[store]\n" STORE "[broker]\nurl = mqtt://127.0.0.1:@P\n"
		 "client_id = gw\nsession_expiry = 1h\n%s",
		 group);
	gateway_file(g, "mqonce.conf", text);
}

static void publish(struct gateway *g, const char *payload)
{
	gateway_publish(g, "t/1", &payload, 1);
}

static void changed_ids_need_a_word_before_it_runs_again(void **state UNUSED)
{
	struct gateway *g = new_with_broker(HANDLER);
	static struct ran r;
	char pid[32];

	gateway_up(g);
	publish(g, "{\"id\":\"a\",\"other\":\"b\"}");
	gateway_wait(g, "SELECT count(*) FROM effect", 1, LIMIT_MS);
	configure(g, GROUP("payload:$.other"));
	snprintf(pid, sizeof(pid), "(pid %d)", (int)g->daemon);
	cli_each_fails(g, "check --accept", 75, pid);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	cli_each_fails(
		g, START, 78,
		"[group g]: id or tenant changed while the store remembers "
		"its events by the old one: copies of them would run again; "
		"change it back, or accept that with `mqonce check "
		"--accept`");
	cli_run(g, &r, "check --accept");
	assert_int_equal(r.status, 0);
	assert_string_equal(r.err, "");
	gateway_up(g);
	publish(g, "{\"id\":\"a\",\"other\":\"c\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'c'", 1,
		     LIMIT_MS);
	gateway_free(g);
}

/* A constraint, a word in an error of SQLite's, a syntax error, no id. */
#define SECRETIVE                                                              \
	"INSERT INTO effect (id, v) VALUES (:event_id, :payload ->> 'v');"     \
	"SELECT json_extract('{}', :payload ->> 'path');"                      \
	"INSERT INTO effect (id) SELECT NULL WHERE :payload ->> 'null';"
static const char *const secrets[] = {
	"{\"id\":\"1\",\"path\":\"" CANARY "\"}",
	"{\"id\":\"2\",\"null\":1,\"v\":\"" CANARY "\"}",
	"{\"id\":\"3\",\"v\":" CANARY "}",
	"{\"v\":\"" CANARY "\"}",
};

static void the_canary_is_in(struct gateway *g, unsigned id)
{
	static struct ran r;
	char args[64];

	snprintf(args, sizeof(args), "dead show %u", id);
	cli_run(g, &r, args);
	assert_int_equal(r.status, 0);
	assert_has(r.out, "--payload shows it");
	assert_lacks(r.out, CANARY);
	assert_narrow(r.out, 80);
	snprintf(args, sizeof(args), "dead show %u --payload", id);
	cli_run(g, &r, args);
	assert_int_equal(r.status, 0);
	assert_has(r.out, CANARY);
}

static void a_payload_is_shown_to_nobody_who_does_not_ask(void **state UNUSED)
{
	struct gateway *g = new_with_broker(SECRETIVE);
	static const char *const commands[] = { "status", "dead list",
						"check" };
	static struct ran r;

	gateway_up(g);
	gateway_publish(g, "t/1", secrets, ARRAY_LEN(secrets));
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter",
		     ARRAY_LEN(secrets), LIMIT_MS);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		cli_run(g, &r, commands[i]);
		assert_int_equal(r.status, 0);
		assert_lacks(r.out, CANARY);
		assert_lacks(r.err, CANARY);
	}
	cli_run(g, &r, "dead list");
	assert_has(r.out, "SQLITE_ERROR");
	assert_has(r.out, "SQLITE_CONSTRAINT_NOTNULL");
	assert_has(r.out, "json.malformed");
	assert_has(r.out, "identity.missing");
	for (unsigned id = 1; id <= ARRAY_LEN(secrets); id++)
		the_canary_is_in(g, id);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_logged(g, CANARY), 0);
	assert_true(gateway_logged(g, "event.dead") > 0);
	gateway_free(g);
}

/* Rows over ssh: nothing wraps, and ids are told apart at both ends. */
static void
dead_letters_fit_the_terminal_and_are_whole_in_a_pipe(void **state UNUSED)
{
	static const char id[] =
		"{\"id\":\"0d3f9a44-77aa-4111-8000-0000c4e%d\"}";
	static const char *const widths[] = { "72", "80", "100", "120", "200" };
	struct gateway *g =
		new_with_broker("INSERT INTO effect (id) VALUES (NULL);");
	static struct ran r;
	char payload[250][64];
	const char *list[250];

	for (int i = 0; i < 250; i++) {
		snprintf(payload[i], sizeof(payload[i]), id, 100 + i);
		list[i] = payload[i];
	}
	gateway_up(g);
	gateway_publish(g, "t/\xc3\xa4/\xe2\x80\xae/x", list, 250);
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 250, LIMIT_MS);
	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		cli_run_how(g, &r, "dead list",
			    &(struct how){ .columns = widths[i] });
		assert_int_equal(r.status, 0);
		assert_narrow(r.out, (size_t)atoi(widths[i]));
		assert_has(r.out, "4e100");
	}
	cli_run(g, &r, "dead list");
	assert_has(r.out, "0d3f9a44-77aa-4111-8000-0000c4e349");
	assert_has(r.out, "0d3f9a44-77aa-4111-8000-0000c4e100");
	assert_has(r.out, "open   t/\xc3\xa4/?/x\n");
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_store_that_is_not_good_is_named_and_left_as_it_is),
		cmocka_unit_test(a_wal_without_its_store_is_not_thrown_away),
		cmocka_unit_test(
			before_the_first_run_there_is_no_store_and_that_is_said),
		cmocka_unit_test(a_store_that_another_owns_names_its_pid),
		cmocka_unit_test(changed_ids_need_a_word_before_it_runs_again),
		cmocka_unit_test(a_payload_is_shown_to_nobody_who_does_not_ask),
		cmocka_unit_test(
			dead_letters_fit_the_terminal_and_are_whole_in_a_pipe),
	};

	return cmocka_run_group_tests_name("the store on the command line",
					   tests, NULL, NULL);
}
