#include "../support/test.h"

#include <stdio.h>

#include "base/hash.h"

static struct hash_key key_of(uint64_t seed, struct span a, struct span b)
{
	struct hash h = hash_start(seed);

	hash_add(h, a);
	hash_add(h, b);
	return hash_end128(h);
}

static bool same(struct hash_key a, struct hash_key b)
{
	return !memcmp(&a, &b, sizeof(a));
}

static void parts_do_not_run_together(void **state UNUSED)
{
	struct hash_key k = key_of(1, span_str("ab"), span_str("c"));

	assert_true(same(k, key_of(1, span_str("ab"), span_str("c"))));
	assert_false(same(k, key_of(1, span_str("a"), span_str("bc"))));
	assert_false(same(k, key_of(1, span_str("abc"), span_str(""))));
	assert_false(same(k, key_of(1, span_str(""), span_str("abc"))));
}

static void an_absent_part_is_not_an_empty_one(void **state UNUSED)
{
	assert_false(same(key_of(1, span_str("a"), span_str("")),
			  key_of(1, span_str("a"), span_str(NULL))));
}

static void the_seed_changes_everything(void **state UNUSED)
{
	assert_false(same(key_of(1, span_str("a"), span_str("b")),
			  key_of(2, span_str("a"), span_str("b"))));
}

static void a_long_part_counts_to_its_last_byte(void **state UNUSED)
{
	char text[5000];
	struct hash_key k;

	memset(text, 'x', sizeof(text));
	k = key_of(0, span_of(text, sizeof(text)), span_str(""));
	text[sizeof(text) - 1] = 'y';
	assert_false(
		same(k, key_of(0, span_of(text, sizeof(text)), span_str(""))));
}

/* What is in a store must be found again by every build on every machine. */
static void hashes_are_the_same_everywhere(void **state UNUSED)
{
	struct hash_key k = key_of(42, span_str("topic"), span_str("payload"));
	struct hash h = hash_start(42);
	char hex[2 * HASH_KEY_BYTES + 1];

	for (unsigned i = 0; i < HASH_KEY_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", k.bytes[i]);
	assert_string_equal(hex, "d2e9902cd613d0ecfe0f5d98270b3076");
	hash_add_int(h, UINT64_C(0x0102030405060708));
	assert_true(hash_end64(h) == UINT64_C(0x1280c138c50b6a27));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_do_not_run_together),
		cmocka_unit_test(an_absent_part_is_not_an_empty_one),
		cmocka_unit_test(the_seed_changes_everything),
		cmocka_unit_test(a_long_part_counts_to_its_last_byte),
		cmocka_unit_test(hashes_are_the_same_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
