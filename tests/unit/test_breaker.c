#include "../support/test.h"

#include <string.h>

#include "core/breaker.h"

static struct hash_key event(char name)
{
	struct hash_key k = { .bytes = { (uint8_t)name } };

	return k;
}

/*
 * Events by name, one a second; an upper-case name fails for a while, a lower-
 * case one ends well, '-' is a permanent failure and '!' a poison.
 */
static struct breaker after(const char *story)
{
	struct breaker b = { 0 };

	for (int64_t now = 1000; *story; story++, now += 1000) {
		struct hash_key k = event(*story);
		enum outcome o = *story == '-'	 ? OUTCOME_PERMANENT
				 : *story == '!' ? OUTCOME_POISON
				 : *story >= 'a' ? OUTCOME_OK
						 : OUTCOME_TRANSIENT;

		breaker_note(&b, o, &k, now);
	}
	return b;
}

static void it_opens_after_5_failures_in_a_row_of_3_events(void **state UNUSED)
{
	static const struct {
		const char *story;
		bool open;
	} cases[] = {
		{ "", false },		 { "ABCD", false },
		{ "ABCDE", true },	 { "ABCAB", true },
		{ "AAAAA", false },	 { "AAAABBBBAABB", false },
		{ "AAAABBBBC", true },	 { "ABCDxE", false },
		{ "ABCDxEFGH", false },	 { "ABCDxEFGHI", true },
		{ "ABCD-E", false },	 { "ABCD!E", false },
		{ "ABCDEx", false },	 { "ABCDE-", false },
		{ "ABCDE!", false },	 { "ABCDEFGH", true },
		{ "ABCDExABCD", false }, { "ABCDExABCDE", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (after(cases[i].story).open != cases[i].open)
			fail_msg("%s", cases[i].story);
}

static void group_time_stands_still_while_it_is_open(void **state UNUSED)
{
	struct breaker b = after("ABCDE"); /* open at 5,000 */
	struct hash_key k = event('x');

	assert_int_equal(breaker_group_ms(&b, 5000), 5000);
	assert_int_equal(breaker_group_ms(&b, 3600000), 5000);
	breaker_note(&b, OUTCOME_OK, &k, 65000);
	assert_int_equal(b.open_total_ms, 60000);
	assert_int_equal(breaker_group_ms(&b, 65000), 5000);
	assert_int_equal(breaker_group_ms(&b, 66000), 6000);
}

static void the_time_of_all_openings_adds_up(void **state UNUSED)
{
	struct breaker b = after("ABCDExABCDEx");

	assert_int_equal(b.open_total_ms, 2000);
	assert_int_equal(breaker_group_ms(&b, 20000), 18000);
}

static void a_clock_that_was_set_back_takes_no_time_off(void **state UNUSED)
{
	struct breaker b = after("ABCDE");
	struct hash_key k = event('x');

	breaker_note(&b, OUTCOME_OK, &k, 4000);
	assert_false(b.open);
	assert_int_equal(b.open_total_ms, 0);
}

static void a_probe_comes_every_30_seconds(void **state UNUSED)
{
	struct breaker b = after("ABCDE");
	struct hash_key k = event('F');

	assert_int_equal(b.probe_ms, 35000);
	breaker_note(&b, OUTCOME_TRANSIENT, &k, 36000);
	assert_true(b.open);
	assert_int_equal(b.open_since_ms, 5000);
	assert_int_equal(b.probe_ms, 66000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			it_opens_after_5_failures_in_a_row_of_3_events),
		cmocka_unit_test(group_time_stands_still_while_it_is_open),
		cmocka_unit_test(the_time_of_all_openings_adds_up),
		cmocka_unit_test(a_clock_that_was_set_back_takes_no_time_off),
		cmocka_unit_test(a_probe_comes_every_30_seconds),
	};

	return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
