/*
 * What the store lies on: check and run say what is unfit, on real mounts in a
 * mount namespace of this process.
 */
#include "../support/cli.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "../support/test.h"

static bool may_mount;
static struct gateway *g;
static struct ran r;

static int setup(void **state UNUSED)
{
	g = cli_gateway();
	return 0;
}

/* Whether the shell could: @D is the folder. */
static bool shell(const char *text)
{
	return system(cli_expand(g, text)) == 0;
}

static int teardown(void **state UNUSED)
{
	if (may_mount)
		(void)shell("cd @D && umount -l store/lib store disk 2>/dev/null");
	gateway_free(g);
	return 0;
}

static void check(void)
{
	cli_run(g, &r, "check");
}

/* In a container / is an overlay, and /tmp may be in memory. */
static void a_disk_is_passed_over_in_silence(void **s UNUSED)
{
	if (!shell("case $(stat -f -c %T @D) in tmpfs|overlay*) exit 1; esac"))
		skip();
	check();
	assert_int_equal(r.status, 0);
	assert_lacks(r.out, "lies on");
	assert_true(shell("test -z \"$(ls -A @D/store 2>/dev/null)\""));
}

static void a_store_in_memory_is_warned_of(void **s UNUSED)
{
	if (!may_mount)
		skip();
	assert_true(shell("mkdir -p @D/store && mount -t tmpfs -o mode=700 "
			  "tmpfs @D/store"));
	check();
	assert_int_equal(r.status, 0);
	assert_has(r.out, "warning: ");
	assert_has(r.out, "/store lies on tmpfs, in memory: a power cut takes");
}

static void an_overlay_is_judged_by_its_upper_directory(void **s UNUSED)
{
	if (!may_mount ||
	    !shell("cd @D && mkdir -p store low disk && mount -t tmpfs tmpfs "
		   "disk && mkdir disk/up disk/work && mount -t overlay -o "
		   "lowerdir=low,upperdir=@D/disk/up,workdir=@D/disk/work "
		   "overlay store 2>/dev/null"))
		skip();
	check();
	assert_int_equal(r.status, 0);
	assert_has(r.out, "/disk/up lies on tmpfs, in memory");
}

static void a_file_system_that_maps_nothing_shared_is_refused(void **s UNUSED)
{
	const char *fake = getenv("MQONCE_SLOW");

	assert_non_null(fake);
	setenv("LD_PRELOAD", fake, 1);
	setenv("NO_SHARED_MAP", "1", 1);
	cli_each_fails(g, START, 78,
		       "no file can be mapped shared and writable");
	unsetenv("NO_SHARED_MAP");
	unsetenv("LD_PRELOAD");
	assert_true(shell("test -z \"$(ls -A @D/store 2>/dev/null)\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_disk_is_passed_over_in_silence, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_store_in_memory_is_warned_of, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_overlay_is_judged_by_its_upper_directory, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_file_system_that_maps_nothing_shared_is_refused,
			setup, teardown),
	};

	may_mount = !unshare(CLONE_NEWNS) &&
		    !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
