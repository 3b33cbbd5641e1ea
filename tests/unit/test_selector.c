#include "../support/test.h"

#include "../support/tsv.h"
#include "base/json.h"
#include "core/selector.h"

static const struct property properties[] = {
	{ { "event-id", 8 }, { "p-1", 3 } },
	{ { "event-id", 8 }, { "p-2", 3 } },
	{ { "empty", 5 }, { "", 0 } },
};

static struct event event_of(struct span payload)
{
	return (struct event){
		.topic = span_str("plant/1/temp"),
		.payload = payload,
		.correlation = span_str("c-1"),
		.properties = properties,
		.properties_len = ARRAY_LEN(properties),
	};
}

static bool gives(const char *text, struct span payload, struct span want)
{
	struct event ev = event_of(payload);
	struct selector sel;
	struct err_detail why;
	struct arena scratch;
	struct span got;
	bool ok;

	assert_ok(selector_parse(span_str(text), &sel, &why));
	arena_init(&scratch, 256, 4096);
	assert_true(
		selector_value(&sel, &ev, json_valid(payload), &scratch, &got));
	ok = !got.data == !want.data && span_equal(got, want);
	arena_fini(&scratch);
	return ok;
}

static void selectors_give_the_value_that_is_there(void **state UNUSED)
{
	struct tsv t;
	int failed = 0;

	tsv_open(&t, "tests/data/selector.tsv");
	while (tsv_next(&t)) {
		if (gives(t.field[0].data, t.field[1], t.field[2]))
			continue;
		tsv_blame(&t);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void mistakes_are_told_with_what_to_write(void **state UNUSED)
{
	struct tsv t;
	int failed = 0;

	tsv_open(&t, "tests/data/selector_errors.tsv");
	while (tsv_next(&t)) {
		struct selector sel = { .len = 77 };
		struct err_detail why = { .text = "" };

		if (selector_parse(t.field[0], &sel, &why) == ERR_CONFIG &&
		    span_is(t.field[1], why.text) && sel.len == 77)
			continue;
		tsv_blame(&t);
		print_error("got: %s\n", why.text);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void the_hash_names_topic_and_payload(void **state UNUSED)
{
	struct event ev = event_of(span_str("21.5"));
	struct hash_key key = event_content(ev.topic, ev.payload);
	char hex[2 * HASH_KEY_BYTES + 1];

	for (unsigned i = 0; i < HASH_KEY_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", key.bytes[i]);
	assert_true(gives("hash", ev.payload, span_str(hex)));
	assert_false(gives("hash", span_str("21.6"), span_str(hex)));
}

static void joined_values_never_clash(void **state UNUSED)
{
	struct span want = span_str("1:a3:bc:");

	assert_true(gives("payload:$.a & payload:$.b",
			  span_str("{\"a\":\"a\",\"b\":\"bc:\"}"), want));
	assert_false(gives("payload:$.a & payload:$.b",
			   span_str("{\"a\":\"ab\",\"b\":\"c:\"}"), want));
	assert_false(gives("payload:$.a & payload:$.b",
			   span_str("{\"a\":\"a3:b\",\"b\":\"c:\"}"), want));
}

static void a_selector_knows_what_it_reads(void **state UNUSED)
{
	struct selector sel;
	struct err_detail why;

	assert_ok(selector_parse(span_str("topic:1 & payload:$.a, hash"), &sel,
				 &why));
	assert_true(selector_reads(&sel, SELECT_TOPIC));
	assert_true(selector_reads(&sel, SELECT_PAYLOAD));
	assert_true(selector_reads(&sel, SELECT_HASH));
	assert_false(selector_reads(&sel, SELECT_PROPERTY));
	assert_false(selector_reads(&sel, SELECT_CONST));
}

static void a_full_scratch_is_told(void **state UNUSED)
{
	static const char *const texts[] = { "hash", "const:a & const:b",
					     "payload:$.id" };
	struct event ev = event_of(span_str("{\"id\":\"\\n\"}"));
	struct span value = span_str("untouched");
	struct arena scratch;

	arena_init(&scratch, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct selector sel;
		struct err_detail why;

		assert_ok(selector_parse(span_str(texts[i]), &sel, &why));
		assert_false(selector_value(&sel, &ev, true, &scratch, &value));
		assert_true(span_is(value, "untouched"));
	}
	arena_fini(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selectors_give_the_value_that_is_there),
		cmocka_unit_test(mistakes_are_told_with_what_to_write),
		cmocka_unit_test(the_hash_names_topic_and_payload),
		cmocka_unit_test(joined_values_never_clash),
		cmocka_unit_test(a_selector_knows_what_it_reads),
		cmocka_unit_test(a_full_scratch_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
