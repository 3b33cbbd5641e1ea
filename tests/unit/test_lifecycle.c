#include "../support/test.h"

#include "core/lifecycle.h"
#include "core/outcome.h"

static void only_the_drawn_moves_are_allowed(void **state UNUSED)
{
	/* Rows: from; columns: to new, pending, done, dead. */
	static const bool want[PLACE_COUNT][PLACE_COUNT] = {
		[PLACE_NEW] = { false, true, true, true },
		[PLACE_PENDING] = { false, true, true, true },
		[PLACE_DONE] = { false, false, false, false },
		[PLACE_DEAD] = { false, true, false, false },
	};

	for (int from = 0; from < PLACE_COUNT; from++)
		for (int to = 0; to < PLACE_COUNT; to++)
			assert_int_equal(lifecycle_allows((enum place)from,
							  (enum place)to),
					 want[from][to]);
	assert_false(lifecycle_allows(PLACE_COUNT, PLACE_NEW));
	assert_false(lifecycle_allows(PLACE_NEW, PLACE_COUNT));
}

static void every_state_has_its_word(void **state UNUSED)
{
	assert_string_equal(place_text(PLACE_NEW), "new");
	assert_string_equal(place_text(PLACE_PENDING), "pending");
	assert_string_equal(place_text(PLACE_DONE), "done");
	assert_string_equal(place_text(PLACE_DEAD), "dead");
	assert_string_equal(dead_kind_text(DEAD_PERMANENT), "permanent");
	assert_string_equal(dead_kind_text(DEAD_POISON), "poison");
	assert_string_equal(dead_kind_text(DEAD_CONFLICT), "conflict");
	assert_string_equal(dead_kind_text(DEAD_EXHAUSTED), "exhausted");
	assert_string_equal(dead_kind_text(DEAD_CRASH_LOOP), "crash_loop");
	assert_string_equal(outcome_text(OUTCOME_OK), "ok");
	assert_string_equal(outcome_text(OUTCOME_TRANSIENT), "transient");
	assert_string_equal(outcome_text(OUTCOME_PERMANENT), "permanent");
	assert_string_equal(outcome_text(OUTCOME_POISON), "poison");
}

static void an_error_type_is_one_short_word(void **state UNUSED)
{
	static const char *const good[] = { "a", "json.malformed",
					    "SQLITE_CONSTRAINT_NOTNULL",
					    "unknown-device_7" };
	static const char *const bad[] = { "",	     "two words",   "a\n",
					   "a:b",    "caf\xc3\xa9", "a'b",
					   "{\"a\"}" };
	char longest[ERROR_TYPE_SIZE + 1];

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_string_equal(error_type_of(span_str(good[i])).text,
				    good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_string_equal(error_type_of(span_str(bad[i])).text,
				    "handler.bad_type");
	assert_string_equal(error_type_of(span_of("a\0b", 3)).text,
			    "handler.bad_type");
	assert_string_equal(error_type_of((struct span){ 0 }).text,
			    "handler.bad_type");

	memset(longest, 'x', sizeof(longest));
	assert_int_equal(strlen(error_type_of(span_of(longest, 63)).text), 63);
	assert_string_equal(error_type_of(span_of(longest, 64)).text,
			    "handler.bad_type");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_drawn_moves_are_allowed),
		cmocka_unit_test(every_state_has_its_word),
		cmocka_unit_test(an_error_type_is_one_short_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
