#include "../support/test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

/* What the calls between the two wrote to standard error. */
static int saved_fd, pipe_fd[2];

static void capture_start(void)
{
	assert_int_equal(pipe(pipe_fd), 0);
	saved_fd = dup(STDERR_FILENO);
	dup2(pipe_fd[1], STDERR_FILENO);
	close(pipe_fd[1]);
}

static const char *capture_end(char *buf, size_t size)
{
	ssize_t n;

	dup2(saved_fd, STDERR_FILENO);
	close(saved_fd);
	n = read(pipe_fd[0], buf, size - 1);
	close(pipe_fd[0]);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static void a_line_has_priority_event_and_values(void **state UNUSED)
{
	char got[2048];

	capture_start();
	log_info("ingest.batch", "n=%u suppressed=%u", 3u, 1u);
	log_warn("store.full", "action=%s", "wait");
	log_err("link.lost", "%s", "");
	assert_string_equal(capture_end(got, sizeof(got)),
			    "<6>ingest.batch n=3 suppressed=1\n"
			    "<4>store.full action=wait\n"
			    "<3>link.lost \n");
}

static void a_long_line_is_cut_and_still_ends(void **state UNUSED)
{
	char text[3000], got[4096];
	size_t len;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	capture_start();
	log_info("a", "%s", text);
	len = strlen(capture_end(got, sizeof(got)));
	assert_in_range(len, 500, 1024);
	assert_int_equal(got[len - 1], '\n');
	assert_int_equal(got[len - 2], 'x');
}

static void a_topic_is_quoted_and_cut(void **state UNUSED)
{
	char buf[LOG_TOPIC_SIZE], long_topic[100];

	assert_string_equal(log_topic(buf, span_str("a/b")), "\"a/b\"");
	assert_string_equal(log_topic(buf, span_str("a\n\"\x1b\xc3\xa9")),
			    "\"a?????\"");
	assert_string_equal(log_topic(buf, span_str("")), "\"\"");
	memset(long_topic, 't', sizeof(long_topic));
	log_topic(buf, span_of(long_topic, 64));
	assert_int_equal(strlen(buf), 66);
	log_topic(buf, span_of(long_topic, 65));
	assert_int_equal(strlen(buf), 69);
	assert_string_equal(buf + 64, "t...\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_priority_event_and_values),
		cmocka_unit_test(a_long_line_is_cut_and_still_ends),
		cmocka_unit_test(a_topic_is_quoted_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
