/*
 * Letters on their way into a file: whatever happens meanwhile, none is marked
 * that is not whole in one.
 */
#include "../support/gateway_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"

#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define LETTERS 1500

static bool may_mount;

static int setup(void **state UNUSED)
{
	g = gateway_new(&(struct gateway_options){
		.groups = GROUP, .schema = EFFECT, .handler = REFUSE_BAD });
	gateway_up(g);
	bury(LETTERS);
	return 0;
}

static const char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	return path;
}

/* Whole lines of the file; each is JSON with what the letter's event said. */
static int64_t whole_letters(const char *name)
{
	char line[4096];
	int64_t n = 0;
	FILE *f = fopen(path_of(name), "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		struct span s = span_of(line, strlen(line) - 1);
		struct json_value v;

		assert_true(line[s.len] == '\n');
		assert_true(json_valid(s));
		assert_true(json_find(s, span_str("$.payload_base64"), &v));
		assert_true(v.raw.len > 20);
		n++;
	}
	fclose(f);
	return n;
}

static int64_t marked(void)
{
	return count("once_dead_letter WHERE pulled_as IS NOT NULL");
}

static void start_pull(const char *name, pid_t *ret_pid)
{
	static char command[400];
	static char sh[] = "sh", option[] = "-c";
	char *const argv[] = { sh, option, command, NULL };

	snprintf(command, sizeof(command), "exec %s dead pull --max %d --out"
		 " %s -c %s", g->program, LETTERS, path_of(name), g->conf);
	*ret_pid = process_start(argv, path_of("pull.log"), NULL);
}

/* Killed later and later, until one gets through. */
static void a_killed_pull_marks_nothing_that_is_not_in_a_file(
	void **state UNUSED)
{
	int64_t whole = 0;
	bool through = false;

	for (int i = 0; !through && i < 200; i++) {
		char name[32];
		int status = 0;
		pid_t pid;

		snprintf(name, sizeof(name), "p%d", i);
		start_pull(name, &pid);
		usleep((useconds_t)i * 1000);
		kill(pid, SIGKILL);
		assert_true(process_wait(pid, 10000, &status));
		whole += whole_letters(name);
		assert_true(marked() <= whole);
		through = marked() == LETTERS;
		assert_int_equal(count("once_dead_letter WHERE"
			" (pulled_as IS NULL) <> (state = 'open')"), 0);
	}
	assert_true(through);
	says("store verify", 0, "ok\n");
}

static void pull_into(const char *name, int max, int status, const char *words)
{
	char args[256];

	snprintf(args, sizeof(args), "dead pull --max %d --out %s", max,
		 path_of(name));
	says(args, status, words);
}

static void what_was_taken_is_not_taken_again(void **state UNUSED)
{
	pull_into("a", 1000, 0, "pulled 1000 letters");
	pull_into("b", LETTERS, 0, "pulled 500 letters");
	pull_into("c", LETTERS, 0, "no letter");
	assert_int_equal(access(path_of("c"), F_OK), -1);
	says("dead list --state discarded --max 1 --ndjson", 0, "\"pulled_as\":\"/");
	assert_int_equal(whole_letters("a"), 1000);
	assert_int_equal(whole_letters("b"), 500);
	says("dead restore --all --yes", 0, "restore: 1500");
	pull_into("d", 7, 0, "pulled 7 letters");
}

static void a_full_disk_marks_nothing(void **state UNUSED)
{
	if (!may_mount)
		skip();
	assert_int_equal(mkdir(path_of("stick"), 0700), 0);
	assert_int_equal(mount("tmpfs", path_of("stick"), "tmpfs", 0,
			       "size=64K"), 0);
	pull_into("stick/p", LETTERS, 74, "No space left on device; nothing "
		  "was taken");
	assert_int_equal(marked(), 0);
	assert_int_equal(access(path_of("stick/p"), F_OK), -1);
	assert_int_equal(access(path_of("stick/p.part"), F_OK), -1);
	/* What fits can be taken. */
	pull_into("stick/p", 50, 0, "pulled 50 letters");
	assert_int_equal(whole_letters("stick/p"), 50);
	assert_int_equal(marked(), 50);
	umount2(path_of("stick"), MNT_DETACH);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_killed_pull_marks_nothing_that_is_not_in_a_file),
		T(what_was_taken_is_not_taken_again),
		T(a_full_disk_marks_nothing),
	};

	/* Needs root, or user namespaces; otherwise that test says skipped. */
	may_mount = unshare(CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return cmocka_run_group_tests_name("pull", tests, NULL, NULL);
}
