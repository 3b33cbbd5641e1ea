/* A group under another name keeps what it knows, whatever is done first. */
#include "../support/gateway_steps.h"

#define HANDLER								\
	"INSERT INTO effect (id, body) VALUES (:event_id, :group);"	\
	"SELECT reject('broken') FROM switch WHERE broken"		\
	" AND :payload ->> 'k' = 'bad';"				\
	"SELECT retry('later') FROM switch WHERE broken"		\
	" AND :payload ->> 'k' = 'wait';"				\
	"UPDATE switch SET broken = 0 WHERE :event_id = 'mend';"

static void configure(const char *group, const char *topic)
{
	char text[1024];

	snprintf(text, sizeof(text), "[store]\npath = @D/store/s.db\n"
		 "schema = @D/s.sql\n[broker]\nurl = mqtt://127.0.0.1:@P\n"
		 "client_id = gw\nsession_expiry = 1h\nreconnect_max = 1s\n"
		 "[group %s]\nsubscribe = %s\nid = payload:$.id\n"
		 "handler = sql:@H\nredelivery_horizon = 3h\nttl = 24h\n",
		 group, topic);
	gateway_file(g, "mqonce.conf", text);
}

static void publish_all(void)
{
	publish("{\"id\":\"done\"}");
	publish("{\"id\":\"dead\",\"k\":\"bad\"}");
	publish("{\"id\":\"waits\",\"k\":\"wait\"}");
}

static int setup(void **state UNUSED)
{
	g = gateway_new(&(struct gateway_options){ .groups = "", .broker = "",
		.schema = EFFECT, .handler = HANDLER });
	configure("old", "t");
	gateway_up(g);
	publish_all();
	gateway_wait(g, "SELECT count(*) FROM once_pending", 1, 10000);
	return 0;
}

static void down(void)
{
	assert_int_equal(gateway_end(g, SIGTERM), 0);
}

/* Copies are suppressed; what waited and what was dead goes on. */
static void all_of_it_is_known_as_new(void)
{
	publish_all();
	publish("{\"id\":\"mend\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'mend'", 1,
		     10000);
	says("pending retry --group new", 0, "1");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'waits'", 1,
		     20000);
	says("dead list --group new", 0, "broken");
	says("dead replay --group new --yes --wait", 0, "1 done");
	says("event show --group new done", 0, "marker");
	says("pending list", 0, "nothing waits");
	assert_int_equal(count("effect"), 4);
	assert_int_equal(count("effect WHERE id = 'done'"), 1);
	assert_int_equal(count("once_group WHERE name = 'old'"), 0);
	assert_int_equal(gateway_int(g, "SELECT redeliveries"
		" FROM once_dead_letter WHERE event_id = 'dead'"), 1);
	says("store verify", 0, "ok\n");
}

static void a_daemon_that_does_without_the_group_renames_it(void **state UNUSED)
{
	says("group rename old new", 1, "group old is configured; stop");
	configure("other", "u");
	says("check", 0, "warning: group old has records in the store");
	kill(g->daemon, SIGHUP);
	gateway_wait_log(g, "group.unconfigured group=old", 1, 10000);
	says("group rename old new", 0, "new");
	says("check", 0, "warning: group new has records in the store");
	configure("new", "t");
	says("check", 0, "fits");
	assert_null(strstr(out, "group new has records"));
	kill(g->daemon, SIGHUP);
	gateway_wait_log(g, "link.up", 3, 10000);
	all_of_it_is_known_as_new();
}

static void without_a_daemon_the_command_renames_it(void **state UNUSED)
{
	down();
	says("group rename old new", 1, "group old is configured");
	configure("new", "t");
	says("check", 0, "warning: group old has records in the store");
	says("group rename old new", 0, "new");
	gateway_up(g);
	assert_int_equal(gateway_logged(g, "group.unconfigured"), 0);
	all_of_it_is_known_as_new();
}

/* Started under the new name too early, and nothing came yet. */
static void a_name_without_records_makes_way(void **state UNUSED)
{
	down();
	configure("new", "t");
	gateway_up(g);
	gateway_wait_log(g, "group.unconfigured group=old", 1, 5000);
	says("group rename old new", 1, "the daemon works with group new");
	down();
	says("group rename old new", 0, "new");
	gateway_up(g);
	all_of_it_is_known_as_new();
}

static void a_name_with_records_does_not(void **state UNUSED)
{
	down();
	configure("new", "t");
	gateway_up(g);
	publish("{\"id\":\"first\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'first'", 1,
		     10000);
	down();
	says("group rename old new", 1, "with records of its own");
	says("dead list --group old", 0, "broken");
}

static void a_configuration_that_has_the_old_name_still_is_told(
	void **state UNUSED)
{
	down();
	configure("new", "t");
	says("group rename old new", 0, "new");
	configure("old", "t");
	says("check", 0, "warning: group new has records in the store");
	gateway_up(g);
	gateway_wait_log(g, "group.unconfigured group=new", 1, 5000);
	down();
	/* Back again: the row that was made meanwhile makes way. */
	says("group rename new old", 0, "old");
	gateway_up(g);
	publish_all();
	publish("{\"id\":\"mend\"}");
	gateway_wait(g, "SELECT count(*) FROM effect WHERE id = 'waits'", 1,
		     20000);
	assert_int_equal(count("effect WHERE id = 'done'"), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_daemon_that_does_without_the_group_renames_it),
		T(without_a_daemon_the_command_renames_it),
		T(a_name_without_records_makes_way),
		T(a_name_with_records_does_not),
		T(a_configuration_that_has_the_old_name_still_is_told),
	};

	return cmocka_run_group_tests_name("rename", tests, NULL, NULL);
}
