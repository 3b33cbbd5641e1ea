/* One event at a time: its story, forgotten, hurried. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include "../../src/cmd/act.h"
#include "../fakes/fake_clock.h"
#include "../support/test.h"

#define TABLES	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);\n"			\
	"SELECT reject('never') WHERE :payload ->> 'k' = 'bad';\n"	\
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later'"	\
	" AND :attempt < 2;\n"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\nretry_initial = 1h\n"	\
	"retry_max = 1h\nretry_window = 10h\n"

#define MARKERS								\
	"SELECT (SELECT count(*) FROM once_marker_0)"			\
	" + (SELECT count(*) FROM once_marker_1)"			\
	" + (SELECT count(*) FROM once_marker_2)"			\
	" + (SELECT count(*) FROM once_marker_3)"

static int setup(void **state)
{
	*state = rig_new(TABLES, HANDLER, GROUP);
	rig_publish("t", "{\"id\":\"done\"}");
	rig_publish("t", "{\"id\":\"dead\",\"k\":\"bad\"}");
	rig_publish("t", "{\"id\":\"late\",\"k\":\"later\"}");
	rig_drain(*state);
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

/* The whole answer. */
static const char *ask(struct rig *r, const char *request)
{
	static char page[1 << 16];
	const struct act_context c = {
		.store = r->d.store, .config = r->config, .daemon = &r->d,
		.boot_ms = fake_clock.boot_ms,
	};
	struct err_detail why = { "" };
	struct act *a = NULL;
	struct rows out;
	bool more = true;
	size_t n = 0;

	assert_ok(act_new(span_str(request), &a, &why));
	while (more) {
		rows_init(&out, page + n, sizeof(page) - n - 1);
		act_run(a, &c, &out, &more);
		n += out.len;
	}
	act_free(a);
	page[n] = '\0';
	return page;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in\n%s", part, text);
}

#define EVENT(command, id)						\
	"{\"command\":\"event " command "\",\"group\":\"g\","		\
	"\"event\":\"" id "\"}"

/* The gauge is counted, never scanned: it must stay right. */
static void markers_are(struct rig *r, int64_t n)
{
	rig_restart(r);		/* saves what is counted in memory */
	assert_int_equal(rig_int(r, MARKERS), n);
	assert_int_equal(rig_int(r, "SELECT sum(markers) FROM once_counter"),
			 n);
}

static void an_events_story_says_where_it_is(void **state)
{
	struct rig *r = *state;

	has(ask(r, EVENT("show", "done")), "\"state\":\"done\"");
	has(ask(r, EVENT("show", "dead")), "\"state\":\"open\"");
	has(ask(r, EVENT("show", "late")), "\"state\":\"pending\"");
	has(ask(r, EVENT("show", "none")), "\"status\":1");
}

static void what_is_forgotten_takes_effect_again_and_is_audited(void **state)
{
	struct rig *r = *state;

	markers_are(r, 1);
	has(ask(r, EVENT("forget", "done")), "\"forgotten\":1");
	markers_are(r, 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_audit"), 1);
	rig_publish("t", "{\"id\":\"done\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"
				    " WHERE id = 'done'"), 2);
	markers_are(r, 1);
}

static void what_waits_or_is_dead_is_not_forgotten(void **state)
{
	struct rig *r = *state;

	has(ask(r, EVENT("forget", "dead")), "\"status\":1");
	has(ask(r, EVENT("forget", "late")), "\"status\":1");
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"),
			 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_audit"), 0);
}

static void a_purged_letter_leaves_a_marker_that_is_counted(void **state)
{
	struct rig *r = *state;

	markers_are(r, 1);
	has(ask(r, "{\"command\":\"dead discard\",\"ids\":\"1\"}"),
	    "\"status\":0");
	has(ask(r, "{\"command\":\"dead purge\",\"ids\":\"1\","
		   "\"count\":\"1\"}"), "\"status\":0");
	markers_are(r, 2);
	rig_publish("t", "{\"id\":\"dead\",\"k\":\"bad\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"),
			 0);
}

static void what_waits_can_be_hurried(void **state)
{
	struct rig *r = *state;

	rig_retry_after(r, 1000);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 1);
	has(ask(r, "{\"command\":\"pending retry\"}"), "\"status\":64");
	has(ask(r, "{\"command\":\"pending retry\",\"group\":\"g\"}"),
	    "\"due\":1");
	rig_retry_after(r, 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_pending"), 0);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"
				    " WHERE id = 'late'"), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_events_story_says_where_it_is),
		T(what_is_forgotten_takes_effect_again_and_is_audited),
		T(what_waits_or_is_dead_is_not_forgotten),
		T(a_purged_letter_leaves_a_marker_that_is_counted),
		T(what_waits_can_be_hurried),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
