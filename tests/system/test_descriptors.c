/* Descriptors: too few of them is told of, and none is lost. */
#include "../support/gateway_steps.h"

#include <stdlib.h>

#include "../fakes/scripted_broker.h"

#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define EFFECTS "SELECT count(*) FROM effect"
#define CONNECTS 24		/* CONNECTS=300 for a long run */

static struct scripted_broker *b;

static int setup(void **state UNUSED)
{
	signal(SIGPIPE, SIG_IGN);
	b = broker_start(NULL);
	g = gateway_new(&(struct gateway_options){
		.no_broker = true, .port = broker_port(b), .groups = GROUP,
		.broker = "reconnect_max = 1s\n", .schema = EFFECT,
		.handler = REFUSE_BAD });
	return 0;
}

static int end(void **state)
{
	broker_stop(b);
	return teardown(state);
}

/* Whatever call it is that finds none left. */
static void too_few_descriptors_are_named(void **state UNUSED)
{
	char command[400];
	int told = 0;

	for (int n = 6; n < 13; n++) {
		size_t len;
		FILE *f;

		snprintf(command, sizeof(command), "exec 2>&1 </dev/null; ulimit -n %d; exec"
			 " timeout -s TERM 1 %s run -c %s", n,
			 g->program, g->conf);
		f = popen(command, "r");
		assert_non_null(f);
		len = fread(out, 1, sizeof(out) - 1, f);
		out[len] = '\0';
		pclose(f);
		assert_null(strstr(out, "check the disk"));
		if (!strstr(out, "Too many open files"))
			continue;
		told++;
		if (!strstr(out, "raise the limit (ulimit -n"))
			fail_msg("ulimit -n %d: %s", n, out);
	}
	assert_true(told >= 3);
}

static int connects(void)
{
	const char *s = getenv("CONNECTS");

	return s ? atoi(s) : CONNECTS;
}

static void cut_connections_cost_nothing_and_lose_nothing(void **state UNUSED)
{
	static char text[1000][32];
	int n = connects(), first = n / 4;
	unsigned fds = 0;
	long kb = 0;

	assert_true(n <= 1000);
	gateway_start(g, NULL);
	for (int i = 0; i < n; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"e%d\"}", i);
		assert_true(broker_wait(b, BROKER_CONNECT, (uint64_t)i + 1,
					10000));
		broker_publish(b, &(struct broker_publish){
			.topic = "t", .payload = text[i], .qos = 1 }, 1);
		/* Now before, now after the acknowledgement. */
		if (i % 2)
			gateway_wait(g, EFFECTS, i + 1, 10000);
		if (i == first) {
			gateway_wait(g, EFFECTS, i + 1, 10000);
			fds = descriptors();
			kb = resident_kb();
		}
		broker_close(b);
	}
	gateway_wait(g, EFFECTS, n, 20000);
	assert_int_equal(gateway_int(g, "SELECT count(DISTINCT id)"
					" FROM effect"), n);
	assert_int_equal(count("effect"), n);
	assert_true(descriptors() <= fds + 1);
	assert_true(resident_kb() < kb + 512);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, end)
	const struct CMUnitTest tests[] = {
		T(too_few_descriptors_are_named),
		T(cut_connections_cost_nothing_and_lose_nothing),
	};

	return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
