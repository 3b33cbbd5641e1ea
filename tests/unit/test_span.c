#include "../support/test.h"

#include "base/span.h"

static void absent_is_not_the_same_as_empty(void **state UNUSED)
{
	assert_null(span_str(NULL).data);
	assert_non_null(span_str("").data);
	/* As text, both are nothing. */
	assert_true(span_equal(span_str(NULL), span_str("")));
}

static void spans_are_equal_by_their_bytes(void **state UNUSED)
{
	assert_true(span_equal(span_of("a\0b", 3), span_of("a\0b", 3)));
	assert_false(span_equal(span_of("a\0b", 3), span_of("a\0c", 3)));
	assert_false(span_equal(span_str("a"), span_str("ab")));
	assert_true(span_is(span_str("abc"), "abc"));
	assert_false(span_is(span_str("abc"), "ab"));
}

static void blanks_go_at_both_ends_only(void **state UNUSED)
{
	assert_true(span_is(span_trim(span_str(" \t a b \r")), "a b"));
	assert_true(span_is(span_trim(span_str("a")), "a"));
	assert_int_equal(span_trim(span_str(" \t ")).len, 0);
	assert_int_equal(span_trim(span_str("")).len, 0);
	assert_null(span_trim(span_str(NULL)).data);
}

static void a_cut_gives_the_head_and_moves_on(void **state UNUSED)
{
	struct span rest = span_str("a,,b,");

	assert_true(span_is(span_cut(rest, ',', &rest), "a"));
	assert_true(span_is(span_cut(rest, ',', &rest), ""));
	assert_true(span_is(span_cut(rest, ',', &rest), "b"));
	/* An empty piece stands behind the last separator. */
	assert_non_null(rest.data);
	assert_true(span_is(span_cut(rest, ',', &rest), ""));
	assert_null(rest.data);
}

static void a_cut_of_nothing_is_nothing(void **state UNUSED)
{
	struct span rest = span_str("x");

	assert_null(span_cut(span_str(NULL), ',', &rest).data);
	assert_null(rest.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_is_not_the_same_as_empty),
		cmocka_unit_test(spans_are_equal_by_their_bytes),
		cmocka_unit_test(blanks_go_at_both_ends_only),
		cmocka_unit_test(a_cut_gives_the_head_and_moves_on),
		cmocka_unit_test(a_cut_of_nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
