/* The owner's socket: lost and found again, and who stands in the door. */
#include "../support/gateway_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

static char door[128];

static int setup(void **state UNUSED)
{
	signal(SIGPIPE, SIG_IGN);
	g = gateway_new(&(struct gateway_options){
		.groups = GROUP, .schema = EFFECT, .handler = REFUSE_BAD });
	snprintf(door, sizeof(door), "%s/store/s.db.sock", g->dir);
	gateway_up(g);
	return 0;
}

/* How many of a row; COMMANDS=3000 for a long run. */
static int commands(void)
{
	const char *s = getenv("COMMANDS");

	return s ? atoi(s) : 250;
}

static int try_to_knock(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(sa.sun_path, door, strlen(door));
	if (!connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		return fd;
	close(fd);
	return -1;
}

static void wait_for_door(void)
{
	for (int i = 0; i < 100; i++) {
		int fd = try_to_knock();

		if (fd >= 0) {
			close(fd);
			return;
		}
		sleep_ms(100);
	}
	fail_msg("nobody listens at %s", door);
}

static int64_t read_to_end(int fd)
{
	char buf[4096];
	int64_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0 ||
	       (n < 0 && errno == EAGAIN)) {
		if (n < 0)
			sleep_ms(5);
		else
			sum += n;
	}
	assert_int_equal(n, 0);
	return sum;
}

static void a_socket_that_was_removed_is_made_again(void **state UNUSED)
{
	int fd;

	bury(2000);
	fd = try_to_knock();
	assert_true(fd >= 0);
	assert_true(write(fd, "{\"command\":\"dead list\"}\n", 24) == 24);
	sleep_ms(200);
	kill(g->daemon, SIGSTOP);
	assert_int_equal(unlink(door), 0);
	says("dead discard 1 --yes", 75, "does not answer at");
	says("dead discard 1 --yes", 75, "ask again");
	says("dead list --max 1", 0, "broken");
	kill(g->daemon, SIGCONT);
	wait_for_door();
	says("dead discard 1 --yes", 0, "discard: 1");
	assert_int_equal(gateway_logged(g, "socket.again"), 1);
	/* Who was inside has lost nothing. */
	assert_true(read_to_end(fd) > 2000 * 100);
	close(fd);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(access(door, F_OK), -1);
}

static void a_file_in_the_place_of_a_lost_socket_is_kept(void **state UNUSED)
{
	struct stat sb;

	bury(1);
	assert_int_equal(unlink(door), 0);
	gateway_file(g, "store/s.db.sock", "precious");
	gateway_wait_log(g, "socket.failed", 1, 10000);
	assert_int_equal(gateway_logged(g, "that is no socket; remove it"), 1);
	says("dead discard 1 --yes", 75, "does not answer at");
	sleep_ms(2500);
	assert_int_equal(gateway_logged(g, "socket.failed"), 1);
	assert_int_equal(stat(door, &sb), 0);
	assert_int_equal(sb.st_size, 8);
	assert_int_equal(unlink(door), 0);
	wait_for_door();
	says("dead discard 1 --yes", 0, "discard: 1");
	/* What is not ours any more is not ours to remove. */
	assert_int_equal(unlink(door), 0);
	gateway_file(g, "store/s.db.sock", "precious");
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(stat(door, &sb), 0);
}

static void the_socket_of_another_process_is_left_to_it(void **state UNUSED)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(gateway_end(g, SIGTERM), 0);
	memcpy(sa.sun_path, door, strlen(door));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 8), 0);
	gateway_up(g);
	gateway_wait_log(g, "another process listens there", 1, 5000);
	assert_int_equal(access(door, F_OK), 0);
	/* What it leaves behind when it ends is nobody's. */
	close(fd);
	gateway_wait_log(g, "socket.again", 1, 5000);
	says("group pause g", 0, "true");
}

/* Asks for all letters, and then stops for good. */
static pid_t stopped_client(void)
{
	static char command[256];
	static char sh[] = "sh", option[] = "-c";
	char *const argv[] = { sh, option, command, NULL };
	int fds[2];
	pid_t pid;
	char c;

	snprintf(command, sizeof(command), "exec %s dead list --ndjson -c %s",
		 g->program, g->conf);
	assert_int_equal(pipe(fds), 0);
	pid = process_fork();
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		process_become(argv);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &c, 1), 1);
	kill(pid, SIGSTOP);
	close(fds[0]);
	return pid;
}

static pid_t silent_client(void)
{
	pid_t pid = process_fork();

	if (!pid) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		struct sockaddr_un sa = { .sun_family = AF_UNIX };

		memcpy(sa.sun_path, door, strlen(door));
		(void)!connect(fd, (struct sockaddr *)&sa, sizeof(sa));
		for (;;)
			pause();
	}
	return pid;
}

#define SILENT 100

/* A hundred that say nothing, and one that stopped listening. */
static void who_does_nothing_is_in_nobodys_way(void **state UNUSED)
{
	pid_t silent[SILENT], stopped;
	unsigned before;
	long kb;

	bury(3000);
	says("dead list --max 1", 0, "broken");
	stopped = stopped_client();
	before = descriptors();
	kb = resident_kb();
	for (int i = 0; i < SILENT; i++)
		silent[i] = silent_client();
	for (int i = 0; i < 20; i++) {
		char text[32];

		snprintf(text, sizeof(text), "{\"id\":\"live%d\"}", i);
		publish(text);
	}
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id LIKE 'live%'",
		     20, 5000);
	says("dead summary", 0, "3000  in all");
	says("dead discard 1 --yes", 0, "discard: 1");
	assert_true(descriptors() <= before + 8);
	assert_true(resident_kb() < kb + 1024);
	for (int i = 0; i < SILENT; i++)
		process_stop(silent[i], SIGKILL);
	process_stop(stopped, SIGKILL);
	says("group list", 0, "running");
}

/* Many, of all sorts, while events flow. */
static void thousands_of_commands_leave_nothing_behind(void **state UNUSED)
{
	static const struct {
		const char *args, *words;
	} acts[] = {
		{ "status", "connected" },
		{ "dead list --max 20", "broken" },
		{ "dead replay 7 --yes", "job" },
		{ "dead discard 2 --yes", "discard: 1" },
		{ "dead restore 2 --yes", "restore: 1" },
		{ "dead show 3 --payload", "bad" },
		{ "job list", "done" },
		{ "dead summary", "in all" },
		{ "group list", "running" },
		{ "dead list --state nonsense", "--state is one of" },
	};
	int n = commands();
	unsigned fds = 0;
	long kb = 0;

	bury(200);
	says("dead replay 7 --yes --wait", 1, "failed again");
	for (int i = 0; i < n; i++) {
		const char *args = acts[i % ARRAY_LEN(acts)].args;
		char text[32];

		/* One in flight is no open letter, for a moment. */
		(void)gateway_command(g, out, sizeof(out), args);
		if (!strstr(out, acts[i % ARRAY_LEN(acts)].words) &&
		    !strstr(out, "no letter 7 in state open"))
			fail_msg("%d: %s: %s", i, args, out);
		snprintf(text, sizeof(text), "{\"id\":\"live%d\"}", i);
		if (i % 10 == 0)
			publish(text);
		if (i == n / 4) {
			fds = descriptors();
			kb = resident_kb();
		}
	}
	gateway_wait(g, "SELECT count(*) FROM effect", (n + 9) / 10, 10000);
	assert_true(descriptors() <= fds + 1);
	assert_true(resident_kb() < kb + 512);
	says("store verify", 0, "ok\n");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_socket_that_was_removed_is_made_again),
		T(a_file_in_the_place_of_a_lost_socket_is_kept),
		T(the_socket_of_another_process_is_left_to_it),
		T(who_does_nothing_is_in_nobodys_way),
		T(thousands_of_commands_leave_nothing_behind),
	};

	return cmocka_run_group_tests_name("door", tests, NULL, NULL);
}
