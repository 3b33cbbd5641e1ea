/* Letters with long topics, long ids and text of all sorts, for people. */
#include "../support/gateway_steps.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/json.h"

#define GROUP								\
	"[group g]\nsubscribe = #\nid = payload:$.id\nhandler = sql:@H\n" \
	"tenant = payload:$.t\nredelivery_horizon = 3h\nttl = 24h\n"
#define TOPIC_BYTES 65000

static int setup(void **state UNUSED)
{
	g = gateway_new(&(struct gateway_options){
		.groups = GROUP, .schema = EFFECT, .handler = REFUSE_BAD });
	gateway_up(g);
	return 0;
}

static void bury_one(const char *topic, const char *id)
{
	char text[1024];
	const char *list = text;

	snprintf(text, sizeof(text), "{\"id\":\"%s\",\"t\":\"%s\",\"k\":"
		 "\"bad\"}", id, id);
	gateway_publish(g, topic, &list, 1);
}

static char *repeat(char *buf, size_t bytes, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i < bytes; i += n)
		memcpy(buf + i, what, n);
	buf[bytes / n * n] = '\0';
	return buf;
}

static char *read_file(const char *name)
{
	static char text[4 << 20];
	char path[128];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

static void assert_member(struct span line, const char *path, const char *want)
{
	static char text[1 << 17];
	struct json_value v;
	long n;

	assert_true(json_valid(line));
	assert_true(json_find(line, span_str(path), &v));
	n = json_unescape(v.raw, text, sizeof(text));
	assert_int_equal(n, (long)strlen(want));
	assert_memory_equal(text, want, (size_t)n);
}

static void the_longest_topics_and_ids_are_pulled_whole(void **state UNUSED)
{
	static char topic[3][TOPIC_BYTES + 8], id[256];
	char args[256];
	struct span line, rest;

	repeat(id, 255, "i");
	bury_one(repeat(topic[0], TOPIC_BYTES, "\""), id);
	bury_one(repeat(topic[1], TOPIC_BYTES, "\xc3\xbc\xe2\x82\xac"), "u");
	bury_one(repeat(topic[2], 2049, "\xf0\x9f\x90\x9f"), "f");
	bury_one("t", "short");
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 4, 10000);
	says("dead list", 0, "broken");
	says("dead show 1", 0, id);
	says("dead show 2 --payload", 0, "topic          \xc3\xbc\xe2\x82\xac");
	says("dead list --json", 0, id);
	snprintf(args, sizeof(args), "dead pull --max 9 --out %s/p", g->dir);
	says(args, 0, "pulled 4 letters");
	rest = span_str(read_file("p"));
	line = span_cut(rest, '\n', &rest);
	assert_member(line, "$.topic", "t");
	assert_member(line, "$.event_id", "short");
	line = span_cut(rest, '\n', &rest);
	assert_member(line, "$.topic", topic[2]);
	line = span_cut(rest, '\n', &rest);
	assert_member(line, "$.topic", topic[1]);
	line = span_cut(rest, '\n', &rest);
	assert_member(line, "$.topic", topic[0]);
	assert_member(line, "$.event_id", id);
	assert_member(line, "$.tenant", id);
	assert_member(line, "$.properties", "[]");
	assert_int_equal(rest.len, 0);
}

static void a_letter_with_the_longest_topic_is_replayed(void **state UNUSED)
{
	static char topic[TOPIC_BYTES + 8];

	bury_one(repeat(topic, TOPIC_BYTES, "\\"), "x");
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 1, 10000);
	says("group pause g", 0, "true");
	says("dead replay 1 --yes", 0, "job 1: 1 letters");
	gateway_wait(g, "SELECT count(*) FROM once_pending", 1, 5000);
	says("pending list", 0, "\\\\");
	says("group resume g", 0, "false");
	gateway_wait(g, "SELECT count(*) FROM once_job WHERE failed = 1", 1,
		     10000);
}

static void people_read_text_and_programs_read_json(void **state UNUSED)
{
	static char longer[1500];

	/* More than a table shows: what is shown is text all the same. */
	repeat(longer, 1400, "\xc3\xbc\"");
	bury_one("a/\xc3\xbc/\"q\"/b\\n", "b\xc3\xa9t\xc3\xa9");
	bury_one(longer, "long");
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 2, 10000);
	says("dead list", 0, "a/\xc3\xbc/\"q\"/b\\n");
	says("dead list", 0, "b\xc3\xa9t\xc3\xa9");
	says("dead list", 0, "\xc3\xbc\"\xc3\xbc\"");
	assert_null(strstr(out, "\\\""));
	assert_non_null(strstr(out, "~\n"));	/* cut, and it says so */
	says("dead show 1", 0, "topic          a/\xc3\xbc/\"q\"/b\\n\n");
	says("dead list --csv", 0, ",\"a/\xc3\xbc/\"\"q\"\"/b\\n\",");
	says("dead list --csv", 0, ",\"\xc3\xbc\"\"\xc3\xbc\"\"");
	says("dead list --ndjson", 0, "\"a/\xc3\xbc/\\\"q\\\"/b\\\\n\"");
}

/* An id comes from a payload, and there anything can be written. */
static void nothing_in_an_id_steers_a_terminal(void **state UNUSED)
{
	bury_one("t", "x\\u001b[2Jy\\u009bz\\n\\u202ew");
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 1, 10000);
	says("dead list", 0, "x?[2Jy?z??w");
	says("dead show 1", 0, "x?[2Jy?z??w");
	assert_null(strchr(out, '\033'));
	says("dead list --ndjson", 0, "x\\u001b[2Jy");
	says("dead list --csv", 0, "\"x\033[2Jy");
}

static void bury_with_properties(const char *value, int n)
{
	static const char payload[] = "{\"id\":\"p\",\"t\":\"p\",\"k\":"
				      "\"bad\"}";
	struct mosquitto *m = mosquitto_new(NULL, true, NULL);
	mosquitto_property *list = NULL;

	mosquitto_int_option(m, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
	assert_int_equal(mosquitto_connect(m, "127.0.0.1", g->port, 60), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(mosquitto_property_add_string_pair(&list,
			MQTT_PROP_USER_PROPERTY, "na\"me", value), 0);
	for (int i = 0; i < 5; i++)		/* until it has been let in */
		assert_int_equal(mosquitto_loop(m, 20, 1), 0);
	assert_int_equal(mosquitto_publish_v5(m, NULL, "t", sizeof(payload) - 1,
					      payload, 1, false, list), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(mosquitto_loop(m, 20, 1), 0);
	mosquitto_property_free_all(&list);
	mosquitto_destroy(m);
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 1, 10000);
}

static void long_properties_are_pulled_whole(void **state UNUSED)
{
	static char value[4001];
	struct span line, rest;
	char args[256];

	bury_with_properties(repeat(value, 4000, "\"\xc3\xbc\\"), 10);
	snprintf(args, sizeof(args), "dead pull --max 9 --out %s/p", g->dir);
	says(args, 0, "pulled 1 letters");
	line = span_cut(span_str(read_file("p")), '\n', &rest);
	assert_member(line, "$.properties[0][0]", "na\"me");
	assert_member(line, "$.properties[9][1]", value);
	assert_member(line, "$.topic", "t");
}

static void properties_are_shown_as_text(void **state UNUSED)
{
	bury_with_properties("\xc3\xbc = \"x\"", 2);
	says("dead show 1 --payload", 0, "property       na\"me = \xc3\xbc ="
	     " \"x\"\nproperty       na\"me");
	says("dead show 1 --payload --csv", 0, "\"[[\"\"na\\\"\"me\"\",");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_longest_topics_and_ids_are_pulled_whole),
		T(a_letter_with_the_longest_topic_is_replayed),
		T(people_read_text_and_programs_read_json),
		T(long_properties_are_pulled_whole),
		T(properties_are_shown_as_text),
		T(nothing_in_an_id_steers_a_terminal),
	};

	return cmocka_run_group_tests_name("long", tests, NULL, NULL);
}
