/* Operators at work while events flow, and clients that mean no good. */
#include "../support/gateway_steps.h"
#include "../support/switched.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state UNUSED)
{
	g = switched_new();
	return 0;
}

/* The whole way of a letter: with the daemon up, then down. */
static void letters_are_found_mended_and_replayed(void **state UNUSED)
{
	switched_bury(g, 5);
	says("dead list", 0, "broken");
	says("dead summary", 0, "5  in all");
	says("dead list --json --max 1", 0, "\"event_id\":\"b4\"");
	says("dead list --csv", 0, "id,state,age_ms");
	says("dead list --kind poison", 0, "no dead letters");
	says("dead list --kind x", 64, "--kind is one of permanent");
	says("dead list --state x", 64, "--state is one of open");
	says("dead show 1 --payload", 0, "{\"id\":\"b0\",\"k\":\"bad\"}");
	says("dead replay 1 --yes --wait", 1, "1 letters failed again");
	says("dead show 1", 0, "replays        1");
	gateway_file(g, "mended.json", "{\"id\":\"b0\",\"k\":\"good\"}");
	{
		char args[256];

		snprintf(args, sizeof(args), "dead replay 1 --payload "
			 "%s/mended.json --yes --wait", g->dir);
		says(args, 0, "1 done, 0 failed");
	}
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM effect"
		" WHERE id = 'b0' AND body LIKE '%good%'"), 1);
	switched_mend(g);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	says("dead replay --all --yes --wait", 0, "4 done, 0 failed");
	says("job list", 0, "done");
	says("dead list --state open", 0, "no dead letters");
	says("audit list", 0, "dead replay");
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM effect"
					" WHERE id LIKE 'b%'"), 5);
}

static void what_does_not_fit_is_refused_not_cut(void **state UNUSED)
{
	char args[1024] = "dead discard --yes --tenant ";
	size_t n = strlen(args);

	switched_bury(g, 40);
	memset(args + n, 'x', 300);
	says(args, 64, "--tenant is longer than the 255 bytes");
	gateway_file(g, "one.json", "{\"id\":\"b0\",\"k\":\"good\"}");
	n = (size_t)snprintf(args, sizeof(args),
			     "dead replay --yes --payload %s/one.json", g->dir);
	for (int i = 1; i <= 40; i++)
		n += (size_t)snprintf(args + n, sizeof(args) - n, " %d", i);
	says(args, 64, "name just one");
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_dead_letter"
					" WHERE state = 'open'"), 40);
}

static void two_steps_take_a_letter_away(void **state UNUSED)
{
	switched_bury(g, 3);
	says("dead discard", 64, "--all means all");
	says("dead purge --all --count 3 --yes", 1, "nothing was purged");
	says("dead discard 1,2 --yes", 0, "discard: 2");
	says("dead discard 1 --yes", 1, "no letter 1 in state open");
	says("dead restore 2 --yes", 0, "restore: 1");
	says("dead purge --all --yes", 64, "--count");
	says("dead purge --all --count 1 --yes", 0, "purge: 1");
	says("event show --group g b0", 0, "marker");
	says("dead discard --all", 64, "--yes");
	says("dead discard --all --dry-run", 0, "would discard 2");
	says("dead discard --all --dry-run --ndjson", 0, "{\"matched\":2}\n");
	says("dead discard 2 2 --dry-run", 0, "would discard 1");
	assert_int_equal(gateway_int(g, "SELECT count(*)"
		" FROM once_dead_letter WHERE state = 'open'"), 2);
}

static void pulled_letters_are_in_the_file_before_they_are_marked(
	void **state UNUSED)
{
	char args[256], path[128];
	struct stat sb;

	switched_bury(g, 700);
	snprintf(path, sizeof(path), "%s/letters", g->dir);
	snprintf(args, sizeof(args), "dead pull --max 600 --out %s", path);
	says(args, 0, "pulled 600");
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0600);
	assert_int_equal(gateway_int(g, "SELECT count(*)"
		" FROM once_dead_letter WHERE pulled_as IS NOT NULL"
		" AND state = 'discarded'"), 600);
	says(args, 73, "is there already");
	says("dead pull --max 600 --out /dev/full/x", 73, "/dev/full/x");
	says("dead pull --max 600 --out /nowhere/x", 73, "/nowhere/x");
	assert_int_equal(gateway_int(g, "SELECT count(*)"
		" FROM once_dead_letter WHERE state = 'open'"), 100);
}

static int knock(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/store/s.db.sock",
		 g->dir);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

/* Nothing that a client does holds the daemon or the WAL. */
static void slow_and_hostile_clients_hold_nothing(void **state UNUSED)
{
	static const char *const nonsense[] = {
		"\n", "{}\n", "[1]\n", "{\"command\":1}\n",
		"{\"command\":\"dead list\"", "{\"command\":\"no\"}\n",
		"\xff\xfe\n", "{\"command\":\"dead list\",\"max\":\"x\"}\n",
		"{\"command\":\"dead purge\",\"all\":\"\"}\n",
	};
	static char big[1 << 16];
	int fds[6];

	switched_bury(g, 2000);
	for (size_t i = 0; i < ARRAY_LEN(nonsense); i++) {
		int fd = knock();

		assert_true(write(fd, nonsense[i], strlen(nonsense[i])) > 0);
		close(fd);
	}
	/* Asks for much and reads nothing; sends without end. */
	for (int i = 0; i < 5; i++) {
		fds[i] = knock();
		assert_true(write(fds[i], "{\"command\":\"dead list\"}\n", 24) > 0);
	}
	fds[5] = knock();
	memset(big, 'x', sizeof(big));
	for (int i = 0; i < 100; i++)
		if (send(fds[5], big, sizeof(big), MSG_NOSIGNAL) < 0)
			break;
	/* Events flow, and others are served. */
	publish("{\"id\":\"live\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'live'", 1,
		     5000);
	says("dead summary", 0, "2000  in all");
	for (int i = 0; i < 6; i++)
		close(fds[i]);
	assert_false(gateway_ended(g));
	says("status", 0, "connected");
}

/* Then there is none, and the commands do without. */
static void a_socket_path_too_long_is_as_none(void **state UNUSED)
{
	char line[256] = "[store]\nsocket = /tmp/";
	size_t n = strlen(line);
	char *conf, path[128];
	FILE *f;

	switched_bury(g, 1);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	memset(line + n, 's', 120);
	snprintf(path, sizeof(path), "%s", g->conf);
	f = fopen(path, "r");
	assert_non_null(f);
	conf = calloc(1, 1 << 16);
	assert_non_null(conf);
	assert_true(fread(conf, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n%s", line, strstr(conf, "[store]\n") + 8);
	fclose(f);
	free(conf);
	says("dead list", 0, "broken");
	says("dead discard 1 --yes", 0, "discard: 1");
	says("check", 78, "mqonce.conf:2: /tmp/s");
	says("check", 78, "longer than the 107 bytes");
	says("run", 78, "longer than the 107 bytes");
}

static void a_plan_counts_no_more_than_max(void **state UNUSED)
{
	switched_bury(g, 1200);
	says("dead replay --all --max 700 --dry-run", 0, "would replay 700\n");
	says("dead replay --all --max 1100 --dry-run", 0,
	     "would replay 1100\n");
}

static char *fill(char *buf, size_t n, char c)
{
	memset(buf, c, n);
	buf[n] = '\0';
	return buf;
}

/* A topic that no page holds, and more sorts than one page does. */
static void a_letter_too_long_to_list_hides_no_other(void **state UNUSED)
{
	static char topic[60000] = "t/";
	static char text[500][64];
	const char *list[500], *huge = "{\"k\":\"bad\"}";
	char args[256];

	for (int i = 0; i < 500; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"%d\",\"k\":"
			 "\"bad\",\"type\":\"type_number_%d\"}", i, i);
		list[i] = text[i];
	}
	gateway_publish(g, "t", list, 500);
	fill(topic + 2, sizeof(topic) - 3, '"');
	gateway_publish(g, topic, &huge, 1);
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 501, 10000);
	says("dead list --max 2", 0, "t/\"\"\"");
	says("dead list --csv", 0, "\n1,\"open\",");
	says("dead show 501 --payload", 0, "bad");
	says("dead summary", 0, "501  in all");
	says("dead summary --ndjson", 0, "type_number_0\"");
	says("dead summary --ndjson", 0, "type_number_499\"");
	snprintf(args, sizeof(args), "dead pull --max 9 --out %s/p", g->dir);
	says(args, 0, "pulled 9 letters");
}

/* Ticks of processor time that the daemon has used. */
static long ticks(void)
{
	char path[64], line[1024] = "";
	unsigned long user = 0, kernel = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)g->daemon);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	assert_int_equal(sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d"
				" %*u %*u %*u %*u %*u %lu %lu", &user, &kernel),
			 2);
	return (long)(user + kernel);
}

static void who_waits_at_the_door_costs_nothing(void **state UNUSED)
{
	int fds[9];
	long before;

	for (int i = 0; i < 9; i++)
		fds[i] = knock();
	usleep(200000);
	before = ticks();
	usleep(1000000);
	assert_true(ticks() - before < sysconf(_SC_CLK_TCK) / 5);
	close(fds[0]);
	/* The ninth has a place now, and once it goes all others have. */
	close(fds[8]);
	says("group list", 0, "running");
	for (int i = 1; i < 8; i++)
		close(fds[i]);
}

static void a_file_in_the_sockets_place_is_kept(void **state UNUSED)
{
	char path[128];
	struct stat st;

	assert_int_equal(gateway_end(g, SIGTERM), 0);
	gateway_file(g, "store/s.db.sock", "precious");
	says("check", 78, "mqonce.conf:2: ");
	says("check", 78, "no socket; remove it, or change [store] socket");
	says("run", 78, "mqonce.conf:2: ");
	says("run", 78, "no socket; remove it, or change [store] socket");
	snprintf(path, sizeof(path), "%s/store/s.db.sock", g->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 8);
}

static void a_paused_group_waits_and_a_resumed_one_goes_on(void **state UNUSED)
{
	says("group pause g", 0, "paused         true");
	says("group pause g", 1, "paused already");
	publish("{\"id\":\"p\"}");
	gateway_wait(g, "SELECT count(*) FROM once_pending", 1, 5000);
	says("group list", 0, "paused");
	says("pending list", 0, "p");
	says("group resume nobody", 1, "group list");
	says("group resume g", 0, "paused         false");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'p'", 1, 5000);
	says("pending list", 0, "nothing waits");
}

/* A reader that stops in the middle: paged, so nothing is pinned. */
static void a_stopped_reader_pins_no_page(void **state UNUSED)
{
	char command[256];
	FILE *f;

	switched_bury(g, 2000);
	snprintf(command, sizeof(command),
		 "%s dead list --ndjson -c %s 2>/dev/null", g->program, g->conf);
	f = popen(command, "r");
	assert_non_null(f);
	assert_true(fgetc(f) == '{');
	for (int i = 0; i < 20; i++)
		publish("{\"id\":\"live\"}");
	switched_mend(g);
	/* An idle checkpoint moves all of the WAL in spite of the reader. */
	gateway_wait_log(g, "link.up", 1, 1000);
	sleep(7);
	publish("{\"id\":\"after\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'after'", 1,
		     5000);
	pclose(f);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
}

/* As root beside a daemon, no file of another owner appears. */
static void commands_leave_no_file_behind(void **state UNUSED)
{
	char command[256];
	FILE *f;
	int n = 0;

	switched_bury(g, 2);
	says("dead list", 0, "broken");
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	says("dead list", 0, "broken");
	says("dead discard 1 --yes", 0, "discard: 1");
	snprintf(command, sizeof(command), "ls -A %s/store", g->dir);
	f = popen(command, "r");
	while (f && fgets(out, sizeof(out), f)) {
		out[strcspn(out, "\n")] = '\0';
		if (strcmp(out, "s.db") && strcmp(out, "s.db-wal") &&
		    strcmp(out, "s.db-shm") && strcmp(out, "s.db.lock") &&
		    strcmp(out, "s.db.ballast"))
			fail_msg("left behind: %s", out);
		n++;
	}
	pclose(f);
	assert_true(n >= 3);
}

static void live_events_flow_while_letters_are_replayed(void **state UNUSED)
{
	static char text[500][48];
	static const char *list[500];

	switched_bury(g, 2000);
	switched_mend(g);
	says("dead replay --all --yes", 0, "job 1: 2000 letters");
	for (int i = 0; i < 500; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"live%d\"}", i);
		list[i] = text[i];
	}
	gateway_publish(g, "t", list, 500);
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id LIKE 'live%'",
		     500, 10000);
	gateway_wait(g, "SELECT count(*) FROM once_job WHERE state = 'done'", 1,
		     60000);
	assert_int_equal(gateway_int(g, "SELECT count(DISTINCT id)"
		" FROM effect WHERE id LIKE 'b%'"), 2000);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM effect"
					" WHERE id LIKE 'b%'"), 2000);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(letters_are_found_mended_and_replayed),
		T(what_does_not_fit_is_refused_not_cut),
		T(two_steps_take_a_letter_away),
		T(pulled_letters_are_in_the_file_before_they_are_marked),
		T(slow_and_hostile_clients_hold_nothing),
		T(a_socket_path_too_long_is_as_none),
		T(a_plan_counts_no_more_than_max),
		T(a_letter_too_long_to_list_hides_no_other),
		T(who_waits_at_the_door_costs_nothing),
		T(a_file_in_the_sockets_place_is_kept),
		T(a_paused_group_waits_and_a_resumed_one_goes_on),
		T(a_stopped_reader_pins_no_page),
		T(commands_leave_no_file_behind),
		T(live_events_flow_while_letters_are_replayed),
	};

	return cmocka_run_group_tests_name("operate", tests, NULL, NULL);
}
