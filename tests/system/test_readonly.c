/*
 * The store's file system becomes read-only under the daemon, as ext4 does
 * after an error: on an image in a mount namespace of this process.
 */
#include "../support/gateway_steps.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define EFFECTS "SELECT count(*) FROM effect"

static bool may_mount;

/* Whether the shell could: @D is the folder. */
static bool shell(const char *text)
{
	char command[512];

	gateway_expand(g, text, command, sizeof(command));
	return system(command) == 0;
}

#define MOUNT "mount -o loop @D/image @D/store 2>/dev/null"

static int setup(void **state UNUSED)
{
	g = gateway_new(&(struct gateway_options){
		.groups = GROUP, .schema = EFFECT, .handler = REFUSE_BAD,
		.broker = "reconnect_max = 1s\n" });
	may_mount = may_mount &&
		    shell("PATH=$PATH:/usr/sbin:/sbin; truncate -s 32M @D/image"
			  " && mkfs.ext4 -q -F @D/image >/dev/null 2>&1"
			  " && mkdir -m 700 @D/store && " MOUNT
			  " && chmod 700 @D/store");
	return 0;
}

static int end(void **state)
{
	if (g->daemon)
		gateway_end(g, SIGKILL);
	if (may_mount)
		(void)shell("umount @D/store");
	return teardown(state);
}

static void publish_some(int from, int to)
{
	static char text[100][32];
	const char *list[100];

	for (int i = from; i < to; i++) {
		snprintf(text[i - from], sizeof(text[0]), "{\"id\":\"e%d\"}", i);
		list[i - from] = text[i - from];
	}
	gateway_publish(g, "t", list, (unsigned)(to - from));
}

static void a_store_that_becomes_read_only_ends_the_daemon(void **state UNUSED)
{
	if (!may_mount)
		skip();
	gateway_up(g);
	publish_some(0, 50);
	gateway_wait(g, EFFECTS, 50, 10000);
	assert_true(shell("mount -o remount,abort @D/store"));
	publish_some(50, 100);
	assert_int_equal(gateway_wait_end(g, 20000), 74);
	assert_int_equal(gateway_logged(g, "stopped, nothing unsaved was "
					   "acknowledged"), 1);
	assert_true(gateway_logged(g, "/store/s.db: ") >= 1);
	assert_int_equal(gateway_logged(g, "action=reconnect"), 0);
	assert_true(gateway_logged(g, "Read-only file system") +
		    gateway_logged(g, "Input/output error") >= 1);
	/* It does not start there either, and says why. */
	gateway_start(g, NULL);
	assert_in_range(gateway_wait_end(g, 20000), 73, 74);
	says("dead discard --all --yes", 73, "Read-only file system");
	assert_true(shell("umount @D/store && " MOUNT));
	gateway_up(g);
	gateway_wait(g, EFFECTS, 100, 20000);
	assert_int_equal(gateway_int(g, "SELECT count(DISTINCT id)"
					" FROM effect"), 100);
	assert_int_equal(count("effect"), 100);
	says("store verify", 0, "ok\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_store_that_becomes_read_only_ends_the_daemon, setup,
			end),
	};

	/* Needs root and a loop device; otherwise it says skipped. */
	may_mount = unshare(CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return cmocka_run_group_tests_name("readonly", tests, NULL, NULL);
}
