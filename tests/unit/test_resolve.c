#include "../support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "os/resolve.h"

#define ENOUGH_MS 15000

/* Set: a forked child never gets as far as asking. */
static bool children_hang;

static void in_child(void)
{
	while (children_hang)
		pause();
}

/* Asks until there is an answer, as the loop would. */
static enum err take(struct resolve *r, struct resolve_result *result,
		     struct err_detail *why)
{
	int64_t end_ms = clock_boot_ms() + ENOUGH_MS;
	struct pollfd p = { .fd = resolve_fd(r), .events = POLLIN };
	enum err e;

	while ((e = resolve_take(r, result, why)) == ERR_BUSY &&
	       clock_boot_ms() < end_ms)
		poll(&p, 1, 50);
	return e;
}

static void assert_no_child_is_left(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_number_is_its_own_answer_without_a_child(void **state UNUSED)
{
	static const char *const hosts[] = { "127.0.0.1", "::1", "192.0.2.7" };
	struct resolve_result result;
	struct err_detail why;
	struct resolve *r;

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		assert_ok(resolve_start(hosts[i], 1883, RESOLVE_LIMIT_MS, &r,
					&why));
		assert_int_equal(resolve_fd(r), -1);
		assert_no_child_is_left();
		assert_ok(resolve_take(r, &result, &why));
		assert_int_equal(result.len, 1);
		assert_string_equal(result.list[0].host, hosts[i]);
		assert_int_equal(result.list[0].port, 1883);
		resolve_free(r);
	}
}

static void a_name_becomes_numbers(void **state UNUSED)
{
	struct resolve_result result;
	struct err_detail why = { "" };
	struct resolve *r;

	assert_ok(resolve_start("localhost", 8883, RESOLVE_LIMIT_MS, &r, &why));
	assert_true(resolve_fd(r) >= 0);
	assert_ok(take(r, &result, &why));
	assert_in_range(result.len, 1, RESOLVE_MAX);
	assert_true(!strcmp(result.list[0].host, "127.0.0.1") ||
		    !strcmp(result.list[0].host, "::1"));
	assert_int_equal(result.list[0].port, 8883);
	resolve_free(r);
	assert_no_child_is_left();
}

static void an_unknown_name_is_told_with_what_to_do(void **state UNUSED)
{
	struct resolve_result result = { .len = 7 };
	struct err_detail why = { "" };
	struct resolve *r;

	assert_ok(resolve_start("no-such-broker.invalid", 1883,
				RESOLVE_LIMIT_MS, &r, &why));
	assert_err(take(r, &result, &why), ERR_LINK);
	assert_non_null(strstr(why.text, "no-such-broker.invalid"));
	assert_non_null(strstr(why.text, "name server"));
	assert_int_equal(result.len, 7);
	resolve_free(r);
	assert_no_child_is_left();
}

static void a_child_that_hangs_is_given_up_and_killed(void **state UNUSED)
{
	int64_t start_ms = clock_boot_ms();
	struct resolve_result result;
	struct err_detail why = { "" };
	struct resolve *r;

	children_hang = true;
	assert_ok(resolve_start("localhost", 1883, 200, &r, &why));
	children_hang = false;
	assert_err(resolve_take(r, &result, &why), ERR_BUSY);
	assert_err(take(r, &result, &why), ERR_LINK);
	assert_non_null(strstr(why.text, "no answer"));
	assert_in_range(clock_boot_ms() - start_ms, 200, 5000);
	resolve_free(r);
	assert_no_child_is_left();
}

static void freeing_early_ends_the_child(void **state UNUSED)
{
	struct err_detail why;
	struct resolve *r;

	children_hang = true;
	assert_ok(resolve_start("localhost", 1883, RESOLVE_LIMIT_MS, &r, &why));
	children_hang = false;
	resolve_free(r);
	assert_no_child_is_left();
	resolve_free(NULL);
}

static unsigned open_descriptors(void)
{
	struct stat st;
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += !fstat(fd, &st);
	return n;
}

static void no_descriptor_leaks(void **state UNUSED)
{
	unsigned before = open_descriptors();
	struct resolve_result result;
	struct err_detail why;
	struct resolve *r;

	for (int i = 0; i < 5; i++) {
		assert_ok(resolve_start("localhost", 1, RESOLVE_LIMIT_MS, &r,
					&why));
		assert_ok(take(r, &result, &why));
		resolve_free(r);
	}
	assert_int_equal(open_descriptors(), before);
}

/* An end of a pipe that only the child could still hold. */
static void the_child_holds_no_descriptor_of_ours(void **state UNUSED)
{
	struct pollfd p = { .events = POLLIN };
	struct resolve_result result;
	struct err_detail why;
	struct resolve *r;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_ok(resolve_start("localhost", 1, RESOLVE_LIMIT_MS, &r, &why));
	close(fds[1]);
	assert_ok(take(r, &result, &why));
	p.fd = fds[0];
	assert_int_equal(poll(&p, 1, ENOUGH_MS), 1);
	assert_true(p.revents & POLLHUP);
	resolve_free(r);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_its_own_answer_without_a_child),
		cmocka_unit_test(a_name_becomes_numbers),
		cmocka_unit_test(an_unknown_name_is_told_with_what_to_do),
		cmocka_unit_test(a_child_that_hangs_is_given_up_and_killed),
		cmocka_unit_test(freeing_early_ends_the_child),
		cmocka_unit_test(no_descriptor_leaks),
		cmocka_unit_test(the_child_holds_no_descriptor_of_ours),
	};

	pthread_atfork(NULL, NULL, in_child);
	return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
