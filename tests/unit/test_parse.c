#include "../support/test.h"

#include <stdio.h>

#include "base/parse.h"

static void durations_need_a_unit(void **state UNUSED)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} cases[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "1ms", 1 },
		{ "1s", 1000 },
		{ "30m", 1800000 },
		{ "3h", 10800000 },
		{ "1d", 86400000 },
		{ "007s", 7000 },
		{ "9223372036854775807ms", INT64_MAX },
		{ "", -1 },
		{ "1", -1 },
		{ "00", -1 },
		{ "s", -1 },
		{ "-1s", -1 },
		{ "+1s", -1 },
		{ "1.5h", -1 },
		{ "1 s", -1 },
		{ " 1s", -1 },
		{ "1S", -1 },
		{ "1w", -1 },
		{ "1hs", -1 },
		{ "1h30m", -1 },
		{ "infinite", -1 },
		{ "9223372036854775808ms", -1 },
		{ "9223372036854776s", -1 },
		{ "999999999999999999999d", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t ms = -1;
		enum err e = parse_duration_ms(span_str(cases[i].text), &ms);

		if (ms != cases[i].ms || e != (ms < 0 ? ERR_INPUT : OK))
			fail_msg("%s", cases[i].text);
	}
}

static void sizes_may_have_a_unit(void **state UNUSED)
{
	static const struct {
		const char *text;
		int64_t bytes; /* -1: refused */
	} cases[] = {
		{ "0", 0 },
		{ "17", 17 },
		{ "64K", 65536 },
		{ "1M", 1 << 20 },
		{ "2G", INT64_C(2) << 30 },
		{ "", -1 },
		{ "K", -1 },
		{ "1k", -1 },
		{ "1KB", -1 },
		{ "1T", -1 },
		{ "-1", -1 },
		{ "1.5M", -1 },
		{ "8589934592G", -1 },
		{ "0x10", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t bytes = -1;
		enum err e = parse_size(span_str(cases[i].text), &bytes);

		if (bytes != cases[i].bytes ||
		    e != (bytes < 0 ? ERR_INPUT : OK))
			fail_msg("%s", cases[i].text);
	}
}

static void numbers_are_digits_only(void **state UNUSED)
{
	int64_t v = -1;

	assert_ok(parse_uint(span_str("9223372036854775807"), &v));
	assert_true(v == INT64_MAX);
	v = 5;
	assert_err(parse_uint(span_str("9223372036854775808"), &v), ERR_INPUT);
	assert_err(parse_uint(span_str(""), &v), ERR_INPUT);
	assert_err(parse_uint(span_str("-1"), &v), ERR_INPUT);
	assert_err(parse_uint(span_str("1x"), &v), ERR_INPUT);
	assert_int_equal(v, 5);
}

static void values_are_shown_in_their_largest_unit(void **state UNUSED)
{
	char buf[PARSE_TEXT_SIZE];

	assert_string_equal(duration_text(buf, 0), "0");
	assert_string_equal(duration_text(buf, 1), "1ms");
	assert_string_equal(duration_text(buf, 90000), "90s");
	assert_string_equal(duration_text(buf, 1800000), "30m");
	assert_string_equal(duration_text(buf, 86400000), "1d");
	assert_string_equal(duration_text(buf, INT64_MAX),
			    "9223372036854775807ms");
	assert_string_equal(size_text(buf, 0), "0");
	assert_string_equal(size_text(buf, 1000), "1000");
	assert_string_equal(size_text(buf, 65536), "64K");
	assert_string_equal(size_text(buf, INT64_C(1) << 40), "1024G");
}

static void what_is_shown_reads_back_the_same(void **state UNUSED)
{
	static const int64_t values[] = { 0,	   1,	     999,
					  1000,	   60000,    61000,
					  3600000, 90000000, INT64_MAX };
	char buf[PARSE_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		int64_t v = -1;

		duration_text(buf, values[i]);
		assert_ok(parse_duration_ms(span_str(buf), &v));
		assert_true(v == values[i]);
		size_text(buf, values[i]);
		assert_ok(parse_size(span_str(buf), &v));
		assert_true(v == values[i]);
	}
}

static void utf8_is_judged_as_the_rfc_does(void **state UNUSED)
{
	static const char *const good[] = {
		"",
		"a",
		"\x7f",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"01234567\xc3\xa9"
		"89abcdef\xe2\x82\xac",
	};
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2\x7f",
		"\xc2\xc0",
		"\xe0\x9f\xbf",
		"\xe0\xa0",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xe2\x82",
		"\xe2\x28\xa1",
		"\xe2\x82\x28",
		"\xf0\x8f\xbf\xbf",
		"\xf0\x90\x80",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xfe",
		"01234567\xff",
		"0123456\xff"
		"89abcdef",
		"0123456789abcde\xc3",
	};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!utf8_valid(span_str(good[i])))
			fail_msg("good %zu is refused", i);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (utf8_valid(span_str(bad[i])))
			fail_msg("bad %zu passes", i);
	assert_true(utf8_valid(span_of("a\0b", 3)));
	assert_true(utf8_valid((struct span){ 0 }));
}

static void a_slip_finds_the_word_that_was_meant(void **state UNUSED)
{
	static const char *const words[] = {
		"session_expiry", "keepalive", "url", "user", "ca", "id"
	};
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "sesion_expiry", "session_expiry" },
		{ "session-expiry", "session_expiry" },
		{ "keep_alive", "keepalive" },
		{ "keepalvie", "keepalive" },
		{ "uri", "url" },
		{ "users", "user" },
		{ "ids", "id" },
		{ "colour", NULL },
		{ "zzzzzzzzzzzzzz", NULL },
		{ "", NULL },
		{ "x", NULL },
	};
	char endless[200];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *got = nearest_word(span_str(cases[i].text), words,
					       ARRAY_LEN(words));

		if (!got != !cases[i].want ||
		    (got && strcmp(got, cases[i].want) != 0))
			fail_msg("%s: %s", cases[i].text, got ? got : "none");
	}
	memset(endless, 'a', sizeof(endless));
	assert_null(nearest_word(span_of(endless, sizeof(endless)), words,
				 ARRAY_LEN(words)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_need_a_unit),
		cmocka_unit_test(sizes_may_have_a_unit),
		cmocka_unit_test(numbers_are_digits_only),
		cmocka_unit_test(values_are_shown_in_their_largest_unit),
		cmocka_unit_test(what_is_shown_reads_back_the_same),
		cmocka_unit_test(utf8_is_judged_as_the_rfc_does),
		cmocka_unit_test(a_slip_finds_the_word_that_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
