#include "../support/test.h"

#include <stdio.h>

#include "../support/tsv.h"
#include "base/json.h"

static void texts_are_judged_as_the_rfc_does(void **state UNUSED)
{
	struct tsv t;
	int failed = 0;

	tsv_open(&t, "tests/data/json_valid.tsv");
	while (tsv_next(&t)) {
		if (json_valid(t.field[1]) == span_is(t.field[0], "yes"))
			continue;
		tsv_blame(&t);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static bool valid_at_depth(unsigned depth, char open, char close)
{
	char text[2 * JSON_MAX_DEPTH + 8];

	memset(text, open, depth);
	memset(text + depth, close, depth);
	return json_valid(span_of(text, 2 * (size_t)depth));
}

static void nesting_ends_at_the_limit(void **state UNUSED)
{
	assert_true(valid_at_depth(JSON_MAX_DEPTH, '[', ']'));
	assert_false(valid_at_depth(JSON_MAX_DEPTH + 1, '[', ']'));
}

static void nothing_is_not_a_text(void **state UNUSED)
{
	assert_false(json_valid((struct span){ 0 }));
	assert_false(json_valid(span_str("")));
}

static void every_cut_of_a_text_is_refused(void **state UNUSED)
{
	struct span text = span_str("{\"a\":[1.5e1,\"\\u0041\",true,null]}");

	for (size_t len = 0; len < text.len; len++) {
		/* Its own memory, so that a read behind the end is seen. */
		AUTO_FREE char *cut = malloc(len ? len : 1);

		memcpy(cut, text.data, len);
		assert_false(json_valid(span_of(cut, len)));
	}
	assert_true(json_valid(text));
}

static const char *kind_text(enum json_kind k)
{
	switch (k) {
	case JSON_STRING: return "string";
	case JSON_NUMBER: return "number";
	case JSON_BOOL: return "bool";
	case JSON_NULL: return "null";
	case JSON_OBJECT: return "object";
	case JSON_ARRAY: return "array";
	}
	return "?";
}

static void paths_find_what_sqlite_would(void **state UNUSED)
{
	struct tsv t;
	int failed = 0;

	tsv_open(&t, "tests/data/json_find.tsv");
	while (tsv_next(&t)) {
		struct json_value v = { .raw = { 0 } };
		bool found = json_find(t.field[0], t.field[1], &v);
		const char *kind = found ? kind_text(v.kind) : "-";

		if (json_valid(t.field[0]) && json_path_valid(t.field[1]) &&
		    span_is(t.field[2], kind) && span_equal(v.raw, t.field[3]))
			continue;
		tsv_blame(&t);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void paths_that_lead_nowhere_are_told(void **state UNUSED)
{
	static const char *const bad[] = {
		"",	 "a",	 ".a",	  "$a",	    "$.",
		"$..a",	 "$.a.", "$[",	  "$[]",    "$[a]",
		"$[-1]", "$[1",	 "$[#]",  "$.\"a",  "$.\"a\"b",
		"$[1]a", "$ .a", "$.a[1", "$.\xff", "$[99999999999999999999]",
	};
	static const char *const good[] = {
		"$",	  "$.a", "$.a.b", "$[0]", "$[0][1].a", "$.\"a b\"[2].c",
		"$.\"\"",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (json_path_valid(span_str(bad[i])))
			fail_msg("%s passes", bad[i]);
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!json_path_valid(span_str(good[i])))
			fail_msg("%s is refused", good[i]);
}

static void escapes_come_out_as_utf8(void **state UNUSED)
{
	static const struct {
		const char *raw, *want;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t" },
		{ "\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac" },
		{ "\\uD83D\\uDE00", "\xf0\x9f\x98\x80" },
		{ "\\uffff", "\xef\xbf\xbf" },
		{ "\xc3\xa9", "\xc3\xa9" },
	};
	char buf[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		long n =
			json_unescape(span_str(cases[i].raw), buf, sizeof(buf));

		assert_int_equal(n, (long)strlen(cases[i].want));
		assert_memory_equal(buf, cases[i].want, (size_t)n);
	}
	assert_int_equal(json_unescape(span_str("\\u0000"), buf, 1), 1);
	assert_int_equal(buf[0], '\0');
}

static void half_a_surrogate_is_no_text(void **state UNUSED)
{
	static const char *const bad[] = {
		"\\ud800",	  "\\udc00",	    "\\ud800x",
		"\\ud800\\ud800", "\\ud800\\u0041", "\\udc00\\ud800",
		"\\ud83d\\n",
	};
	char buf[64];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(
			json_unescape(span_str(bad[i]), buf, sizeof(buf)), -1);
}

static void a_text_that_does_not_fit_is_told(void **state UNUSED)
{
	char buf[4];

	assert_int_equal(json_unescape(span_str("abcd"), buf, 4), 4);
	assert_int_equal(json_unescape(span_str("abcd"), buf, 3), -1);
	assert_int_equal(json_unescape(span_str("abc\\u00e9"), buf, 4), -1);
}

static void a_walk_visits_each_element_once(void **state UNUSED)
{
	struct span text = span_str("{ \"a\" : 1 , \"b\":[2, 3] ,\"c\":{}}");
	struct json_value all, v;
	struct span name;
	size_t pos = 0, n = 0;
	char seen[64] = "";

	assert_true(json_find(text, span_str("$"), &all));
	while (json_next(all, &pos, &name, &v))
		n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%.*s=%.*s;",
				      SPAN_FMT(name), SPAN_FMT(v.raw));
	assert_string_equal(seen, "a=1;b=[2, 3];c={};");
	assert_false(json_next(all, &pos, &name, &v));

	assert_true(json_find(text, span_str("$.b"), &all));
	pos = 0;
	assert_true(json_next(all, &pos, NULL, &v));
	assert_true(span_is(v.raw, "2"));
	assert_true(json_next(all, &pos, NULL, &v));
	assert_true(span_is(v.raw, "3"));
	assert_false(json_next(all, &pos, NULL, &v));
}

static void a_written_string_is_valid_json(void **state UNUSED)
{
	char buf[128];
	size_t len = 0;
	struct span s = span_of("a\"\\\n\x01\0\x7f\xc3\xa9\xff\xe2\x82", 12);

	assert_true(json_put_string(buf, sizeof(buf), &len, s));
	assert_string_equal(buf, "\"a\\\"\\\\\\n\\u0001\\u0000\x7f\xc3\xa9"
				 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_int_equal(len, strlen(buf));
	assert_true(json_valid(span_of(buf, len)));
}

static void a_string_without_room_changes_nothing(void **state UNUSED)
{
	struct span s = span_str("ab\n"); /* 6 bytes and a NUL */
	char buf[16] = "x";

	for (size_t size = 1; size < 8; size++) {
		size_t len = 1;

		assert_false(json_put_string(buf, size, &len, s));
		assert_int_equal(len, 1);
		assert_int_equal(buf[0], 'x');
	}
	for (size_t len = 1, size = 8; size == 8; size++) {
		assert_true(json_put_string(buf, size, &len, s));
		assert_string_equal(buf, "x\"ab\\n\"");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_judged_as_the_rfc_does),
		cmocka_unit_test(nesting_ends_at_the_limit),
		cmocka_unit_test(nothing_is_not_a_text),
		cmocka_unit_test(every_cut_of_a_text_is_refused),
		cmocka_unit_test(paths_find_what_sqlite_would),
		cmocka_unit_test(paths_that_lead_nowhere_are_told),
		cmocka_unit_test(escapes_come_out_as_utf8),
		cmocka_unit_test(half_a_surrogate_is_no_text),
		cmocka_unit_test(a_text_that_does_not_fit_is_told),
		cmocka_unit_test(a_walk_visits_each_element_once),
		cmocka_unit_test(a_written_string_is_valid_json),
		cmocka_unit_test(a_string_without_room_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
