/* Looking after a store: what needs somebody, copies, checks, ways out. */
#include "../support/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/gateway_steps.h"
#include "../support/switched.h"

static int setup(void **state UNUSED)
{
	g = switched_new();
	return 0;
}

static void down(void)
{
	assert_int_equal(gateway_end(g, SIGTERM), 0);
}

static void an_open_letter_is_an_alarm_until_somebody_decides(
	void **state UNUSED)
{
	says("status -q", 0, "");
	assert_string_equal(out, "");
	says("status --prometheus", 0, "mqonce_dead_letters{kind=\"permanent\"} 0");
	switched_bury(g, 3);
	says("status --prometheus", 0, "mqonce_dead_letters{kind=\"permanent\"} 3");
	says("status --prometheus", 0, "# TYPE mqonce_dead_letters_total counter");
	says("status --prometheus", 0, "mqonce_connected 1");
	says("status -q", 1, "dead_letters: 3 open dead letters");
	says("status -q --max-age 0s", 1, "dead_letters_old: ");
	says("status", 0, "open dead   3 permanent, the oldest of ");
	says("status --json", 0, "\"kind\":\"permanent\",\"open\":3,");
	says("dead discard --all --yes", 0, "discard: 3");
	says("status -q", 0, "");
	gateway_broker_end(g, SIGTERM);
	gateway_wait_log(g, "link.down", 1, 10000);
	says("status -q", 1, "not_connected: ");
	down();
	says("status -q", 1, "daemon: no daemon runs");
	says("status", 0, "owner       none");
}

/* I8: whoever saw what was in an event stands in the audit. */
static void a_look_at_a_payload_is_audited(void **state UNUSED)
{
	switched_bury(g, 3);
	says("dead show 1", 0, "--payload shows it");
	says("audit list", 0, "no operator has done anything");
	says("dead show 1 --payload", 0, "\"id\":\"b0\"");
	says("audit list --ndjson", 0,
	     "\"act\":\"dead show\",\"what\":\"ids=1\",\"n\":1}");
	down();
	says("dead show 2 --payload", 0, "\"id\":\"b1\"");
	says("audit list --ndjson", 0, "\"what\":\"ids=2\",\"n\":1}");
	says("dead pull --max 2 --out @D/pulled", 0, "pulled 2");
	says("audit list --ndjson", 0,
	     "\"act\":\"dead pull\",\"what\":\"\",\"n\":2}");
	says("dead show 7 --payload", 1, "no dead letter 7");
}

static void configure(const char *group)
{
	char text[1024];

	snprintf(text, sizeof(text), "[store]\npath = @D/store/s.db\n"
		 "schema = @D/s.sql\n[broker]\nurl = mqtt://127.0.0.1:@P\n"
		 "client_id = gw\nsession_expiry = 1h\n[group %s]\n"
		 "subscribe = t\nid = payload:$.id\nhandler = sql:@H\n"
		 "redelivery_horizon = 3h\nttl = 24h\n", group);
	gateway_file(g, "mqonce.conf", text);
}

#define GROUPS	"SELECT count(*) FROM once_group"

/* Under its new name the group knows what it did under the old one. */
static void a_renamed_group_keeps_what_it_knows(void **state UNUSED)
{
	publish("{\"id\":\"a\"}");
	gateway_wait(g, "SELECT count(*) FROM effect", 1, 10000);
	says("group rename g other", 1, "group g is configured; stop");
	down();
	configure("other");
	says("group rename g", 64, "needs two names");
	says("group rename no other", 1, "no group \"no\"");
	says("group rename g a.b", 64, "cannot be a group's name");
	says("group rename g g", 1, "is there already");
	says("group rename g other", 0, "other");
	says("audit list --ndjson", 0, "\"what\":\"names=g,other\",\"n\":1}");
	gateway_up(g);
	publish("{\"id\":\"a\"}");
	publish("{\"id\":\"b\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'b'", 1, 10000);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM effect"), 2);
	assert_int_equal(gateway_int(g, GROUPS), 1);
}

static void a_group_is_dropped_when_nothing_needs_it(void **state UNUSED)
{
	switched_bury(g, 3);
	says("group drop g --yes", 1, "group g is configured");
	down();
	configure("other");
	gateway_up(g);
	says("group drop g --yes", 1, "letter 1 of group g is not resolved");
	says("dead discard --all --yes", 0, "discard: 3");
	says("group drop g --yes", 1, "letter 1 of group g is not resolved");
	says("dead purge --all --count 3 --yes", 0, "purge: 3");
	says("group drop g", 64, "--yes");
	says("group drop g --yes", 0, "dropped");
	says("group list", 0, "other");
	assert_int_equal(gateway_int(g, GROUPS), 1);
	down();
	configure("g");
	gateway_up(g);
	assert_int_equal(gateway_int(g, "SELECT group_no FROM once_group"
					" WHERE name = 'g'"), 3);
}

/* A letter that waits in a job can be set aside; the job goes on. */
static void a_letter_discarded_before_its_turn_ends_no_daemon(
	void **state UNUSED)
{
	switched_bury(g, 50);
	says("dead replay --all --rate 5 --yes", 0, "50 letters");
	says("dead discard 49,50 --yes", 0, "discard: 2");
	says("dead purge 50 --count 1 --yes", 0, "purge: 1");
	gateway_wait(g, "SELECT count(*) FROM once_job WHERE state = 'done'", 1,
		     30000);
	assert_int_equal(gateway_int(g, "SELECT failed FROM once_job"), 48);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_job_item"
					" WHERE state = 'cancelled'"), 1);
	assert_false(gateway_ended(g));
}

#define MARK	"INSERT OR IGNORE INTO once_marker_0 SELECT key, fingerprint,"

static void spoil(const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	assert_int_equal(sqlite3_open(path, &db), 0);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* One fault, told of, and mended again. */
static void finds(const char *spoilt, const char *words, const char *mended)
{
	spoil(spoilt);
	says("store verify", 1, words);
	spoil(mended);
	says("store verify", 0, "ok\n");
}

/* I2 */
static void verify_sees_what_is_in_no_place_or_in_two(void **state UNUSED)
{
	publish("{\"id\":\"a\"}");
	switched_bury(g, 3);
	says("store verify", 0, "ok\n");
	says("dead replay 3 --yes --wait", 1, "failed again");
	down();
	says("store verify", 0, "ok\n");
	finds("UPDATE once_dead_letter SET state = 'replaying' WHERE id = 1",
	      "letter 1 is replaying, but no pending row serves it",
	      "UPDATE once_dead_letter SET state = 'open' WHERE id = 1");
	finds("UPDATE once_job SET state = 'done';"
	      "UPDATE once_job_item SET state = 'running'",
	      "job 1 is done, but items of it wait or run",
	      "UPDATE once_job_item SET state = 'failed'");
	finds(MARK " 0, recipe, 1 << 40 FROM once_dead_letter WHERE id = 2",
	      "letter 2 is open, but a marker says that it is done",
	      "DELETE FROM once_marker_0 WHERE at_s = 1 << 40");
	finds(MARK " 9, recipe, 7 FROM once_dead_letter WHERE id = 2",
	      "generation 0: 1 markers are of no known state",
	      "DELETE FROM once_marker_0 WHERE at_s = 7");
	finds("INSERT INTO once_marker_2 SELECT * FROM once_marker_0",
	      "generation 2 is empty, but has markers",
	      "DELETE FROM once_marker_2");
	finds("UPDATE once_dead_letter SET group_no = 77 WHERE id = 2",
	      "what it refers to in once_group is not there",
	      "UPDATE once_dead_letter SET group_no = 1 WHERE id = 2");
	finds("INSERT INTO once_pending (group_no, tenant, event_id, key,"
	      " fingerprint, recipe, topic, payload, properties, qos, retain,"
	      " received_wall_ms, received_sync, attempts, crashes, window_start_ms,"
	      " due_ms, epoch) SELECT 1, '', 'x', key, fingerprint, 1, 't',"
	      " x'', '[]', 1, 0, 0, 0, 0, 0, 0, 0, 0 FROM once_dead_letter"
	      " WHERE id = 1",
	      "pending row 1 and letter 1 are one event in two places",
	      "DELETE FROM once_pending");
	finds("UPDATE once_generation SET state = 'active', position = 0"
	      " WHERE generation = 3",
	      "2 generations are active, not one",
	      "UPDATE once_generation SET state = 'empty'"
	      " WHERE generation = 3");
}

/* Every page behind the first ones, in turn, full of another byte. */
static void verify_sees_spoilt_pages(void **state UNUSED)
{
	char path[128], page[4096];
	int64_t leaf;
	int fd;

	switched_bury(g, 500);
	down();
	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	spoil("PRAGMA wal_checkpoint(TRUNCATE)");
	/* One in the middle of the letters: opening does not meet it. */
	leaf = gateway_int(g, "SELECT pageno FROM dbstat WHERE name ="
			      " 'once_dead_letter' AND pagetype = 'leaf'"
			      " ORDER BY path LIMIT 1 OFFSET 5");
	assert_true(leaf > 1);
	fd = open(path, O_RDWR);
	memset(page, 0x5a, sizeof(page));
	assert_int_equal(pwrite(fd, page, 4096, (off_t)(leaf - 1) * 4096), 4096);
	close(fd);
	says("store verify", 1, "once_dead_letter");
	says("store quarantine --yes", 0, "moved to ");
	says("status", 1, "there is no store yet");
	says("store quarantine --yes", 1, "there is no store");
	gateway_up(g);
	says("store quarantine --yes", 75, "another mqonce owns this store");
}

static void a_zeroed_store_goes_aside_with_its_wal(void **state UNUSED)
{
	char path[128], zeros[8192] = { 0 };
	FILE *f;
	int fd, n = 0;

	switched_bury(g, 3);
	assert_int_equal(gateway_end(g, SIGKILL), -SIGKILL);
	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
	close(fd);
	says("store verify", 65, "the file is zeroed");
	says("store backup @D/copy", 65, "the file is zeroed");
	says("store quarantine", 64, "--yes");
	says("store quarantine --yes", 0, "--accept-restored");
	snprintf(path, sizeof(path), "ls %s/store", g->dir);
	f = popen(path, "r");
	while (fgets(out, sizeof(out), f))
		n += !strncmp(out, "s.db.2", 6);
	pclose(f);
	assert_int_equal(n, 3);
	gateway_up(g);
	assert_int_equal(gateway_int(g, "SELECT count(*)"
					" FROM once_dead_letter"), 0);
}

static void a_backup_under_load_is_whole_and_knows_what_it_is(
	void **state UNUSED)
{
	static char text[5000][32];
	static const char *list[5000];
	char command[600];
	struct stat sb;
	pid_t pid;
	int status;

	for (int i = 0; i < 5000; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"e%d\"}", i);
		list[i] = text[i];
	}
	gateway_publish(g, "t", list, 500);
	pid = process_fork();
	if (!pid) {
		gateway_publish(g, "t", list + 500, 4500);
		_exit(0);
	}
	gateway_wait(g, "SELECT count(*) FROM effect", 800, 20000);
	says("store backup @D/copy", 0, "copied to ");
	assert_true(process_wait(pid, 60000, &status));
	gateway_wait(g, "SELECT count(*) FROM effect", 5000, 20000);
	says("store backup @D/copy", 73, "is there already");
	says("store backup @D/no/copy", 73, "@D/no/copy.part" + 2);
	snprintf(command, sizeof(command), "%s/copy", g->dir);
	assert_int_equal(stat(command, &sb), 0);
	assert_int_equal(sb.st_mode & 07777, 0600);
	snprintf(command, sizeof(command), "%s/copy-wal", g->dir);
	assert_int_equal(access(command, F_OK), -1);
	snprintf(command, sizeof(command), "%s/copy.part", g->dir);
	assert_int_equal(access(command, F_OK), -1);
	down();
	says("store quarantine --yes", 0, "moved");
	snprintf(command, sizeof(command), "cp %s/copy %s/store/s.db", g->dir,
		 g->dir);
	assert_int_equal(system(command), 0);
	says("run", 65, "this is a backup of 20");
	says("dead discard --all --yes", 65, "--accept-restored");
	says("store verify", 0, "ok\n");
	/* Effects and markers are of one moment. */
	assert_int_equal(gateway_int(g, "SELECT (SELECT count(*) FROM effect)"
		" - (SELECT count(*) FROM once_marker)"), 0);
	assert_in_range(gateway_int(g, "SELECT count(*) FROM effect"), 500,
			5000);
	snprintf(command, sizeof(command), "timeout 2 %s run --accept-restored "
		 "-c %s >/dev/null 2>&1", g->program, g->conf);
	(void)!system(command);
	gateway_up(g);
	says("status", 0, "connected");
}

static void sweep_takes_what_has_had_its_time(void **state UNUSED)
{
	switched_bury(g, 250);
	publish("{\"id\":\"mend\"}");
	gateway_wait(g, "SELECT count(*) FROM switch WHERE broken = 0", 1,
		     10000);
	says("dead replay --all --yes --wait", 0, "250 done");
	says("store sweep --dry-run", 0, "resolved letters");
	says("store sweep --dry-run --ndjson", 0,
	     "{\"what\":\"resolved letters\",\"generation\":null,\"n\":0}");
	down();
	/* Two days later. */
	spoil("UPDATE once_meta SET store_ms = store_ms + 172800000;"
	      "UPDATE once_generation SET state = 'closed', closed_ms = 1000"
	      " WHERE state = 'active';"
	      "UPDATE once_generation SET state = 'active', position = 2"
	      " WHERE generation = 1");
	says("store sweep --dry-run --ndjson", 0,
	     "{\"what\":\"markers\",\"generation\":0,\"n\":251}");
	says("store sweep --dry-run --ndjson", 0,
	     "{\"what\":\"resolved letters\",\"generation\":null,"
	     "\"n\":250}");
	says("store sweep --ndjson", 0, "{\"what\":\"resolved letters\","
	     "\"generation\":null,\"n\":250}");
	says("audit list", 0, "store sweep");
	says("store verify", 0, "ok\n");
	assert_int_equal(gateway_int(g, "SELECT (SELECT count(*)"
		" FROM once_dead_letter) + (SELECT count(*) FROM once_attempt)"
		" + (SELECT count(*) FROM once_job_item)"
		" + (SELECT count(*) FROM once_marker)"), 0);
	gateway_up(g);
	says("store sweep", 0, "markers");
}

/* By root, with the daemon's files as they are. */
static void another_user_is_told_who_may(void **state UNUSED)
{
	static const char *const commands[] = {
		"status", "dead list", "dead show 1", "dead show 1 --payload",
		"dead discard 1 --yes", "dead pull --max 1 --out /tmp/no",
		"group drop g --yes", "store verify", "store sweep",
		"store sweep --dry-run", "store backup /tmp/no/no",
		"store quarantine --yes",
	};
	static const struct how nobody = { .as_nobody = true };
	static struct ran r;

	if (getuid())
		skip();
	assert_int_equal(chmod(g->dir, 0711), 0);
	assert_int_equal(chmod(g->conf, 0644), 0);
	switched_bury(g, 1);
	for (int up = 1; up >= 0; up--) {
		for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
			cli_run_how(g, &r, commands[i], &nobody);
			cli_assert_error(g, &r, commands[i], 77, "root");
			assert_string_equal(r.out, "");
		}
		if (up)
			down();
	}
	says("dead list", 0, "broken");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_open_letter_is_an_alarm_until_somebody_decides),
		T(a_look_at_a_payload_is_audited),
		T(a_renamed_group_keeps_what_it_knows),
		T(a_group_is_dropped_when_nothing_needs_it),
		T(a_letter_discarded_before_its_turn_ends_no_daemon),
		T(verify_sees_what_is_in_no_place_or_in_two),
		T(verify_sees_spoilt_pages),
		T(a_zeroed_store_goes_aside_with_its_wal),
		T(a_backup_under_load_is_whole_and_knows_what_it_is),
		T(sweep_takes_what_has_had_its_time),
		T(another_user_is_told_who_may),
	};

	return cmocka_run_group_tests_name("care", tests, NULL, NULL);
}
