#include "../support/test.h"

#include "core/config.h"
#include "core/identity.h"

#define SEED  UINT64_C(0x9e3779b97f4a7c15)
#define GROUP 7

static struct arena scratch;

static int setup(void **state UNUSED)
{
	arena_init(&scratch, 4096, 1 << 20);
	return 0;
}

static int teardown(void **state UNUSED)
{
	arena_fini(&scratch);
	return 0;
}

static struct selector selector_of(const char *text)
{
	struct selector sel = { .len = 0 };
	struct err_detail why;

	if (text)
		assert_ok(selector_parse(span_str(text), &sel, &why));
	return sel;
}

static struct group_config group_of(const char *tenant, const char *id)
{
	return (struct group_config){
		.tenant = selector_of(tenant),
		.id = selector_of(id),
		.format = FORMAT_JSON,
	};
}

static struct event event_of(const char *topic, const char *payload)
{
	return (struct event){ .topic = span_str(topic),
			       .payload = span_str(payload) };
}

static struct identity identify(const struct group_config *g,
				const struct event *ev)
{
	struct identity id;

	assert_true(identity_of(g, GROUP, SEED, ev, &scratch, &id));
	return id;
}

static struct identity identify_text(const struct group_config *g,
				     const char *topic, const char *payload)
{
	struct event ev = event_of(topic, payload);

	return identify(g, &ev);
}

static bool same_key(struct identity a, struct identity b)
{
	return !memcmp(&a.key, &b.key, sizeof(a.key));
}

static void an_event_is_known_by_group_tenant_and_id(void **state UNUSED)
{
	struct group_config g = group_of("topic:1", "payload:$.id");
	struct event ev = event_of("acme/x", "{\"id\":1795292668348461056}");
	struct identity a = identify(&g, &ev), b;

	assert_string_equal(a.poison.text, "");
	assert_true(span_is(a.tenant, "acme"));
	assert_true(span_is(a.event_id, "1795292668348461056"));

	ev.payload = span_str("{\"id\":1795292668348461056, \"n\":2}");
	b = identify(&g, &ev);
	assert_true(same_key(a, b));
	assert_true(a.fingerprint != b.fingerprint);

	ev.topic = span_str("other/x");
	assert_false(same_key(a, identify(&g, &ev)));
	assert_true(identity_of(&g, GROUP + 1, SEED, &ev, &scratch, &b));
	assert_false(same_key(identify(&g, &ev), b));
	assert_true(identity_of(&g, GROUP, SEED + 1, &ev, &scratch, &b));
	assert_false(same_key(identify(&g, &ev), b));
}

static void tenant_and_id_do_not_run_together(void **state UNUSED)
{
	struct group_config g = group_of("topic:1", "topic:2");

	assert_false(same_key(identify_text(&g, "ab/c", "1"),
			      identify_text(&g, "a/bc", "1")));
}

static void numbers_keep_their_exact_text(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "payload:$.id");
	struct identity text = identify_text(&g, "t", "{\"id\":\"1\"}");
	struct identity one = identify_text(&g, "t", "{\"id\":1}");
	struct identity real = identify_text(&g, "t", "{\"id\":1.0}");
	struct identity big =
		identify_text(&g, "t", "{\"id\":1795292668348461056}");
	struct identity next =
		identify_text(&g, "t", "{\"id\":1795292668348461057}");

	assert_true(same_key(text, one));
	assert_false(same_key(one, real));
	assert_false(same_key(big, next));
}

static void an_event_without_id_is_named_by_its_content(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "payload:$.id");
	struct identity a = identify_text(&g, "t", "{}");

	assert_string_equal(a.poison.text, "identity.missing");
	assert_null(a.event_id.data);
	assert_true(same_key(a, identify_text(&g, "t", "{}")));
	assert_false(same_key(a, identify_text(&g, "t", "{ }")));
	assert_false(same_key(a, identify_text(&g, "u", "{}")));
}

static void an_id_never_stands_for_a_content(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "property:id");
	struct event ev = event_of("t", "{}");
	struct hash_key content = event_content(ev.topic, ev.payload);
	struct identity none = identify(&g, &ev), id;
	struct property p = { span_str("id"), span_of(content.bytes, 16) };

	ev.properties = &p;
	ev.properties_len = 1;
	id = identify(&g, &ev);
	assert_false(id.event_id.data && same_key(none, id));
}

static void values_that_are_no_id_are_refused(void **state UNUSED)
{
	struct group_config g = group_of("property:tenant", "correlation");
	char longest[EVENT_ID_MAX + 1];
	const struct {
		struct span value;
		bool good;
	} cases[] = {
		{ span_str("x"), true },
		{ span_str("\xc3\xa9 z"), true },
		{ span_of(longest, EVENT_ID_MAX), true },
		{ span_of(longest, EVENT_ID_MAX + 1), false },
		{ span_str("\xff"), false },
		{ span_of("a\0b", 3), false },
	};

	memset(longest, 'x', sizeof(longest));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct property p = { span_str("tenant"), span_str("acme") };
		struct event ev = event_of("t", "{}");
		struct identity id;

		ev.properties = &p;
		ev.properties_len = 1;
		ev.correlation = cases[i].value;
		id = identify(&g, &ev);
		assert_string_equal(id.poison.text,
				    cases[i].good ? "" : "identity.invalid");
		assert_int_equal(!!id.event_id.data, cases[i].good);

		p.value = cases[i].value;
		ev.correlation = span_str("x");
		id = identify(&g, &ev);
		assert_string_equal(id.poison.text,
				    cases[i].good ? "" : "tenant.invalid");
	}
}

static void escapes_cannot_smuggle_a_bad_id(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "payload:$.id");

	assert_string_equal(
		identify_text(&g, "t", "{\"id\":\"a\\u0000\"}").poison.text,
		"identity.invalid");
	assert_string_equal(
		identify_text(&g, "t", "{\"id\":\"\\ud800\"}").poison.text,
		"identity.invalid");
	assert_true(same_key(identify_text(&g, "t", "{\"id\":\"\\u00e9\"}"),
			     identify_text(&g, "t", "{\"id\":\"\xc3\xa9\"}")));
}

static void ids_without_their_tenant_do_not_meet(void **state UNUSED)
{
	struct group_config g = group_of("payload:$.tenant", "property:id");
	struct property p = { span_str("id"), span_str("42") };
	struct event a = event_of("t", "{"), b = event_of("t", "{{");
	struct identity x, y;

	a.properties = b.properties = &p;
	a.properties_len = b.properties_len = 1;
	x = identify(&g, &a);
	y = identify(&g, &b);
	assert_string_equal(x.poison.text, "json.malformed");
	assert_null(x.event_id.data);
	assert_int_equal(x.tenant.len, 0);
	assert_false(same_key(x, y));
}

static void poison_keeps_the_id_it_has(void **state UNUSED)
{
	struct group_config g = group_of("topic:1", "property:id");
	struct property p = { span_str("id"), span_str("42") };
	struct event ev = event_of("acme", "{");
	struct identity bad, good;

	ev.properties = &p;
	ev.properties_len = 1;
	bad = identify(&g, &ev);
	assert_string_equal(bad.poison.text, "json.malformed");
	assert_true(span_is(bad.event_id, "42"));
	assert_true(span_is(bad.tenant, "acme"));
	ev.payload = span_str("{}");
	good = identify(&g, &ev);
	assert_true(same_key(bad, good));
}

static void the_first_thing_wrong_gives_the_type(void **state UNUSED)
{
	struct group_config g = group_of("payload:$.t", "payload:$.id");
	struct event huge = { .topic = span_str("t"), .oversize = true };

	assert_string_equal(identify(&g, &huge).poison.text,
			    "payload.oversize");
	assert_string_equal(identify_text(&g, "t", "{").poison.text,
			    "json.malformed");
	assert_string_equal(identify_text(&g, "t", "").poison.text,
			    "json.malformed");
	assert_string_equal(identify_text(&g, "t", "{}").poison.text,
			    "tenant.missing");
	assert_string_equal(
		identify_text(&g, "t", "{\"t\":\"\\u0000\"}").poison.text,
		"tenant.invalid");
	assert_string_equal(identify_text(&g, "t", "{\"t\":1}").poison.text,
			    "identity.missing");
	g.format = FORMAT_TEXT;
	assert_string_equal(identify_text(&g, "t", "\xff").poison.text,
			    "text.malformed");
}

static void text_and_raw_take_what_json_does_not(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "topic:1");

	g.format = FORMAT_TEXT;
	assert_string_equal(identify_text(&g, "t", "").poison.text, "");
	assert_string_equal(identify_text(&g, "t", "{").poison.text, "");
	g.format = FORMAT_RAW;
	assert_string_equal(identify_text(&g, "t", "").poison.text, "");
	assert_string_equal(identify_text(&g, "t", "\xff").poison.text, "");
}

static void the_message_is_topic_payload_and_content_type(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "const:x");
	struct property p = { span_str("sent"), span_str("12:00") };
	struct event ev = event_of("t", "{}"), other = ev;
	uint64_t f = identify(&g, &ev).fingerprint;

	other.retain = true;
	other.qos = 1;
	other.properties = &p;
	other.properties_len = 1;
	other.correlation = span_str("c");
	other.received_wall_ms = 5;
	assert_true(identify(&g, &other).fingerprint == f);

	other = ev;
	other.topic = span_str("u");
	assert_true(identify(&g, &other).fingerprint != f);
	other = ev;
	other.payload = span_str("[]");
	assert_true(identify(&g, &other).fingerprint != f);
	other = ev;
	other.content_type = span_str("");
	assert_true(identify(&g, &other).fingerprint != f);
}

static void other_recipes_look_at_less(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "const:x");

	g.fingerprint = FINGERPRINT_PAYLOAD;
	assert_true(identify_text(&g, "t", "{}").fingerprint ==
		    identify_text(&g, "u", "{}").fingerprint);
	assert_true(identify_text(&g, "t", "{}").fingerprint !=
		    identify_text(&g, "t", "[]").fingerprint);
	g.fingerprint = FINGERPRINT_NONE;
	assert_true(identify_text(&g, "t", "{}").fingerprint == 0);
}

static uint64_t by_paths(const char *payload)
{
	struct group_config g = group_of(NULL, "const:x");

	g.fingerprint = FINGERPRINT_PATHS;
	g.fingerprint_paths = selector_of("payload:$.a, payload:$.b");
	return identify_text(&g, "t", payload).fingerprint;
}

static void paths_see_their_values_and_nothing_else(void **state UNUSED)
{
	uint64_t f = by_paths("{\"a\":1,\"b\":\"\xc3\xa9\"}");

	assert_true(by_paths("{\"b\":\"\\u00e9\",\"a\":1,\"sent\":3}") == f);
	assert_true(by_paths("{\"a\":2,\"b\":\"\xc3\xa9\"}") != f);
	assert_true(by_paths("{\"a\":1}") != by_paths("{\"a\":1,\"b\":\"\"}"));
	assert_true(by_paths("{\"a\":1}") != by_paths("{\"b\":1}"));
	assert_true(by_paths("{\"a\":true}") != by_paths("{\"a\":false}"));
	assert_true(by_paths("{\"a\":[1]}") != by_paths("{\"a\":[2]}"));
	assert_true(by_paths("{\"a\":null}") != by_paths("{}"));
}

static void an_oversize_event_is_told_by_its_content(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "property:id");
	struct event a = { .topic = span_str("t"), .oversize = true };
	struct event b = a;

	a.content = event_content(a.topic, span_str("aaa"));
	b.content = event_content(b.topic, span_str("bbb"));
	assert_false(same_key(identify(&g, &a), identify(&g, &b)));
	assert_true(identify(&g, &a).fingerprint !=
		    identify(&g, &b).fingerprint);
	assert_true(identify(&g, &a).fingerprint ==
		    identify(&g, &a).fingerprint);
}

static void no_bytes_are_the_same_with_or_without_a_pointer(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "payload:$.id");
	struct event a = event_of("t", ""), b = { .topic = a.topic };

	g.format = FORMAT_RAW;
	assert_true(same_key(identify(&g, &a), identify(&g, &b)));
	assert_true(identify(&g, &a).fingerprint ==
		    identify(&g, &b).fingerprint);
}

static void a_full_scratch_is_told(void **state UNUSED)
{
	struct group_config g = group_of(NULL, "hash");
	struct event ev = event_of("t", "{}");
	struct identity id;
	struct arena none;

	arena_init(&none, 0, 0);
	assert_false(identity_of(&g, GROUP, SEED, &ev, &none, &id));
	arena_fini(&none);
}

/* Stored keys must be found by every later version. */
static void keys_and_fingerprints_never_change(void **state UNUSED)
{
	struct group_config g = group_of("topic:1", "payload:$.id");
	struct identity id = identify_text(&g, "acme/x", "{\"id\":\"e-1\"}");
	struct identity none = identify_text(&g, "acme/x", "{}");
	char hex[2 * 16 + 1];
	size_t n = 0;

	for (unsigned i = 0; i < 16; i++)
		n += (size_t)sprintf(hex + n, "%02x", id.key.bytes[i]);
	assert_string_equal(hex, "4d92820b60a13567c348695cb21cabf7");
	n = 0;
	for (unsigned i = 0; i < 16; i++)
		n += (size_t)sprintf(hex + n, "%02x", none.key.bytes[i]);
	assert_string_equal(hex, "660a649b7b27d7f1dc14ec265f52ba54");
	assert_true(id.fingerprint == UINT64_C(0x2c204b27242c2931));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_known_by_group_tenant_and_id),
		cmocka_unit_test(tenant_and_id_do_not_run_together),
		cmocka_unit_test(numbers_keep_their_exact_text),
		cmocka_unit_test(an_event_without_id_is_named_by_its_content),
		cmocka_unit_test(an_id_never_stands_for_a_content),
		cmocka_unit_test(values_that_are_no_id_are_refused),
		cmocka_unit_test(escapes_cannot_smuggle_a_bad_id),
		cmocka_unit_test(ids_without_their_tenant_do_not_meet),
		cmocka_unit_test(poison_keeps_the_id_it_has),
		cmocka_unit_test(the_first_thing_wrong_gives_the_type),
		cmocka_unit_test(text_and_raw_take_what_json_does_not),
		cmocka_unit_test(the_message_is_topic_payload_and_content_type),
		cmocka_unit_test(other_recipes_look_at_less),
		cmocka_unit_test(paths_see_their_values_and_nothing_else),
		cmocka_unit_test(an_oversize_event_is_told_by_its_content),
		cmocka_unit_test(
			no_bytes_are_the_same_with_or_without_a_pointer),
		cmocka_unit_test(a_full_scratch_is_told),
		cmocka_unit_test(keys_and_fingerprints_never_change),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
