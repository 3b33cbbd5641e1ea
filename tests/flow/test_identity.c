/* Who an event is, and what an id that was seen before leads to. */
#include "../support/rig.h"

#include <string.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"

#define TABLE	"CREATE TABLE effect (n INTEGER PRIMARY KEY, grp TEXT, tenant TEXT, id TEXT, body ANY) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (grp, tenant, id, body)"			\
	" VALUES (:group, :tenant, :event_id, :payload);"
#define COMMON								\
	"handler = sql:@H\nredelivery_horizon = 3h\nttl = 24h\n"
#define GROUPS								\
	"[limits]\nmax_payload = 64K\n"					\
	"[group json]\nsubscribe = json/#\nid = payload:$.id\n" COMMON	\
	"[group tenants]\nsubscribe = tenant/+/#\ntenant = topic:2\n"	\
	"id = payload:$.id\n" COMMON					\
	"[group twice]\nsubscribe = json/#\nid = payload:$.id\n" COMMON	\
	"[group props]\nsubscribe = props\n"				\
	"id = property:event-id, payload:$.id\n" COMMON			\
	"[group joined]\nsubscribe = joined\n"				\
	"id = payload:$.course & payload:$.student\n" COMMON		\
	"[group raw]\nsubscribe = raw\nformat = raw\nid = hash\n" COMMON \
	"[group text]\nsubscribe = text\nformat = text\nid = hash\n" COMMON \
	"[group corr]\nsubscribe = corr\nformat = raw\n"			\
	"id = correlation\nfingerprint = none\n" COMMON			\
	"[group quiet]\nsubscribe = quiet\nid = payload:$.id\n"		\
	"dead_letter = off\n" COMMON					\
	"[group all]\nsubscribe = mqonce/#\nid = payload:$.id\n" COMMON	\
	"[group natural]\nsubscribe = natural\nid = payload:$.id\n"	\
	"idempotent = natural\n" COMMON

static int setup(void **state)
{
	*state = rig_new(TABLE, HANDLER, GROUPS);
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static void publish_bytes(const char *topic, const void *data, size_t len)
{
	const struct event ev = {
		.topic = span_str(topic), .payload = span_of(data, len),
		.payload_bytes = len, .qos = 1,
	};

	fake_publish(&ev);
}

static int64_t letters(struct rig *r, const char *where)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM once_dead_letter WHERE %s", where);
	return rig_int(r, sql);
}

static void one_id_in_two_groups_has_two_effects_and_one_acknowledgement(
	void **state)
{
	struct rig *r = *state;

	rig_publish("json/1", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(DISTINCT grp) FROM effect"), 2);
	assert_int_equal(fake_broker.acked_len, 1);
}

static void one_id_in_two_tenants_has_two_effects(void **state)
{
	struct rig *r = *state;

	rig_publish("tenant/a/x", "{\"id\":\"1\"}");
	rig_publish("tenant/b/x", "{\"id\":\"1\"}");
	rig_publish("tenant/b/x", "{\"id\":\"1\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 2);
	assert_int_equal(rig_int(r, "SELECT count(DISTINCT tenant) FROM effect"),
			 2);
}

static void an_id_reissued_for_something_else_is_a_conflict(void **state)
{
	struct rig *r = *state;

	rig_publish("tenant/a/x", "{\"id\":\"1\",\"v\":1}");
	rig_publish("tenant/a/x", "{\"id\":\"1\",\"v\":2}");
	rig_publish("tenant/a/x", "{\"id\":\"1\",\"v\":2}");
	rig_publish("tenant/a/x", "{\"id\":\"1\",\"v\":1}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	assert_int_equal(letters(r, "kind = 'conflict' AND redeliveries = 1"), 1);
	assert_int_equal(letters(r, "1"), 1);
	/* The first stays as it is, and is still recognised. */
	assert_string_equal(rig_text(r, "SELECT body FROM effect"),
			    "{\"id\":\"1\",\"v\":1}");
	assert_int_equal(rig_int(r, "SELECT suppressed_done FROM once_counter"),
			 1);
}

static void numbers_keep_their_exact_text(void **state)
{
	static const char *const payloads[] = {
		"{\"id\":1795292668348461056}", "{\"id\":\"1\"}",
		"{\"id\":1.0}", "{\"id\":123456789012345678901234567890}",
		"{\"id\":-0}", "{\"id\":1e2}",
	};
	static const char *const ids[] = {
		"1795292668348461056", "1", "1.0",
		"123456789012345678901234567890", "-0", "1e2",
	};
	struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_LEN(payloads); i++)
		rig_publish("tenant/a/x", payloads[i]);
	rig_drain(r);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		char sql[128];

		snprintf(sql, sizeof(sql),
			 "SELECT id FROM effect WHERE n = %zu", i + 1);
		assert_string_equal(rig_text(r, sql), ids[i]);
	}
}

static void a_property_comes_before_the_payload_and_the_first_wins(void **state)
{
	static const struct property two[] = {
		{ { "event-id", 8 }, { "p1", 2 } },
		{ { "event-id", 8 }, { "p2", 2 } },
	};
	const struct event ev = {
		.topic = span_str("props"), .payload = span_str("{\"id\":\"q\"}"),
		.properties = two, .properties_len = 2, .qos = 1,
	};
	struct rig *r = *state;

	fake_publish(&ev);
	rig_publish("props", "{\"id\":\"q\"}");
	rig_drain(r);
	assert_string_equal(rig_text(r, "SELECT id FROM effect WHERE n = 1"),
			    "p1");
	assert_string_equal(rig_text(r, "SELECT id FROM effect WHERE n = 2"),
			    "q");
}

static void joined_ids_never_run_together(void **state)
{
	struct rig *r = *state;

	rig_publish("joined", "{\"course\":\"ab\",\"student\":\"c\"}");
	rig_publish("joined", "{\"course\":\"a\",\"student\":\"bc\"}");
	rig_publish("joined", "{\"course\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 2);
	assert_int_equal(letters(r, "last_type = 'identity.missing'"), 1);
}

static void correlation_data_can_be_the_id(void **state)
{
	const struct event ev = {
		.topic = span_str("corr"), .payload = span_str("x"),
		.correlation = span_str("c-1"), .qos = 1,
	};
	struct event other = ev;
	struct rig *r = *state;

	fake_publish(&ev);
	other.payload = span_str("y");	/* fingerprint = none: the same event */
	fake_publish(&other);
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	assert_int_equal(letters(r, "1"), 0);
}

struct bad {
	const char *topic;
	const char *data;
	size_t len;
	const char *type;
};

/* Whatever comes is acknowledged, is at its place, and stops nothing. */
static void nothing_unreadable_stops_the_flow(void **state)
{
	static char huge[70000], long_id[300];
	static const char nul[] = "{\"id\":\"a\0b\"}";
	const struct bad rows[] = {
		{ "tenant/a/x", "", 0, "json.malformed" },
		{ "tenant/a/x", "{\"id\":", 6, "json.malformed" },
		{ "tenant/a/x", "\xff\xfe", 2, "json.malformed" },
		{ "tenant/a/x", nul, sizeof(nul) - 1, "json.malformed" },
		{ "tenant/a/x", "{}", 2, "identity.missing" },
		{ "tenant/a/x", "{\"id\":null}", 11, "identity.missing" },
		{ "tenant/a/x", "{\"id\":\"\"}", 9, "identity.missing" },
		{ "tenant/a/x", "{\"id\":\"a\\u0000\"}", 15,
		  "identity.invalid" },
		{ "tenant/a/x", long_id, 0, "identity.invalid" },
		{ "text", "\xc3\x28", 2, "text.malformed" },
	};
	struct event big = { .topic = span_str("tenant/a/x"), .qos = 1,
			     .oversize = true, .payload_bytes = sizeof(huge) };
	struct rig *r = *state;

	memset(huge, 'h', sizeof(huge));
	snprintf(long_id, sizeof(long_id), "{\"id\":\"%0*d\"}", 256, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		publish_bytes(rows[i].topic, rows[i].data,
			      rows[i].data == long_id ? strlen(long_id)
						      : rows[i].len);
	big.content = event_content(big.topic, span_of(huge, sizeof(huge)));
	fake_publish(&big);
	rig_publish("tenant/a/x", "{\"id\":\"good\"}");
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, ARRAY_LEN(rows) + 2);
	assert_int_equal(letters(r, "kind = 'poison'"), ARRAY_LEN(rows) + 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char sql[96];

		snprintf(sql, sizeof(sql), "last_type = '%s'", rows[i].type);
		assert_true(letters(r, sql) > 0);
	}
	assert_int_equal(letters(r, "last_type = 'payload.oversize' AND payload"
				    " IS NULL AND payload_bytes = 70000"), 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
}

static void binary_and_empty_payloads_are_handled_where_they_may_be(
	void **state)
{
	struct rig *r = *state;

	publish_bytes("raw", "\x00\xff\x00", 3);
	publish_bytes("raw", "", 0);
	publish_bytes("text", "", 0);
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 3);
	assert_int_equal(rig_int(r, "SELECT length(body) FROM effect"
				    " WHERE n = 1 AND typeof(body) = 'blob'"), 3);
	assert_string_equal(rig_text(r, "SELECT typeof(body) FROM effect"
					" WHERE n = 3"), "text");
}

static void redelivered_poison_is_one_letter_with_a_count(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 4; i++)
		rig_publish("tenant/a/x", "{\"no\":1}");
	rig_drain(r);
	assert_int_equal(letters(r, "redeliveries = 3 AND event_id IS NULL"), 1);
	assert_int_equal(letters(r, "1"), 1);
}

static void without_letters_the_payload_goes_and_the_marker_stays(void **state)
{
	struct rig *r = *state;

	rig_publish("quiet", "{\"id\":\"a\"");
	rig_publish("quiet", "{\"id\":\"a\"");
	rig_drain(r);
	assert_int_equal(letters(r, "1"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"
				    " WHERE state = 'dead'"
				    " AND outcome = 'poison'"), 1);
	assert_int_equal(rig_int(r, "SELECT dropped FROM once_counter"), 1);
	assert_int_equal(rig_int(r, "SELECT suppressed_dead FROM once_counter"),
			 1);
}

static void without_letters_a_conflict_leaves_the_first_as_it_is(void **state)
{
	struct rig *r = *state;

	rig_publish("quiet", "{\"id\":\"c\",\"v\":1}");
	rig_publish("quiet", "{\"id\":\"c\",\"v\":2}");
	rig_publish("quiet", "{\"id\":\"c\",\"v\":1}");
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, 3);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"
				    " WHERE state = 'done'"), 1);
	assert_int_equal(rig_int(r, "SELECT dropped FROM once_counter"), 1);
	assert_int_equal(rig_int(r, "SELECT suppressed_done FROM once_counter"),
			 1);
}

static void topics_of_the_daemon_itself_reach_no_group(void **state)
{
	struct rig *r = *state;

	rig_publish("mqonce/rig/alarm", "{\"id\":\"a\"}");
	rig_publish("mqonce/other/alarm", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(fake_broker.acked_len, 2);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	assert_int_equal(r->d.ungrouped.unmatched, 0);
}

static void a_natural_group_runs_each_delivery_and_writes_no_marker(
	void **state)
{
	struct rig *r = *state;

	rig_publish("natural", "{\"id\":\"a\"}");
	rig_publish("natural", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 2);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_marker"), 0);
}

static void a_new_fingerprint_recipe_suppresses_without_comparing(void **state)
{
	struct rig *r = *state;

	rig_publish("tenant/a/x", "{\"id\":\"1\",\"v\":1}");
	rig_drain(r);
	/* As a changed `fingerprint =` does at the next start. */
	r->d.groups[1].record.recipe++;
	rig_publish("tenant/a/x", "{\"id\":\"1\",\"v\":2}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	assert_int_equal(letters(r, "1"), 0);
}

static void changed_id_selectors_are_refused_until_accepted(void **state)
{
	struct rig *r = *state;
	struct group_config g = *r->d.groups[1].config;
	struct group_record rec;
	struct err_detail why;

	rig_publish("tenant/a/x", "{\"id\":\"1\"}");
	rig_drain(r);
	g.id_text = "payload:$.other";
	assert_ok(store_begin(r->d.store));
	assert_err(group_register(r->d.store, &g, 0, false, &rec, &why),
		   ERR_CONFIG);
	assert_non_null(strstr(why.text, "--accept"));
	assert_ok(group_register(r->d.store, &g, 0, true, &rec, &why));
	assert_int_equal(rec.recipe, r->d.groups[1].record.recipe + 1);
	store_rollback(r->d.store);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(one_id_in_two_groups_has_two_effects_and_one_acknowledgement),
		T(one_id_in_two_tenants_has_two_effects),
		T(an_id_reissued_for_something_else_is_a_conflict),
		T(numbers_keep_their_exact_text),
		T(a_property_comes_before_the_payload_and_the_first_wins),
		T(joined_ids_never_run_together),
		T(correlation_data_can_be_the_id),
		T(nothing_unreadable_stops_the_flow),
		T(binary_and_empty_payloads_are_handled_where_they_may_be),
		T(redelivered_poison_is_one_letter_with_a_count),
		T(without_letters_the_payload_goes_and_the_marker_stays),
		T(without_letters_a_conflict_leaves_the_first_as_it_is),
		T(topics_of_the_daemon_itself_reach_no_group),
		T(a_natural_group_runs_each_delivery_and_writes_no_marker),
		T(a_new_fingerprint_recipe_suppresses_without_comparing),
		T(changed_id_selectors_are_refused_until_accepted),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
