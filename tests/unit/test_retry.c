#include "../support/test.h"

#include "core/retry.h"

#define SEC 1000
#define MIN (60 * SEC)

static const struct retry_policy usual = {
	.max_attempts = 20,
	.window_ms = 30 * MIN,
	.initial_ms = 1 * SEC,
	.max_ms = 5 * MIN,
};

/* The jitter that leaves a wait as it is. */
static uint32_t neutral(int64_t wait)
{
	return (uint32_t)(wait / 5);
}

static struct verdict judge(unsigned attempts, uint32_t jitter, int64_t now_ms)
{
	struct retry_history h = { .attempts = attempts, .jitter = jitter };

	return retry_judge(&usual, OUTCOME_TRANSIENT, &h, now_ms);
}

static void success_is_done(void **state UNUSED)
{
	struct retry_history h = { .attempts = 99 };

	assert_int_equal(retry_judge(&usual, OUTCOME_OK, &h, INT64_MAX).kind,
			 VERDICT_DONE);
}

static void permanent_and_poison_are_buried_at_once(void **state UNUSED)
{
	struct retry_history h = { .attempts = 1 };
	struct verdict v = retry_judge(&usual, OUTCOME_PERMANENT, &h, 0);

	assert_int_equal(v.kind, VERDICT_BURY);
	assert_int_equal(v.dead, DEAD_PERMANENT);
	v = retry_judge(&usual, OUTCOME_POISON, &h, 0);
	assert_int_equal(v.kind, VERDICT_BURY);
	assert_int_equal(v.dead, DEAD_POISON);
}

static void waits_double_up_to_the_longest(void **state UNUSED)
{
	static const int64_t waits[] = { 1,  2,	  4,   8,   16,	 32,
					 64, 128, 256, 300, 300, 300 };

	for (unsigned i = 0; i < ARRAY_LEN(waits); i++) {
		int64_t wait = waits[i] * SEC;
		struct verdict v = judge(i + 1, neutral(wait), 100);

		assert_int_equal(v.kind, VERDICT_WAIT);
		assert_int_equal(v.due_ms, 100 + wait);
	}
}

static void jitter_moves_a_wait_by_a_fifth_and_no_more(void **state UNUSED)
{
	int64_t low = INT64_MAX, high = 0;

	for (uint32_t j = 0; j < 1000; j++) {
		int64_t due = judge(1, j * 7919, 0).due_ms;

		low = due < low ? due : low;
		high = due > high ? due : high;
	}
	assert_in_range(low, 800, 810);
	assert_in_range(high, 1190, 1200);
	assert_in_range(judge(1, UINT32_MAX, 0).due_ms, 800, 1200);
}

static void the_last_attempt_exhausts(void **state UNUSED)
{
	struct verdict v = judge(19, 0, 0);

	assert_int_equal(v.kind, VERDICT_WAIT);
	v = judge(20, 0, 0);
	assert_int_equal(v.kind, VERDICT_BURY);
	assert_int_equal(v.dead, DEAD_EXHAUSTED);
}

static void a_wait_ends_with_the_window(void **state UNUSED)
{
	struct verdict v = judge(2, neutral(2 * SEC), 30 * MIN - 1);

	assert_int_equal(v.kind, VERDICT_WAIT);
	assert_int_equal(v.due_ms, 30 * MIN);
}

static void the_end_of_the_window_exhausts(void **state UNUSED)
{
	struct verdict v = judge(2, 0, 30 * MIN);

	assert_int_equal(v.kind, VERDICT_BURY);
	assert_int_equal(v.dead, DEAD_EXHAUSTED);
}

static void huge_numbers_do_not_overflow(void **state UNUSED)
{
	struct retry_policy p = { .max_attempts = UINT32_MAX,
				  .window_ms = INT64_MAX,
				  .initial_ms = INT64_MAX / 2 + 1,
				  .max_ms = INT64_MAX };
	struct retry_history h = { .attempts = UINT32_MAX - 1,
				   .window_start_ms = INT64_MAX - 1,
				   .jitter = UINT32_MAX };
	struct verdict v =
		retry_judge(&p, OUTCOME_TRANSIENT, &h, INT64_MAX - 1);

	assert_int_equal(v.kind, VERDICT_WAIT);
	assert_true(v.due_ms == INT64_MAX);
	assert_true(retry_span_ms(&p) == INT64_MAX);
}

static void the_smallest_policy_works(void **state UNUSED)
{
	struct retry_policy p = { .max_attempts = 3,
				  .window_ms = 1000,
				  .initial_ms = 1,
				  .max_ms = 1 };
	struct retry_history h = { .attempts = 1, .jitter = UINT32_MAX };

	assert_int_equal(retry_judge(&p, OUTCOME_TRANSIENT, &h, 5).due_ms, 6);
}

static void the_span_is_the_sum_of_the_waits(void **state UNUSED)
{
	struct retry_policy p = usual;

	assert_int_equal(retry_span_ms(&p), (511 + 10 * 300) * SEC);
	p.max_attempts = 1;
	assert_int_equal(retry_span_ms(&p), 0);
	p.max_attempts = 4;
	assert_int_equal(retry_span_ms(&p), 7 * SEC);
	p.max_attempts = 10;
	assert_int_equal(retry_span_ms(&p), 511 * SEC);
	p.max_attempts = 11;
	assert_int_equal(retry_span_ms(&p), 811 * SEC);
}

static void a_tightened_policy_moves_or_ends_what_waits(void **state UNUSED)
{
	enum { KEEP, MOVE, END };
	static const struct {
		unsigned attempts;
		int64_t start, due, now;
		int what;
		int64_t want;
	} cases[] = {
		{ 19, 0, 20 * MIN, 19 * MIN, KEEP, 0 },
		{ 20, 0, 20 * MIN, 19 * MIN, END, 0 },
		{ 25, 0, 20 * MIN, 19 * MIN, END, 0 },
		/* a window that was longer */
		{ 9, 0, 30 * MIN, 29 * MIN, KEEP, 0 },
		{ 9, 0, 30 * MIN + 1, 29 * MIN, MOVE, 30 * MIN },
		{ 9, 0, 30 * MIN + 1, 30 * MIN, END, 0 },
		{ 9, 0, 29 * MIN, 90 * MIN, KEEP, 0 },
		/* never run: its window has not begun */
		{ 0, 0, 40 * MIN, 90 * MIN, KEEP, 0 },
		/* waits that were longer; jitter 0 is a fifth less */
		{ 9, 0, 7 * MIN, MIN, KEEP, 0 },
		{ 9, 0, 7 * MIN + 1, MIN, MOVE, 5 * MIN },
		{ 0, 0, 2000 * MIN, MIN, MOVE, 5 * MIN },
	};

	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		struct retry_history h = { .attempts = cases[i].attempts,
					   .window_start_ms = cases[i].start };
		struct verdict v =
			retry_recheck(&usual, &h, cases[i].due, cases[i].now);

		assert_int_equal(v.kind, cases[i].what == END ? VERDICT_BURY
							      : VERDICT_WAIT);
		if (cases[i].what == END)
			assert_int_equal(v.dead, DEAD_EXHAUSTED);
		else
			assert_int_equal(v.due_ms, cases[i].what == MOVE
							   ? cases[i].want
							   : cases[i].due);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(success_is_done),
		cmocka_unit_test(permanent_and_poison_are_buried_at_once),
		cmocka_unit_test(waits_double_up_to_the_longest),
		cmocka_unit_test(jitter_moves_a_wait_by_a_fifth_and_no_more),
		cmocka_unit_test(the_last_attempt_exhausts),
		cmocka_unit_test(a_wait_ends_with_the_window),
		cmocka_unit_test(the_end_of_the_window_exhausts),
		cmocka_unit_test(huge_numbers_do_not_overflow),
		cmocka_unit_test(the_smallest_policy_works),
		cmocka_unit_test(a_tightened_policy_moves_or_ends_what_waits),
		cmocka_unit_test(the_span_is_the_sum_of_the_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
