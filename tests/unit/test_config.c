#include "../support/test.h"

#include <stdio.h>

#include "../support/tsv.h"
#include "core/config.h"

/* The least that is complete; cases put other lines in. */
static const char *const base[][2] = {
	{ "broker", "client_id = gw" },
	{ "group a", "subscribe = a/#" },
	{ "group a", "id = payload:$.id" },
	{ "group a", "handler = sql:/h.sql" },
	{ "group a", "redelivery_horizon = 3h" },
};

static const char *const sections[] = { "store", "broker", "limits",
					"group a" };

struct text {
	char buf[16384];
	size_t len;
};

static void put_line(struct text *t, struct span line)
{
	assert_true(t->len + line.len + 2 < sizeof(t->buf));
	t->len += (size_t)snprintf(t->buf + t->len, sizeof(t->buf) - t->len,
				   "%.*s\n", SPAN_FMT(line));
}

static struct span key_of(struct span line)
{
	struct span rest;

	return span_trim(span_cut(line, '=', &rest));
}

static bool sets(struct span lines, struct span key)
{
	while (lines.data)
		if (span_equal(key_of(span_cut(lines, '\n', &lines)), key))
			return true;
	return false;
}

/*
 * The base with @lines in @section, in place of lines with the same key.
 * Without a section, @lines are the whole text.
 */
static struct span build(struct text *t, struct span section, struct span lines)
{
	t->len = 0;
	if (span_is(section, "whole"))
		return lines;
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		bool here = span_is(section, sections[i]);
		char title[32];

		snprintf(title, sizeof(title), "[%s]", sections[i]);
		put_line(t, span_str(title));
		for (size_t j = 0; j < ARRAY_LEN(base); j++) {
			struct span line = span_str(base[j][1]);

			if (!strcmp(base[j][0], sections[i]) &&
			    !(here && sets(lines, key_of(line))))
				put_line(t, line);
		}
		if (here)
			put_line(t, lines);
	}
	return span_of(t->buf, t->len);
}

static struct config *parse(struct span text)
{
	struct config *c = NULL;
	struct err_detail why;

	if (config_parse("t.conf", text, &c, &why))
		fail_msg("%s", why.text);
	return c;
}

static struct config *parse_with(const char *section, const char *lines)
{
	struct text t;

	return parse(build(&t, span_str(section), span_str(lines)));
}

static void mistakes_are_told_with_line_and_remedy(void **state UNUSED)
{
	struct tsv t;
	struct text text;
	int failed = 0;

	tsv_open(&t, "tests/data/config_errors.tsv");
	while (tsv_next(&t)) {
		struct config *c = NULL;
		struct err_detail why = { .text = "" };
		enum err e = config_parse("t.conf",
					  build(&text, t.field[0], t.field[1]),
					  &c, &why);

		if (e == ERR_CONFIG && !c && span_is(t.field[2], why.text))
			continue;
		tsv_blame(&t);
		print_error("got: %s\n", e ? why.text : "no error");
		config_free(c);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void good_lines_are_taken(void **state UNUSED)
{
	struct tsv t;
	struct text text;
	int failed = 0;

	tsv_open(&t, "tests/data/config_good.tsv");
	while (tsv_next(&t)) {
		struct config *c = NULL;
		struct err_detail why;

		if (config_parse("t.conf", build(&text, t.field[0], t.field[1]),
				 &c, &why)) {
			tsv_blame(&t);
			print_error("got: %s\n", why.text);
			failed++;
		}
		config_free(c);
	}
	assert_int_equal(failed, 0);
}

static void defaults_fill_what_is_not_written(void **state UNUSED)
{
	struct config *c = parse_with("store", "");
	const struct group_config *g = &c->groups[0];

	assert_string_equal(c->store.path, "/var/lib/mqonce/store.db");
	assert_int_equal(c->store.max_size, 256 << 20);
	assert_null(c->store.schema);
	assert_false(c->store.secure_delete);
	assert_int_equal(c->broker.transport, TRANSPORT_TCP);
	assert_string_equal(c->broker.host, "127.0.0.1");
	assert_int_equal(c->broker.port, 1883);
	assert_int_equal(c->broker.protocol, PROTOCOL_5);
	assert_int_equal(c->broker.session_expiry_ms, 3600000);
	assert_int_equal(c->broker.keepalive_ms, 60000);
	assert_null(c->broker.user);
	assert_int_equal(c->limits.batch, 500);
	assert_int_equal(c->limits.batch_bytes, 1 << 20);
	assert_int_equal(c->limits.linger_ms, 0);
	assert_int_equal(c->limits.max_payload, 256 << 10);
	assert_int_equal(c->limits.pending_rows, 100000);
	assert_int_equal(c->limits.pending_bytes, 64 << 20);
	assert_int_equal(c->limits.memory, 64 << 20);
	assert_int_equal(c->groups_len, 1);
	assert_string_equal(g->name, "a");
	assert_null(g->tenant_text);
	assert_int_equal(g->tenant.len, 0);
	assert_int_equal(g->fingerprint, FINGERPRINT_MESSAGE);
	assert_string_equal(g->fingerprint_text, "message");
	assert_int_equal(g->format, FORMAT_JSON);
	assert_int_equal(g->retained, RETAINED_IGNORE);
	assert_int_equal(g->ttl_ms, 86400000);
	assert_false(g->natural);
	assert_true(g->dead_letter);
	assert_int_equal(g->max_dead, 100000);
	assert_int_equal(g->dead_limit, DEAD_LIMIT_STOP);
	assert_int_equal(g->stale, STALE_SKIP);
	assert_int_equal(g->order_key.len, 0);
	assert_int_equal(g->retry.max_attempts, 20);
	assert_int_equal(g->retry.window_ms, 1800000);
	assert_int_equal(g->retry.initial_ms, 1000);
	assert_int_equal(g->retry.max_ms, 300000);
	assert_int_equal(g->timeout_ms, 1000);
	config_free(c);
}

static void values_land_where_they_belong(void **state UNUSED)
{
	struct config *c = parse_with(
		"group a", "subscribe = a/+, b/#,$share/g/c\n"
			   "tenant = topic:1\n"
			   "id = property:event-id, payload:$.id\n"
			   "fingerprint = payload:$.a, payload:$.b\n"
			   "idempotent = natural\ndead_letter = off\n"
			   "retained = handle\nmax_attempts = 7\n"
			   "retry_window = 1m\nttl = 2d\ntimeout = 250ms");
	const struct group_config *g = &c->groups[0];

	assert_int_equal(g->filters_len, 3);
	assert_string_equal(g->filters[0], "a/+");
	assert_string_equal(g->filters[1], "b/#");
	assert_string_equal(g->filters[2], "$share/g/c");
	assert_string_equal(g->tenant_text, "topic:1");
	assert_int_equal(g->tenant.alt[0].part[0].level, 1);
	assert_int_equal(g->id.len, 2);
	assert_string_equal(g->id_text, "property:event-id, payload:$.id");
	assert_int_equal(g->fingerprint, FINGERPRINT_PATHS);
	assert_int_equal(g->fingerprint_paths.len, 2);
	assert_string_equal(g->handler_file, "/h.sql");
	assert_true(g->natural);
	assert_false(g->dead_letter);
	assert_int_equal(g->retained, RETAINED_HANDLE);
	assert_int_equal(g->retry.max_attempts, 7);
	assert_int_equal(g->ttl_ms, 2 * 86400000);
	assert_int_equal(g->timeout_ms, 250);
	config_free(c);
}

static void urls_come_apart(void **state UNUSED)
{
	static const struct {
		const char *url, *host;
		enum transport transport;
		uint16_t port;
	} cases[] = {
		{ "mqtt://broker", "broker", TRANSPORT_TCP, 1883 },
		{ "mqtt://broker:18830", "broker", TRANSPORT_TCP, 18830 },
		{ "mqtts://b.example", "b.example", TRANSPORT_TLS, 8883 },
		{ "mqtt://10.0.0.1:1", "10.0.0.1", TRANSPORT_TCP, 1 },
		{ "mqtt://[::1]", "::1", TRANSPORT_TCP, 1883 },
		{ "mqtts://[fe80::1]:65535", "fe80::1", TRANSPORT_TLS, 65535 },
		{ "unix:/run/m.sock", "/run/m.sock", TRANSPORT_UNIX, 0 },
	};
	char line[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c;

		snprintf(line, sizeof(line), "url = %s", cases[i].url);
		c = parse_with("broker", line);
		assert_string_equal(c->broker.url, cases[i].url);
		assert_string_equal(c->broker.host, cases[i].host);
		assert_int_equal(c->broker.transport, cases[i].transport);
		assert_int_equal(c->broker.port, cases[i].port);
		config_free(c);
	}
}

static void comments_blanks_and_marks_are_fine(void **state UNUSED)
{
	struct config *c = parse(span_str("\xef\xbb\xbf; first\r\n"
					  "# second\r\n"
					  "[broker] ; the local one\r\n"
					  "\tclient_id = gw-1 ; ours\r\n"
					  "    keepalive=10s\r\n"
					  "\r\n"
					  "[group  b-2_X] # and a group\n"
					  "subscribe = a;b\n"
					  "  id = topic:1\n"
					  "   handler = sql:/h.sql\n"
					  "redelivery_horizon = 3h"));

	assert_string_equal(c->broker.client_id, "gw-1");
	assert_int_equal(c->broker.keepalive_ms, 10000);
	assert_string_equal(c->groups[0].name, "b-2_X");
	assert_string_equal(c->groups[0].filters[0], "a;b");
	config_free(c);
}

static void a_long_group_name_is_kept_whole(void **state UNUSED)
{
	char text[512], name[65];
	struct config *c;

	memset(name, 'n', 64);
	name[64] = '\0';
	snprintf(text, sizeof(text),
		 "[broker]\nclient_id = gw\n[group %s]\nsubscribe = a\n"
		 "id = topic:1\nhandler = sql:/h\nredelivery_horizon = 3h\n"
		 "[group %.63s]\nsubscribe = b\n"
		 "id = topic:1\nhandler = sql:/h\nredelivery_horizon = 3h\n",
		 name, name);
	c = parse(span_str(text));
	assert_int_equal(c->groups_len, 2);
	assert_string_equal(c->groups[0].name, name);
	assert_int_equal(c->groups[0].line, 3);
	assert_int_equal(c->groups[1].line, 8);
	config_free(c);
}

static void a_line_is_refused_before_it_is_cut(void **state UNUSED)
{
	char text[512], filter[300];
	size_t longest = 198 - strlen("subscribe = ");
	struct config *c;
	struct err_detail why;

	memset(filter, 'f', sizeof(filter));
	snprintf(text, sizeof(text),
		 "[broker]\nclient_id=gw\n[group a]\nid = topic:1\n"
		 "handler=sql:/h\nredelivery_horizon=3h\nsubscribe = %.*s",
		 (int)longest, filter);
	c = parse(span_str(text));
	assert_int_equal(strlen(c->groups[0].filters[0]), longest);
	config_free(c);

	strcat(text, "f");
	assert_err(config_parse("t.conf", span_str(text), &c, &why),
		   ERR_CONFIG);
	assert_string_equal(why.text,
			    "t.conf:7: the line has 199 bytes, 198 are the "
			    "most; put comments on lines of their own");
}

static size_t print_to(const struct config *c, char *buf, size_t size)
{
	FILE *out = fmemopen(buf, size, "w");
	long len;

	assert_non_null(out);
	config_print(c, out);
	len = ftell(out);
	fclose(out);
	assert_in_range(len, 1, size - 1);
	return (size_t)len;
}

static void what_is_printed_reads_back_the_same(void **state UNUSED)
{
	struct tsv t;
	struct text text;
	static char first[65536], second[65536];

	tsv_open(&t, "tests/data/config_good.tsv");
	while (tsv_next(&t)) {
		struct config *c = parse(build(&text, t.field[0], t.field[1]));
		size_t n = print_to(c, first, sizeof(first)), m;

		config_free(c);
		c = parse(span_of(first, n));
		m = print_to(c, second, sizeof(second));
		config_free(c);
		if (!span_equal(span_of(first, n), span_of(second, m))) {
			tsv_blame(&t);
			fail();
		}
	}
}

static void what_is_printed_names_every_value(void **state UNUSED)
{
	static char buf[65536];
	struct config *c = parse_with("group a", "subscribe = a,b\n"
						 "ttl = 90m\n"
						 "redelivery_horizon = 90m\n"
						 "dead_letter = off");
	size_t n = print_to(c, buf, sizeof(buf));

	config_free(c);
	buf[n] = '\0';
	assert_non_null(strstr(buf, "\nsubscribe = a, b\n"));
	assert_non_null(strstr(buf, "\nttl = 90m\n"));
	assert_non_null(strstr(buf, "\ndead_letter = off\n"));
	assert_non_null(strstr(buf, "\nhandler = sql:/h.sql\n"));
	assert_non_null(strstr(buf, "\n; tenant is not set\n"));
	assert_null(strstr(buf, "concurrency"));
}

static void the_known_horizon_counts_session_and_silence(void **state UNUSED)
{
	struct config *c = parse_with("broker", "session_expiry = 2h\n"
						"keepalive = 20s");

	assert_int_equal(config_known_horizon_ms(c), 7200000 + 30000);
	config_free(c);
}

static void gather(void *arg, const char *text)
{
	char *all = arg;
	size_t len = strlen(all);

	assert_null(strchr(text, '\n'));
	snprintf(all + len, 4096 - len, "%s\n", text);
}

static void surprising_combinations_are_warned_of(void **state UNUSED)
{
	struct tsv t;
	struct text text;
	int failed = 0;

	tsv_open(&t, "tests/data/config_warnings.tsv");
	while (tsv_next(&t)) {
		struct config *c = parse(build(&text, t.field[0], t.field[1]));
		char all[4096] = "";

		config_warnings(c, gather, all);
		config_free(c);
		if (t.field[2].len ? strstr(all, t.field[2].data) != NULL
				   : !all[0])
			continue;
		tsv_blame(&t);
		print_error("got: %s\n", all);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static char *promise_of(const char *section, const char *lines)
{
	static char buf[16384];
	struct config *c = parse_with(section, lines);
	FILE *out = fmemopen(buf, sizeof(buf), "w");

	assert_non_null(out);
	config_print_promise(c, &c->groups[0], out);
	fclose(out);
	config_free(c);
	return buf;
}

/* Whether @want stands in @text, however its lines are broken. */
static bool says(const char *text, const char *want)
{
	static char flat[16384];
	size_t n = 0;

	for (; *text; text++) {
		if (*text != ' ' && *text != '\n')
			flat[n++] = *text;
		else if (n && flat[n - 1] != ' ')
			flat[n++] = ' ';
	}
	flat[n] = '\0';
	return strstr(flat, want) != NULL;
}

static void the_promise_has_the_real_values(void **state UNUSED)
{
	const char *p = promise_of("group a", "redelivery_horizon = 5h\n"
					      "ttl = 10h\nmax_attempts = 9\n"
					      "retry_window = 7m");

	assert_true(says(p, "For one event id, within 10h, the effect written "
			    "through the store is committed at most once"));
	assert_true(says(p,
			 "redelivery_horizon = 5h (session_expiry 1h + 1m30s "
			 "to notice a lost connection + 3h58m30s"));
	assert_true(says(p, "up to 9 attempts within 7m"));
	assert_true(says(p, "MQTT 5"));
	assert_true(says(p, "packets above 1M"));
	assert_true(says(p, "QoS 0"));
	assert_true(says(p, "anything before our PUBACK"));
	for (const char *line = p; *line; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 78);
}

static void the_promise_claims_no_more_than_it_keeps(void **state UNUSED)
{
	const char *p = promise_of("group a", "idempotent = natural");

	assert_false(says(p, "at most once"));
	assert_true(says(p, "may be committed more than once"));
	p = promise_of("group a", "dead_letter = off");
	assert_true(says(p, "counted and dropped"));
	p = promise_of("group a", "retained = handle");
	assert_true(says(p, "retained copies"));
	p = promise_of("group a", "fingerprint = none");
	assert_true(says(p, "an event id that is used again"));
	p = promise_of("group a", "order_key = topic:1\n"
				  "order_by = payload:$.n\nstale = bury");
	assert_true(says(p, "whose payload:$.n is older than that of the last "
			    "one handled with the same topic:1 is a dead "
			    "letter"));
	assert_true(says(p, "order between events of different order keys;"));
	p = promise_of("group a", "max_dead = 7 thin");
	assert_true(says(p, "more than 7 of them are open the oldest lose "
			    "their payload"));
	p = promise_of("group a", "max_dead = 8 stop");
	assert_true(says(p, "While 8 of them are open no event is taken"));
	p = promise_of("group a", "max_attempts = 1");
	assert_true(says(p, "is not made again"));
	p = promise_of("broker", "protocol = 3.1.1");
	assert_true(says(p, "MQTT 3.1.1 cannot ask the broker"));
	assert_true(says(p, "the broker's own setting"));
	assert_false(says(p, "packets above"));
}

static void the_example_is_complete(void **state UNUSED)
{
	static char text[16384];
	FILE *f = fopen("board/common/mqonce.conf", "r");
	char all[4096] = "";
	struct config *c;
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	c = parse(span_of(text, n));
	assert_string_equal(c->groups[0].name, "seats");
	config_warnings(c, gather, all);
	assert_string_equal(all, "");
	config_free(c);
}

static void too_many_groups_are_refused(void **state UNUSED)
{
	static char text[16384];
	size_t n = (size_t)sprintf(text, "[broker]\nclient_id = gw\n");
	struct config *c;
	struct err_detail why;

	for (int i = 0; i < CONFIG_GROUPS; i++)
		n += (size_t)sprintf(
			text + n,
			"[group g%d]\nsubscribe = a\nid = topic:1\n"
			"handler = sql:/h\n"
			"redelivery_horizon = 3h\n",
			i);
	config_free(parse(span_str(text)));
	sprintf(text + n, "[group last]\n");
	assert_err(config_parse("t.conf", span_str(text), &c, &why),
		   ERR_CONFIG);
	assert_string_equal(why.text,
			    "t.conf:163: more than 32 groups; run a second "
			    "store and client for the rest");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_told_with_line_and_remedy),
		cmocka_unit_test(good_lines_are_taken),
		cmocka_unit_test(defaults_fill_what_is_not_written),
		cmocka_unit_test(values_land_where_they_belong),
		cmocka_unit_test(urls_come_apart),
		cmocka_unit_test(comments_blanks_and_marks_are_fine),
		cmocka_unit_test(a_long_group_name_is_kept_whole),
		cmocka_unit_test(a_line_is_refused_before_it_is_cut),
		cmocka_unit_test(what_is_printed_reads_back_the_same),
		cmocka_unit_test(what_is_printed_names_every_value),
		cmocka_unit_test(the_known_horizon_counts_session_and_silence),
		cmocka_unit_test(surprising_combinations_are_warned_of),
		cmocka_unit_test(the_promise_has_the_real_values),
		cmocka_unit_test(the_promise_claims_no_more_than_it_keeps),
		cmocka_unit_test(the_example_is_complete),
		cmocka_unit_test(too_many_groups_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
