#include "../support/test.h"

#include <stdlib.h>

#include "../support/tsv.h"
#include "core/topic.h"

static void topics_match_as_the_standard_says(void **state UNUSED)
{
	struct tsv t;
	int failed = 0;

	tsv_open(&t, "tests/data/topic_match.tsv");
	while (tsv_next(&t)) {
		if (topic_matches(t.field[1], t.field[2]) ==
		    span_is(t.field[0], "yes"))
			continue;
		tsv_blame(&t);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void filters_are_judged_as_the_standard_says(void **state UNUSED)
{
	struct tsv t;
	int failed = 0;

	tsv_open(&t, "tests/data/topic_filter.tsv");
	while (tsv_next(&t)) {
		if (topic_filter_valid(t.field[1]) ==
		    span_is(t.field[0], "yes"))
			continue;
		tsv_blame(&t);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void overlap_is_the_same_both_ways(void **state UNUSED)
{
	struct tsv t;
	int failed = 0;

	tsv_open(&t, "tests/data/topic_overlap.tsv");
	while (tsv_next(&t)) {
		bool want = span_is(t.field[0], "yes");

		if (topic_filters_overlap(t.field[1], t.field[2]) == want &&
		    topic_filters_overlap(t.field[2], t.field[1]) == want)
			continue;
		tsv_blame(&t);
		failed++;
	}
	assert_int_equal(failed, 0);
}

/* Short strings over the letters that matter. */
static struct span nth_string(unsigned n, const char *letters, char buf[8])
{
	size_t len = 0, base = strlen(letters);

	for (; n; n /= (unsigned)base)
		buf[len++] = letters[--n % base];
	return span_of(buf, len);
}

static void two_filters_overlap_if_a_topic_matches_both(void **state UNUSED)
{
	char a[8], b[8], t[8];

	for (unsigned i = 1; i < 400; i++)
		for (unsigned j = i; j < 400; j++) {
			struct span x = nth_string(i, "a/+#$", a);
			struct span y = nth_string(j, "a/+#$", b);
			bool both = false;

			if (!topic_filter_valid(x) || !topic_filter_valid(y))
				continue;
			for (unsigned k = 1; k < 364 && !both; k++) {
				struct span z = nth_string(k, "a/$", t);

				both = topic_matches(x, z) &&
				       topic_matches(y, z);
			}
			if (both != topic_filters_overlap(x, y))
				fail_msg("%.*s %.*s", SPAN_FMT(x), SPAN_FMT(y));
		}
}

static void the_share_is_taken_off(void **state UNUSED)
{
	assert_true(
		span_is(topic_filter_plain(span_str("$share/g/a/#")), "a/#"));
	assert_true(span_is(topic_filter_plain(span_str("$share/g//a")), "/a"));
	assert_true(span_is(topic_filter_plain(span_str("a/$share/g/b")),
			    "a/$share/g/b"));
	assert_int_equal(topic_filter_plain(span_str("$share/g")).len, 0);
}

static void a_filter_has_at_most_65535_bytes(void **state UNUSED)
{
	AUTO_FREE char *longest = malloc(65536);

	memset(longest, 'a', 65536);
	assert_true(topic_filter_valid(span_of(longest, 65535)));
	assert_false(topic_filter_valid(span_of(longest, 65536)));
}

static void the_daemons_own_topics_are_told_from_others(void **state UNUSED)
{
	static const struct {
		const char *topic;
		bool own;
	} cases[] = {
		{ "mqonce/gw", true },	   { "mqonce/gw/status", true },
		{ "mqonce/gw/#", true },   { "mqonce/gw2/status", false },
		{ "mqonce/other", false }, { "mqonce", false },
		{ "a/mqonce/gw", false },  { "/mqonce/gw", false },
		{ "mqonce//gw", false },   { "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (topic_is_own(span_str(cases[i].topic), "gw") !=
		    cases[i].own)
			fail_msg("%s", cases[i].topic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(topics_match_as_the_standard_says),
		cmocka_unit_test(filters_are_judged_as_the_standard_says),
		cmocka_unit_test(overlap_is_the_same_both_ways),
		cmocka_unit_test(two_filters_overlap_if_a_topic_matches_both),
		cmocka_unit_test(the_share_is_taken_off),
		cmocka_unit_test(a_filter_has_at_most_65535_bytes),
		cmocka_unit_test(the_daemons_own_topics_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
