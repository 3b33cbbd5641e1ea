#include "../support/test.h"

#include <stdalign.h>

#include "base/arena.h"

static void what_is_taken_is_aligned_and_apart(void **state UNUSED)
{
	struct arena a;
	char *p[20];

	arena_init(&a, 64, 4096);
	for (size_t i = 0; i < ARRAY_LEN(p); i++) {
		p[i] = arena_take(&a, i + 1);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % alignof(max_align_t), 0);
		memset(p[i], (int)i, i + 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		for (size_t j = 0; j <= i; j++)
			assert_int_equal(p[i][j], i);
	arena_fini(&a);
}

static void the_limit_holds_over_all_chunks(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, 64, 256);
	for (int i = 0; i < 4; i++)
		assert_non_null(arena_take(&a, 64));
	assert_null(arena_take(&a, 1));
	assert_null(arena_take(&a, SIZE_MAX));
	arena_reset(&a);
	assert_non_null(arena_take(&a, 256));
	assert_null(arena_take(&a, 1));
	arena_fini(&a);
}

static void a_reset_keeps_the_first_chunk(void **state UNUSED)
{
	struct arena a;
	void *first;

	arena_init(&a, 128, 4096);
	first = arena_take(&a, 16);
	assert_non_null(arena_take(&a, 1024));
	arena_reset(&a);
	assert_int_equal(a.used_bytes, 0);
	assert_ptr_equal(arena_take(&a, 16), first);
	arena_fini(&a);
}

static void a_copy_ends_with_nul_and_absent_stays_absent(void **state UNUSED)
{
	struct arena a;
	struct span copy;

	arena_init(&a, 64, 64);
	assert_true(arena_copy(&a, span_of("abcd", 3), &copy));
	assert_int_equal(copy.len, 3);
	assert_string_equal(copy.data, "abc");
	assert_true(arena_copy(&a, span_str(""), &copy));
	assert_non_null(copy.data);
	assert_int_equal(copy.len, 0);
	assert_true(arena_copy(&a, span_str(NULL), &copy));
	assert_null(copy.data);
	arena_fini(&a);
}

static void a_copy_without_room_changes_nothing(void **state UNUSED)
{
	struct arena a;
	struct span copy = span_str("untouched");

	arena_init(&a, 16, 16);
	assert_false(arena_copy(&a, span_str("longer than sixteen"), &copy));
	assert_true(span_is(copy, "untouched"));
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_is_aligned_and_apart),
		cmocka_unit_test(the_limit_holds_over_all_chunks),
		cmocka_unit_test(a_reset_keeps_the_first_chunk),
		cmocka_unit_test(a_copy_ends_with_nul_and_absent_stays_absent),
		cmocka_unit_test(a_copy_without_room_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
