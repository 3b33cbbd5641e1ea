/* What the program says to a person: every mistake one line, nothing lost. */
#include "../support/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/test.h"
#include "base/json.h"

/* words */

static const struct {
	const char *args, *part;
} misuses[] = {
	{ "", "no command; see `mqonce help`" },
	{ "chek", "unknown command \"chek\"; did you mean \"check\"?" },
	{ "hlep", "unknown command \"hlep\"; did you mean \"help\"?" },
	{ "frobnicate", "unknown command \"frobnicate\"; see `mqonce help`" },
	{ "new\nline", "unknown command \"new?line\"" },
	{ "--frob", "unknown option --frob; see `mqonce help`" },
	{ "dead", "dead needs another word: list or show" },
	{ "dead lst",
	  "unknown command \"dead lst\"; did you mean \"dead list\"?" },
	{ "dead frob", "dead needs another word: list or show" },
	{ "help frob", "unknown command \"frob\"" },
	{ "check --prnt", "unknown option --prnt; did you mean --print?" },
	{ "status --frob", "unknown option --frob; see `mqonce help status`" },
	{ "run now", "unexpected word \"now\"; see `mqonce help`" },
	{ "version 2", "unexpected word \"2\"; see `mqonce help`" },
	{ "check --print --accept", "run check --accept without it" },
	{ "dead show", "dead show needs the ID of a letter, a number; `mqonce "
		       "dead list` shows them" },
	{ "dead show one", "dead show needs the ID of a letter" },
	{ "dead show -1", "unknown option -1" },
	{ "dead show 99999999999999999999", "dead show needs the ID" },
};

static void
a_command_that_is_not_understood_names_the_nearest(void **state UNUSED)
{
	struct gateway *g = cli_gateway();
	static struct ran r;

	for (size_t i = 0; i < ARRAY_LEN(misuses); i++) {
		cli_run(g, &r, misuses[i].args);
		cli_assert_error(g, &r, misuses[i].args, 64, misuses[i].part);
		assert_string_equal(r.out, "");
	}
	cli_run(g, &r, "version -c"); /* the file is another -c */
	cli_assert_error(g, &r, "-c", 64, "unexpected word");
	gateway_free(g);
}

static void help_and_version_fit_the_terminal(void **state UNUSED)
{
	static const char *const commands[] = {
		"help",	      "--help",	   "help run",	"help init",
		"help check", "status -h", "help dead", "dead show --help",
	};
	struct gateway *g = cli_gateway();
	static struct ran r;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		cli_run(g, &r, commands[i]);
		assert_int_equal(r.status, 0);
		assert_string_equal(r.err, "");
		assert_has(r.out, "usage: mqonce ");
		assert_narrow(r.out, 80);
	}
	cli_run(g, &r, "version");
	assert_int_equal(r.status, 0);
	assert_has(r.out, "mqonce ");
	assert_has(r.out, "\nSQLite 3.");
	assert_has(r.out, "libmosquitto ");
	assert_has(r.out, "OpenSSL ");
	cli_run(g, &r, "version --json");
	assert_int_equal(r.status, 0);
	assert_true(json_valid(span_str(r.out)));
	assert_has(r.out, "\"commit\":\"");
	assert_has(r.out, "THREADSAFE=");
	gateway_free(g);
}

/* files */

/* @text in place of a good file; NULL: the file is missing. */
static const struct {
	const char *file, *text, *commands;
	int status;
	const char *part;
} bad_files[] = {
	{ "mqonce.conf", NULL, ALL, 78,
	  "@D/mqonce.conf: cannot open: No such file or directory; name it "
	  "with "
	  "-c FILE; `mqonce init` writes one to start from" },
	{ "mqonce.conf",
	  "\x7f"
	  "ELF\xff",
	  ALL, 78,
	  "mqonce.conf:1: the line is not UTF-8 text; is this the right "
	  "file?" },
	{ "mqonce.conf", "[store]\npth = @D/x\n", ALL, 78,
	  "@D/mqonce.conf:2: unknown key \"pth\" in [store]; did you mean "
	  "\"path\"?" },
	{ "mqonce.conf", CONF(STORE, "", "payload:$.id", "ttl = 2h\n"), ALL, 78,
	  "ttl = 2h in [group g] is shorter than redelivery_horizon = 3h "
	  "(session_expiry 1h + 1m30s to notice a lost connection + 1h58m30s "
	  "for producers, bridges and replays): a late copy would take effect "
	  "again; write ttl = 3h or more" },
	{ "mqonce.conf", CONF(STORE, "client_id = x\n", "hash", "ttl = 3h\n"),
	  ALL, 78, "\"client_id\" in [broker] is already on line 6" },
	{ "mqonce.conf",
	  CONF("path = @D/no/such/s.db\n", "", "hash", "ttl = 3h\n"), "run", 73,
	  "@D/no/such: cannot create the store's directory" },
	{ "mqonce.conf",
	  "[store]\npath = @D/no/such/s.db\nschema = @D/s.sql\n"
	  "[broker]\nclient_id = gw\nsession_expiry = 1h\n" GROUP("hash"),
	  "check", 73,
	  "@D/no: No such file or directory; make that directory or change "
	  "[store] path" },
	{ "mqonce.conf",
	  CONF("path = @D/h.sql/s.db\n", "", "hash", "ttl = 3h\n"), "run", 73,
	  "@D/h.sql/s.db" },
	{ "h.sql", NULL, START, 65,
	  "@D/h.sql: cannot open: No such file or directory" },
	{ "h.sql", "", START, 65, "@D/h.sql: holds no statement" },
	{ "h.sql", "-- one\nSELECT 1;\nINSRT INTO effect;\n", START, 65,
	  "@D/h.sql:3: near \"INSRT\": syntax error" },
	{ "h.sql", "SELECT 1;\nINSERT INTO nowhere VALUES (1);", START, 65,
	  "@D/h.sql:2: no such table: nowhere" },
	{ "h.sql", "INSERT INTO effect VALUES (:event_di, 1);", START, 65,
	  "@D/h.sql:1: unknown parameter :event_di; did you mean :event_id" },
	{ "h.sql", "\nDELETE FROM once_pending;", START, 65,
	  "@D/h.sql:2: not allowed: " },
	{ "h.sql", "COMMIT;", START, 65, "@D/h.sql:1: not allowed: " },
	{ "h.sql", "ATTACH '/tmp/x' AS y;", START, 65,
	  "@D/h.sql:1: not allowed" },
	{ "h.sql", "PRAGMA synchronous = OFF;", START, 65,
	  "@D/h.sql:1: not allowed" },
	{ "s.sql", NULL, START, 65,
	  "@D/s.sql: [store] schema matches no file" },
	{ "s.sql", SCHEMA "\nCREATE TABEL x;", START, 65,
	  "@D/s.sql:2: near \"TABEL\": syntax error" },
	{ "s.sql", SCHEMA "\nCREATE TABLE once_x (a) STRICT;", START, 65,
	  "@D/s.sql:2: not allowed: " },
};

static void bad_input_of_every_kind_gets_one_clear_line(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_files); i++) {
		struct gateway *g = cli_gateway();

		if (bad_files[i].text)
			gateway_file(g, bad_files[i].file, bad_files[i].text);
		else
			unlink(cli_path(g, bad_files[i].file));
		cli_each_fails(g, bad_files[i].commands, bad_files[i].status,
			       bad_files[i].part);
		gateway_free(g);
	}
}

/* As root nothing is unreadable: a copy of the program runs as another. */
static void a_file_that_may_not_be_read_says_whose_it_is(void **state UNUSED)
{
	struct gateway *g = cli_gateway();
	struct how how = { .as_nobody = geteuid() == 0 };
	static struct ran r;
	char command[512], copy[160];

	snprintf(command, sizeof(command), "cp %s %s && chmod 755 %s %s",
		 g->program, cli_path(g, "program"), cli_path(g, "program"),
		 g->dir);
	assert_int_equal(system(command), 0);
	snprintf(copy, sizeof(copy), "%s", cli_path(g, "program"));
	g->program = copy;
	assert_int_equal(chmod(g->conf, how.as_nobody ? 0600 : 0), 0);
	cli_run_how(g, &r, "check", &how);
	cli_assert_error(
		g, &r, "check", 77,
		"@D/mqonce.conf: cannot open: Permission denied; run this "
		"as the daemon's user or as root");
	assert_int_equal(chmod(g->conf, 0644), 0);
	assert_int_equal(chmod(cli_path(g, "s.sql"), 0644), 0);
	assert_int_equal(chmod(cli_path(g, "h.sql"), how.as_nobody ? 0600 : 0),
			 0);
	cli_run_how(g, &r, "check", &how);
	cli_assert_error(g, &r, "check", 77,
			 "@D/h.sql: cannot open: Permission");
	gateway_free(g);
}

static void a_schema_edited_after_it_was_applied_is_refused(void **state UNUSED)
{
	struct gateway *g = cli_gateway();

	cli_make_store(g);
	gateway_file(g, "s.sql", SCHEMA "CREATE TABLE more (a TEXT) STRICT;");
	cli_each_fails(g, "run", 65,
		       "@D/s.sql: was edited after it was applied; put it back "
		       "and write the change into a new file");
	gateway_file(g, "s.sql", SCHEMA);
	cli_make_store(g);
	gateway_free(g);
}

/* output */

static void output_that_cannot_be_written_is_an_error(void **state UNUSED)
{
	static const char *const commands[] = {
		"help",	  "version",   "check", "check --print",
		"status", "dead list", "init",
	};
	struct gateway *g = cli_gateway();
	static struct ran r;
	struct how full = { .out_fd = open("/dev/full", O_WRONLY | O_CLOEXEC) };
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	close(fds[0]);
	cli_make_store(g);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		cli_run_how(g, &r, commands[i], &full);
		cli_assert_error(g, &r, commands[i], 74,
				 "cannot write the output: No space left on "
				 "device; not all of it was printed");
		cli_run_how(
			g, &r, commands[i],
			&(struct how){ .out_fd = fds[1], .ignore_pipe = true });
		cli_assert_error(g, &r, commands[i], 74,
				 "cannot write the output: Broken pipe");
		/* `mqonce dead list | head` ends like any other filter. */
		cli_run_how(g, &r, commands[i],
			    &(struct how){ .out_fd = fds[1] });
		assert_int_equal(r.status, -SIGPIPE);
		assert_string_equal(r.err, "");
	}
	close(fds[1]);
	close(full.out_fd);
	gateway_free(g);
}

/* init */

static void put_in_place(struct gateway *g, const char *name, const char *from,
			 const char *to)
{
	char text[16384], out[16384], *at;

	cli_file_into(cli_path(g, name), text, sizeof(text));
	at = strstr(text, from);
	assert_non_null(at);
	snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	gateway_file(g, name, out);
}

static void
what_init_writes_checks_and_is_never_overwritten(void **state UNUSED)
{
	struct gateway *g = cli_gateway();
	static struct ran r;
	char args[128];

	snprintf(args, sizeof(args), "init %s/a/b", g->dir);
	cli_run(g, &r, args);
	assert_int_equal(r.status, 0);
	assert_string_equal(r.err, "");
	assert_has(r.out, cli_expand(g, "wrote   @D/a/b/mqonce.conf\n"));
	assert_has(r.out,
		   cli_expand(g, "mqonce check -c @D/a/b/mqonce.conf\n"));
	put_in_place(g, "a/b/mqonce.conf", "/var/lib/mqonce", "@D/store");
	put_in_place(g, "a/b/mqonce.conf", "gateway-1", "my-own");
	cli_run(g, &r, args);
	assert_int_equal(r.status, 0);
	assert_has(r.out,
		   cli_expand(g, "kept    @D/a/b/mqonce.conf (it is there "
				 "already)\n"));
	assert_lacks(r.out, "wrote");
	snprintf(g->conf, sizeof(g->conf), "%s/a/b/mqonce.conf", g->dir);
	cli_run(g, &r, "check");
	assert_int_equal(r.status, 0);
	assert_string_equal(r.err, "");
	assert_has(r.out, "client my-own");
	assert_has(r.out, "Not promised");
	snprintf(g->conf, sizeof(g->conf), "%s/c/gw.conf", g->dir);
	cli_run(g, &r, "init"); /* the name that -c gives */
	assert_has(r.out, cli_expand(g, "wrote   @D/c/gw.conf\n"));
	cli_run(g, &r, "init /proc/none");
	cli_assert_error(g, &r, "init", 73, "name another folder");
	gateway_free(g);
}

static void
what_check_prints_is_a_configuration_that_means_the_same(void **state UNUSED)
{
	struct gateway *g = cli_gateway();
	static struct ran first, second;

	gateway_file(g, "mqonce.conf",
		     CONF(STORE, "user = u\npassword_file = @D/pw\n",
			  "property:event-id, payload:$.a",
			  "ttl = 90000s\ntenant = topic:2\n"));
	cli_run(g, &first, "check --print");
	assert_string_equal(first.err, "");
	assert_int_equal(first.status, 0);
	assert_has(first.out, "ttl = 25h\n");
	gateway_file(g, "mqonce.conf", first.out);
	cli_run(g, &second, "check --print");
	assert_int_equal(second.status, 0);
	assert_string_equal(first.out, second.out);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_command_that_is_not_understood_names_the_nearest),
		cmocka_unit_test(help_and_version_fit_the_terminal),
		cmocka_unit_test(bad_input_of_every_kind_gets_one_clear_line),
		cmocka_unit_test(a_file_that_may_not_be_read_says_whose_it_is),
		cmocka_unit_test(
			a_schema_edited_after_it_was_applied_is_refused),
		cmocka_unit_test(output_that_cannot_be_written_is_an_error),
		cmocka_unit_test(
			what_init_writes_checks_and_is_never_overwritten),
		cmocka_unit_test(
			what_check_prints_is_a_configuration_that_means_the_same),
	};

	return cmocka_run_group_tests_name("the command line", tests, NULL,
					   NULL);
}
