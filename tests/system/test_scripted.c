/* The real program against a broker that does what a test says. */
#include "../support/gateway.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../fakes/scripted_broker.h"
#include "../support/test.h"

#define SCHEMA "CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER                                                                \
	"INSERT INTO effect (id) VALUES (:event_id);"                          \
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later'"               \
	" AND :attempt = 1;"
#define GROUP                                                                  \
	"[limits]\nbatch = 20\n"                                               \
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n"      \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define EFFECTS "SELECT count(*) FROM effect"

struct fx {
	struct scripted_broker *b;
	struct gateway *g;
};

static int setup_with(void **state, const char *protocol)
{
	struct fx *fx = calloc(1, sizeof(*fx));
	char lines[128];

	signal(SIGPIPE, SIG_IGN);
	fx->b = broker_start(NULL);
	snprintf(lines, sizeof(lines), "%sreconnect_max = 1s\nkeepalive = 5s\n",
		 protocol);
	fx->g = gateway_new(
		&(struct gateway_options){ .no_broker = true,
					   .port = broker_port(fx->b),
					   .broker = lines,
					   .groups = GROUP,
					   .schema = SCHEMA,
					   .handler = HANDLER });
	*state = fx;
	return 0;
}

static int setup_5(void **state)
{
	return setup_with(state, "protocol = 5\n");
}

static int setup_311(void **state)
{
	return setup_with(state, "protocol = 3.1.1\n");
}

static int teardown(void **state)
{
	struct fx *fx = *state;

	gateway_free(fx->g);
	broker_stop(fx->b);
	free(fx);
	return 0;
}

static void publish(struct fx *fx, uint16_t id, const char *payload)
{
	broker_publish(
		fx->b,
		&(struct broker_publish){
			.topic = "t", .payload = payload, .qos = 1, .id = id },
		1);
}

static void up(struct fx *fx)
{
	gateway_start(fx->g, NULL);
	assert_true(broker_wait(fx->b, BROKER_SUBSCRIBE, 1, 10000));
}

static void a_packet_id_is_no_identity(void **state)
{
	struct fx *fx = *state;

	up(fx);
	publish(fx, 7, "{\"id\":\"a\"}");
	publish(fx, 9, "{\"id\":\"a\"}");
	assert_true(broker_wait(fx->b, BROKER_PUBACK, 2, 10000));
	publish(fx, 7, "{\"id\":\"b\"}");
	assert_true(broker_wait(fx->b, BROKER_PUBACK, 3, 10000));
	gateway_wait(fx->g, EFFECTS, 2, 5000);
	assert_int_equal(gateway_int(fx->g, EFFECTS), 2);
}

static void pubacks_leave_in_the_order_of_their_publishes(void **state)
{
	static const char *const payloads[] = {
		"{\"id\":\"1\",\"k\":\"later\"}",
		"{\"id\":\"2\"}",
		"{\"id\":\"3\"}",
		"{\"id\":\"4\"}",
		"{\"id\":\"5\"}",
	};
	struct fx *fx = *state;
	uint16_t ids[8];

	up(fx);
	for (uint16_t i = 0; i < 5; i++)
		publish(fx, (uint16_t)(50 - i), payloads[i]);
	assert_true(broker_wait(fx->b, BROKER_PUBACK, 5, 10000));
	assert_int_equal(broker_pubacks(fx->b, ids, 8), 5);
	for (uint16_t i = 0; i < 5; i++)
		assert_int_equal(ids[i], 50 - i);
	/* The first was pending, and is done, without a reconnect. */
	gateway_wait(fx->g, EFFECTS, 5, 10000);
	assert_int_equal(broker_count(fx->b, BROKER_CONNECTIONS), 1);
}

static void
a_resend_while_we_work_has_one_effect_and_a_puback_each(void **state)
{
	struct fx *fx = *state;

	up(fx);
	publish(fx, 5, "{\"id\":\"e\"}");
	broker_resend(fx->b, 5, true);
	broker_resend(fx->b, 5, false);
	assert_true(broker_wait(fx->b, BROKER_PUBACK, 3, 10000));
	assert_int_equal(gateway_int(fx->g, EFFECTS), 1);
	assert_int_equal(broker_count(fx->b, BROKER_CONNECTIONS), 1);
}

static void a_window_of_one_is_never_waited_beyond(void **state)
{
	static char text[50][32];
	struct fx *fx = *state;

	broker_set_window(fx->b, 1);
	up(fx);
	for (int i = 0; i < 50; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"%d\"}", i);
		publish(fx, 0, text[i]);
	}
	assert_true(broker_wait(fx->b, BROKER_PUBACK, 50, 20000));
	assert_int_equal(gateway_int(fx->g, EFFECTS), 50);
}

/* A length that no memory holds: refused, told, and the next goes well. */
static void an_announced_packet_of_256_megabytes_is_refused(void **state)
{
	static const unsigned char header[] = { 0x32, 0xff, 0xff, 0xff, 0x7f };
	struct fx *fx = *state;
	char path[64], line[128];
	long long kib = 0;
	FILE *f;

#ifdef __SANITIZE_ADDRESS__
	skip(); /* its shadow allows no limit on memory */
#endif
	up(fx);
	broker_send(fx->b, header, sizeof(header));
	assert_true(broker_wait(fx->b, BROKER_CLOSED, 1, 10000));
	gateway_wait_log(fx->g, "link.down", 1, 5000);
	assert_false(gateway_ended(fx->g));
	snprintf(path, sizeof(path), "/proc/%d/status", (int)fx->g->daemon);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	assert_true(kib > 0 && kib < 64 * 1024);
	assert_true(broker_wait(fx->b, BROKER_SUBSCRIBE, 2, 10000));
	publish(fx, 1, "{\"id\":\"a\"}");
	gateway_wait(fx->g, EFFECTS, 1, 10000);
}

/* The same packet each time, before anything else can be delivered. */
static void a_packet_that_kills_each_connection_is_called_poison(void **state)
{
	static const unsigned char bad[] = { 0x32, 0x02, 0x00, 0x09 };
	struct fx *fx = *state;

	gateway_start(fx->g, NULL);
	for (uint64_t n = 1; n <= 5; n++) {
		assert_true(broker_wait(fx->b, BROKER_SUBSCRIBE, n, 20000));
		broker_send(fx->b, bad, sizeof(bad));
		assert_true(broker_wait(fx->b, BROKER_CLOSED, n, 10000));
	}
	gateway_wait_log(fx->g, "broker.poison", 1, 5000);
}

/*
 * A property that no version knows: libmosquitto 2.0.11 ends the process by an
 * assertion, others may close the connection.  Both are met by waiting.
 */
static void a_packet_that_kills_the_process_is_called_poison_too(void **state)
{
	static const unsigned char bad[] = { 0x32, 8, 0,    1, 't',
					     0,	   9, 2, 0x7f, 0 };
	struct fx *fx = *state;

	gateway_start(fx->g, NULL);
	for (uint64_t n = 1; n <= 5; n++) {
		assert_true(broker_wait(fx->b, BROKER_SUBSCRIBE, n, 20000));
		broker_send(fx->b, bad, sizeof(bad));
		assert_true(broker_wait(fx->b, BROKER_CLOSED, n, 10000));
		sleep(1);
		if (gateway_ended(fx->g))
			gateway_start(fx->g, NULL);
	}
	gateway_wait_log(fx->g, "broker.poison", 1, 5000);
}

/* A refused filter is an error state, not "subscribed". */
static void a_refused_filter_is_shown(void **state)
{
	static const uint8_t refused[] = { 0x80 };
	struct fx *fx = *state;
	char out[4096];

	broker_answer_subscribe(fx->b, refused, 1);
	up(fx);
	gateway_wait_log(fx->g, "link.refused", 1, 5000);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(
			gateway_command(fx->g, out, sizeof(out), "status"), 0);
		if (strstr(out, "a filter was refused"))
			return;
		usleep(50000);
	}
	fail_msg("%s", out);
}

int main(void)
{
#define T5(f) cmocka_unit_test_setup_teardown(f, setup_5, teardown)
#define T3(f) cmocka_unit_test_setup_teardown(f, setup_311, teardown)
	const struct CMUnitTest tests[] = {
		T5(a_packet_id_is_no_identity),
		T3(a_packet_id_is_no_identity),
		T5(pubacks_leave_in_the_order_of_their_publishes),
		T3(pubacks_leave_in_the_order_of_their_publishes),
		T5(a_resend_while_we_work_has_one_effect_and_a_puback_each),
		T3(a_resend_while_we_work_has_one_effect_and_a_puback_each),
		T5(a_window_of_one_is_never_waited_beyond),
		T3(a_window_of_one_is_never_waited_beyond),
		T5(an_announced_packet_of_256_megabytes_is_refused),
		T5(a_packet_that_kills_each_connection_is_called_poison),
		T5(a_packet_that_kills_the_process_is_called_poison_too),
		T5(a_refused_filter_is_shown),
	};

	return cmocka_run_group_tests_name("scripted", tests, NULL, NULL);
}
