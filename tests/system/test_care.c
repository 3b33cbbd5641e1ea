/* Looking after a store: what needs somebody, copies, checks, ways out. */
#include "../support/gateway.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/test.h"

#define SCHEMA								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, body TEXT) STRICT;" \
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
#define HANDLER								\
	"INSERT INTO effect (id, body) VALUES (:event_id, :payload);"	\
	"SELECT reject('broken') FROM switch WHERE broken"		\
	" AND :payload ->> 'k' IS 'bad';"				\
	"UPDATE switch SET broken = 0 WHERE :event_id = 'mend';"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

static struct gateway *g;
static char out[1 << 20];

static int setup(void **state UNUSED)
{
	signal(SIGPIPE, SIG_IGN);
	g = gateway_new(&(struct gateway_options){ .groups = GROUP,
		.schema = SCHEMA, .handler = HANDLER,
		.broker = "reconnect_max = 1s\n" });
	gateway_up(g);
	return 0;
}

static int teardown(void **state UNUSED)
{
	gateway_free(g);
	return 0;
}

static void publish(const char *payload)
{
	gateway_publish(g, "t", &payload, 1);
}

static void bury(int n)
{
	static char text[2000][48];
	static const char *list[2000];

	for (int i = 0; i < n; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"b%d\",\"k\":\"bad\"}", i);
		list[i] = text[i];
	}
	gateway_publish(g, "t", list, (unsigned)n);
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", n, 10000);
}

/* @D in @args is the directory. */
static void says(const char *args, int status, const char *words)
{
	char text[512];
	int s;

	gateway_expand(g, args, text, sizeof(text));
	s = gateway_command(g, out, sizeof(out), text);
	if (s != status || !strstr(out, words))
		fail_msg("%s: status %d, \"%s\"", text, s, out);
}

static void down(void)
{
	assert_int_equal(gateway_end(g, SIGTERM), 0);
}

/* CASE 32 */
static void an_open_letter_is_an_alarm_until_somebody_decides(
	void **state UNUSED)
{
	says("status -q", 0, "");
	assert_string_equal(out, "");
	bury(3);
	says("status -q", 1, "dead_letters: 3 open dead letters");
	says("status -q --max-age 0s", 1, "dead_letters_old: ");
	says("status", 0, "open dead   3 permanent, the oldest of ");
	says("status --json", 0, "\"kind\":\"permanent\",\"open\":3,");
	says("dead discard --all --yes", 0, "discard: 3");
	says("status -q", 0, "");
	gateway_broker_end(g, SIGTERM);
	gateway_wait_log(g, "link.down", 1, 10000);
	says("status -q", 1, "not_connected: ");
	down();
	says("status -q", 1, "daemon: no daemon runs");
	says("status", 0, "owner       none");
}

/* I8: whoever saw what was in an event stands in the audit. */
static void a_look_at_a_payload_is_audited(void **state UNUSED)
{
	bury(3);
	says("dead show 1", 0, "--payload shows it");
	says("audit list", 0, "no operator has done anything");
	says("dead show 1 --payload", 0, "\"id\":\"b0\"");
	says("audit list --ndjson", 0,
	     "\"act\":\"dead show\",\"what\":\"ids=1\",\"n\":1}");
	down();
	says("dead show 2 --payload", 0, "\"id\":\"b1\"");
	says("audit list --ndjson", 0, "\"what\":\"ids=2\",\"n\":1}");
	says("dead pull --max 2 --out @D/pulled", 0, "pulled 2");
	says("audit list --ndjson", 0,
	     "\"act\":\"dead pull\",\"what\":\"\",\"n\":2}");
	says("dead show 7 --payload", 1, "no dead letter 7");
}

static void configure(const char *group)
{
	char text[1024];

	snprintf(text, sizeof(text), "[store]\npath = @D/store/s.db\n"
		 "schema = @D/s.sql\n[broker]\nurl = mqtt://127.0.0.1:@P\n"
		 "client_id = gw\nsession_expiry = 1h\n[group %s]\n"
		 "subscribe = t\nid = payload:$.id\nhandler = sql:@H\n"
		 "redelivery_horizon = 3h\nttl = 24h\n", group);
	gateway_file(g, "mqonce.conf", text);
}

#define GROUPS	"SELECT count(*) FROM once_group"

/* Under its new name the group knows what it did under the old one. */
static void a_renamed_group_keeps_what_it_knows(void **state UNUSED)
{
	publish("{\"id\":\"a\"}");
	gateway_wait(g, "SELECT count(*) FROM effect", 1, 10000);
	says("group rename g other", 1, "group g is configured; stop");
	down();
	configure("other");
	says("group rename g", 64, "needs two names");
	says("group rename no other", 1, "no group \"no\"");
	says("group rename g a.b", 64, "cannot be a group's name");
	says("group rename g g", 1, "is there already");
	says("group rename g other", 0, "other");
	says("audit list --ndjson", 0, "\"what\":\"names=g,other\",\"n\":1}");
	gateway_up(g);
	publish("{\"id\":\"a\"}");
	publish("{\"id\":\"b\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'b'", 1, 10000);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM effect"), 2);
	assert_int_equal(gateway_int(g, GROUPS), 1);
}

static void a_group_is_dropped_when_nothing_needs_it(void **state UNUSED)
{
	bury(3);
	says("group drop g --yes", 1, "group g is configured");
	down();
	configure("other");
	gateway_up(g);
	says("group drop g --yes", 1, "letter 1 of group g is not resolved");
	says("dead discard --all --yes", 0, "discard: 3");
	says("group drop g --yes", 1, "letter 1 of group g is not resolved");
	says("dead purge --all --count 3 --yes", 0, "purge: 3");
	says("group drop g", 64, "--yes");
	says("group drop g --yes", 0, "dropped");
	says("group list", 0, "other");
	assert_int_equal(gateway_int(g, GROUPS), 1);
	down();
	configure("g");
	gateway_up(g);
	assert_int_equal(gateway_int(g, "SELECT group_no FROM once_group"
					" WHERE name = 'g'"), 3);
}

/* A letter that waits in a job can be set aside; the job goes on. */
static void a_letter_discarded_before_its_turn_ends_no_daemon(
	void **state UNUSED)
{
	bury(50);
	says("dead replay --all --rate 5 --yes", 0, "50 letters");
	says("dead discard 49,50 --yes", 0, "discard: 2");
	says("dead purge 50 --count 1 --yes", 0, "purge: 1");
	gateway_wait(g, "SELECT count(*) FROM once_job WHERE state = 'done'", 1,
		     30000);
	assert_int_equal(gateway_int(g, "SELECT failed FROM once_job"), 48);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_job_item"
					" WHERE state = 'cancelled'"), 1);
	assert_false(gateway_ended(g));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_open_letter_is_an_alarm_until_somebody_decides),
		T(a_look_at_a_payload_is_audited),
		T(a_renamed_group_keeps_what_it_knows),
		T(a_group_is_dropped_when_nothing_needs_it),
		T(a_letter_discarded_before_its_turn_ends_no_daemon),
	};

	return cmocka_run_group_tests_name("care", tests, NULL, NULL);
}
