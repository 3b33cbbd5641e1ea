#include "../support/link_steps.h"

#include <poll.h>
#include <signal.h>

#include "base/clock.h"

static void an_event_arrives_by(enum transport t, enum protocol p)
{
	start(t, p);
	linked_subscribed(k);
	assert_int_equal(k->connects, 1);
	assert_int_equal(k->suback[0], 1);
	publish("plant/1", "21.5", 7);
	assert_true(linked_until_got(k, 1));
	assert_string_equal(k->got[0].topic, "plant/1");
	assert_string_equal(k->got[0].payload, "21.5");
	assert_int_equal(k->got[0].qos, 1);
	assert_true(linked_until_counted(k, BROKER_PUBACK, 1));
	link_disconnect(k->link);
	assert_int_equal(link_state(k->link), LINK_DOWN);
	assert_string_equal(why(), "");
	assert_true(broker_wait(k->broker, BROKER_DISCONNECT, 1, LINKED_MS));
	teardown(NULL);
}

static void an_event_arrives_by_every_way(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_UNIX; t++)
		for (int p = PROTOCOL_5; p <= PROTOCOL_311; p++)
			an_event_arrives_by((enum transport)t,
					    (enum protocol)p);
}

static void connect_says_what_the_session_needs(void **state UNUSED)
{
	static const uint8_t v5[] = {
		0,  4,	    'M',  'Q', 'T', 'T',  5,	0x00, 0,
		60, 16 + 0, 17,	  0,   0,   0x0E, 0x10, /* session expiry 3,600
							   s */
		33, 0,	    100,			/* receive maximum */
		39, 0,	    0x10, 0,   0, /* maximum packet size 1 MiB */
		34, 0,	    0,		  /* topic alias maximum */
		0,  6,	    'g',  'w', '-', '0',  '1',	'7',
	};
	static const uint8_t v311[] = {
		0,  4, 'M', 'Q', 'T', 'T', 4,	0x00, 0,
		60, 0, 6,   'g', 'w', '-', '0', '1',  '7',
	};
	struct broker_packet p;

	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	assert_true(broker_packet(k->broker, BROKER_CONNECT, 0, &p));
	assert_int_equal(p.body_len, sizeof(v5));
	assert_memory_equal(p.body, v5, sizeof(v5));
	teardown(NULL);

	start(TRANSPORT_TCP, PROTOCOL_311);
	linked_subscribed(k);
	assert_true(broker_packet(k->broker, BROKER_CONNECT, 0, &p));
	assert_int_equal(p.body_len, sizeof(v311));
	assert_memory_equal(p.body, v311, sizeof(v311));
}

static void the_password_is_the_first_line_of_its_file(void **state UNUSED)
{
	static const uint8_t tail[] = { 0,   2,	  'm', 'e', 0,	 6,
					's', 'e', 'c', 'r', 'e', 't' };
	struct broker_packet p;
	char path[128];

	start(TRANSPORT_TCP, PROTOCOL_5);
	write_file(path, sizeof(path), "secret\nnot this\n");
	k->bc.user = "me";
	k->bc.password_file = path;
	linked_subscribed(k);
	assert_true(broker_packet(k->broker, BROKER_CONNECT, 0, &p));
	assert_int_equal(p.body[7], 0xC0);
	assert_memory_equal(p.body + p.body_len - sizeof(tail), tail,
			    sizeof(tail));
	unlink(path);
}

static void a_refused_connect_says_so(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		start((enum transport)t, PROTOCOL_5);
		broker_stop(k->broker);
		k->broker = NULL;
		assert_fails();
		assert_says("Connection refused");
		assert_says("127.0.0.1");
		teardown(NULL);
	}
}

static void a_unix_socket_that_is_not_there_says_so(void **state UNUSED)
{
	start(TRANSPORT_UNIX, PROTOCOL_5);
	snprintf(k->addr.host, sizeof(k->addr.host), "/nonexistent/sock");
	assert_err(linked_open(k), ERR_LINK);
	assert_says("/nonexistent/sock: No such file");
}

static void a_broker_that_says_nothing_blocks_nobody(void **state UNUSED)
{
	int64_t start_ms = clock_boot_ms();

	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		start((enum transport)t, PROTOCOL_5);
		broker_ignore(k->broker, true);
		assert_ok(linked_open(k));
		for (int i = 0; i < 10; i++)
			assert_ok(linked_turn(k, 10));
		assert_int_equal(link_state(k->link), LINK_CONNECTING);
		teardown(NULL);
	}
	assert_in_range(clock_boot_ms() - start_ms, 0, 3000);
}

static void a_refusal_gives_code_and_words(void **state UNUSED)
{
	static const uint8_t reason[] = { 31,  0,   7,	 'b', 'l',
					  'o', 'c', 'k', 'e', 'd' };
	const struct broker_connack banned = {
		.code = 0x8A,
		.properties = reason,
		.properties_len = sizeof(reason),
	};
	const struct broker_connack password = { .code = 4 };

	start(TRANSPORT_TCP, PROTOCOL_5);
	broker_answer_connect(k->broker, &banned);
	assert_fails();
	assert_int_equal(link_report(k->link)->connack_code, 0x8A);
	assert_says("it says \"blocked\"");
	assert_int_equal(k->connects, 0);
	teardown(NULL);

	start(TRANSPORT_TCP, PROTOCOL_311);
	broker_answer_connect(k->broker, &password);
	assert_fails();
	assert_int_equal(link_report(k->link)->connack_code, 4);
	assert_says("check user and password_file");
}

static void the_report_holds_what_connack_said(void **state UNUSED)
{
	static const uint8_t limits[] = { 17, 0, 0, 0,	  60,  /* expiry */
					  39, 0, 0, 0x10, 0 }; /* packet */
	const struct broker_connack a = {
		.session_present = 1,
		.properties = limits,
		.properties_len = sizeof(limits),
	};

	start(TRANSPORT_TCP, PROTOCOL_5);
	assert_ok(linked_open(k));
	assert_int_equal(link_report(k->link)->connack_code, -1);
	assert_true(linked_until_state(k, LINK_CONNECTED));
	assert_int_equal(link_report(k->link)->session_expiry_s, 3600);
	assert_int_equal(link_report(k->link)->maximum_packet, 0);
	assert_false(link_report(k->link)->session_present);

	broker_answer_connect(k->broker, &a);
	assert_ok(linked_open(k));
	assert_true(linked_until_state(k, LINK_CONNECTED));
	assert_int_equal(link_report(k->link)->session_expiry_s, 60);
	assert_int_equal(link_report(k->link)->maximum_packet, 4096);
	assert_true(link_report(k->link)->session_present);
}

static void a_takeover_is_named(void **state UNUSED)
{
	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_disconnect(k->broker, 0x8E);
	assert_true(linked_until_state(k, LINK_DOWN));
	assert_int_equal(link_report(k->link)->disconnect_code, 0x8E);
	assert_says("client_id \"gw-017\"");
	assert_err(link_read(k->link, 1, 1), ERR_LINK);
	assert_err(link_flush(k->link), ERR_LINK);
	assert_err(link_tick(k->link), ERR_LINK);
}

static void a_plain_close_is_told_apart_from_a_disconnect(void **state UNUSED)
{
	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_close(k->broker);
	assert_true(linked_until_state(k, LINK_DOWN));
	assert_int_equal(link_report(k->link)->disconnect_code, -1);
	assert_says("closed by the broker");
}

static void each_filter_gets_its_own_options_and_answer(void **state UNUSED)
{
	static const char *const filters[] = { "a/#", "b", "$share/g/c" };
	static const enum retained retained[] = { RETAINED_IGNORE,
						  RETAINED_HANDLE,
						  RETAINED_IGNORE };
	static const uint8_t codes[] = { 1, 0x87, 0 };
	static const int options[] = { 0x21, 0x01, 0x21 };
	struct broker_packet p;

	start(TRANSPORT_TCP, PROTOCOL_5);
	broker_answer_subscribe(k->broker, codes, 3);
	assert_ok(linked_open(k));
	assert_true(linked_until_state(k, LINK_CONNECTED));
	assert_ok(link_subscribe(k->link, filters, retained, 3));
	assert_int_equal(broker_count(k->broker, BROKER_SUBSCRIBE), 0);
	while (k->subacks < 3)
		assert_ok(linked_turn(k, 20));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(k->suback[i], codes[i]);
		assert_true(broker_packet(k->broker, BROKER_SUBSCRIBE, i, &p));
		assert_int_equal(p.body[p.body_len - 1], options[i]);
	}
	assert_ok(link_unsubscribe(k->link, filters, 1));
	assert_true(linked_until_counted(k, BROKER_UNSUBSCRIBE, 1));
	assert_ok(linked_turn(k, 20));
}

static void a_bad_filter_is_refused_before_it_is_sent(void **state UNUSED)
{
	static const char *const filters[] = { "a/#/b" };
	static const enum retained retained[] = { RETAINED_IGNORE };

	start(TRANSPORT_TCP, PROTOCOL_5);
	assert_ok(linked_open(k));
	assert_err(link_subscribe(k->link, filters, retained, 1), ERR_LINK);
	assert_true(linked_until_state(k, LINK_CONNECTED));
	assert_err(link_subscribe(k->link, filters, retained, 1), ERR_CONFIG);
	assert_says("a/#/b");
}

static void
properties_come_in_order_and_empty_is_not_absent(void **state UNUSED)
{
	const struct broker_publish p[] = {
		{ .topic = "t",
		  .payload = "x",
		  .qos = 1,
		  .content_type = "text/plain",
		  .correlation = "c-1",
		  .user = { "id", "1", "b", "", "id", "2", "", "e" } },
		{ .topic = "t",
		  .qos = 1,
		  .content_type = "",
		  .correlation = "" },
		{ .topic = "t", .payload = "x", .qos = 0 },
	};

	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_publish(k->broker, p, 3);
	assert_true(linked_until_got(k, 3));
	assert_string_equal(k->got[0].user, "id=1;b=;id=2;=e;");
	assert_string_equal(k->got[0].content_type, "text/plain");
	assert_string_equal(k->got[0].correlation, "c-1");
	assert_true(k->got[1].has_content_type && k->got[1].has_correlation);
	assert_true(k->got[1].has_payload);
	assert_string_equal(k->got[1].user, "");
	assert_false(k->got[2].has_content_type || k->got[2].has_correlation);
	assert_int_equal(k->got[2].qos, 0);
}

static void more_properties_than_the_limit_are_oversize(void **state UNUSED)
{
	static uint8_t packet[8 + 5 * 2000] = { 0x30 };
	size_t n = 1, at = 0, body = 3 + 2 + 5 * 2000;

	packet[n++] = body % 128 | 0x80;
	packet[n++] = (uint8_t)(body / 128);
	packet[n++] = 0, packet[n++] = 1, packet[n++] = 't';
	packet[n++] = (5 * 2000) % 128 | 0x80;
	packet[n++] = (5 * 2000) / 128;
	for (; at < 2000; at++, n += 5)
		packet[n] = 38;

	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_send(k->broker, packet, n);
	assert_true(linked_until_got(k, 1));
	assert_true(k->got[0].oversize);
	assert_string_equal(k->got[0].topic, "t");
}

static void an_oversize_payload_is_hashed_and_not_kept(void **state UNUSED)
{
	static char large[100001];
	struct hash_key want;

	memset(large, 'x', sizeof(large) - 1);
	want = event_content(span_str("t"), span_str(large));
	start(TRANSPORT_TCP, PROTOCOL_5);
	k->max_payload = sizeof(large) - 2;
	linked_subscribed(k);
	publish("t", large, 1);
	publish("t", large + 1, 2);
	assert_true(linked_until_got(k, 2));
	assert_true(k->got[0].oversize);
	assert_false(k->got[0].has_payload);
	assert_int_equal(k->got[0].payload_bytes, sizeof(large) - 1);
	assert_memory_equal(&k->got[0].content, &want, sizeof(want));
	assert_false(k->got[1].oversize);
	assert_int_equal(k->got[1].payload_bytes, sizeof(large) - 2);
}

static void retained_and_qos_2_are_passed_as_they_are(void **state UNUSED)
{
	static const uint8_t release[] = { 0x62, 2, 0, 9 };
	const struct broker_publish p[] = {
		{ .topic = "r", .payload = "x", .qos = 1, .retain = true },
		{ .topic = "two", .payload = "x", .qos = 2, .id = 9 },
	};

	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_publish(k->broker, p, 2);
	assert_true(linked_until_counted(k, BROKER_PUBREC, 1));
	broker_send(k->broker, release, sizeof(release));
	assert_true(linked_until_got(k, 2));
	assert_true(k->got[0].retain);
	assert_int_equal(k->got[1].qos, 2);
	assert_false(k->got[1].retain);
}

static void pubacks_leave_in_the_order_of_their_publishes(void **state UNUSED)
{
	uint16_t ids[MANY];

	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		start((enum transport)t, PROTOCOL_5);
		linked_subscribed(k);
		publish_many(MANY);
		assert_true(linked_until_counted(k, BROKER_PUBACK, MANY));
		assert_int_equal(k->got_len, MANY);
		assert_int_equal(broker_pubacks(k->broker, ids, MANY), MANY);
		for (unsigned i = 0; i < MANY; i++)
			assert_int_equal(ids[i], i + 1);
		teardown(NULL);
	}
}

static void a_window_of_one_is_served(void **state UNUSED)
{
	start(TRANSPORT_TCP, PROTOCOL_5);
	k->receive_maximum = 1;
	broker_set_window(k->broker, 1);
	linked_subscribed(k);
	publish_many(20);
	assert_true(linked_until_counted(k, BROKER_PUBACK, 20));
	assert_int_equal(k->got_len, 20);
}

static void nothing_leaves_before_the_flush_or_at_free(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		uint64_t before;

		start((enum transport)t, PROTOCOL_5);
		linked_subscribed(k);
		before = broker_count(k->broker, BROKER_BYTES);
		publish_many(50);
		while (k->got_len < 50)
			assert_ok(linked_read(k, 100));
		assert_int_equal(broker_count(k->broker, BROKER_BYTES), before);
		link_free(k->link);
		k->link = NULL;
		assert_true(
			broker_wait(k->broker, BROKER_CLOSED, 1, LINKED_MS));
		assert_int_equal(broker_count(k->broker, BROKER_BYTES), before);

		/* Owed by the dead connection, the new one brings them again.
		 */
		linked_subscribed(k);
		assert_true(linked_until_got(k, 100));
		assert_true(linked_until_counted(k, BROKER_PUBACK, 50));
		teardown(NULL);
	}
}

static void one_read_ends_near_its_limit(void **state UNUSED)
{
	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	publish_many(MANY);
	assert_true(broker_wait(k->broker, BROKER_SENT, MANY, LINKED_MS));
	while (!k->got_len)
		assert_ok(link_read(k->link, 5, 1 << 20));
	/* The library may read some hundred at a time, never all. */
	assert_in_range(k->got_len, 1, MANY - 1);
}

static void
a_resend_in_the_session_is_a_delivery_of_its_own(void **state UNUSED)
{
	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	publish("t", "x", 5);
	assert_true(linked_until_got(k, 1));
	broker_resend(k->broker, 5, true);
	broker_resend(k->broker, 5, false);
	assert_true(linked_until_got(k, 3));
	assert_true(linked_until_counted(k, BROKER_PUBACK, 3));
	assert_int_equal(link_state(k->link), LINK_CONNECTED);
}

/* Or the PUBACKs it is owed would fill the memory (3.1.1 has no window). */
static void of_a_broker_that_takes_nothing_nothing_is_read(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		start((enum transport)t, PROTOCOL_311);
		linked_subscribed(k);
		assert_int_equal(link_interest(k->link), POLLIN);
		publish_many(MANY);
		assert_true(
			broker_wait(k->broker, BROKER_SENT, MANY, LINKED_MS));
		while (!k->got_len)
			assert_ok(link_read(k->link, 1, 1 << 20));
		assert_int_equal(link_interest(k->link), POLLOUT);
		assert_false(link_has_buffered(k->link));
		assert_ok(link_flush(k->link));
		assert_int_equal(link_interest(k->link), POLLIN);
		assert_true(linked_until_counted(k, BROKER_PUBACK, MANY));
		teardown(NULL);
	}
}

/* We allow no aliases: some versions of the library end it at the first. */
static void a_dead_connections_alias_gives_no_topic(void **state UNUSED)
{
	static const uint8_t teach[] = { 0x30, 10, 0,  3, 'o', 'l',
					 'd',  3,  35, 0, 1,   'x' };
	static const uint8_t use[] = { 0x30, 7, 0, 0, 3, 35, 0, 1, 'x' };
	unsigned before;

	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_send(k->broker, teach, sizeof(teach));
	(void)linked_until_got(k, 1);
	broker_close(k->broker);
	assert_true(linked_until_state(k, LINK_DOWN));

	before = k->got_len;
	linked_subscribed(k);
	broker_send(k->broker, use, sizeof(use));
	assert_true(linked_until_state(k, LINK_DOWN));
	assert_int_equal(link_report(k->link)->disconnect_code, -1);
	assert_says("lost broker");
	linked_subscribed(k);
	publish("new/topic", "x", 0);
	assert_true(linked_until_got(k, before + 1));
	assert_string_equal(k->got[before].topic, "new/topic");
}

static void a_malformed_packet_costs_the_connection_only(void **state UNUSED)
{
	static const uint8_t bad[] = { 0xF0, 0 };

	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_send(k->broker, bad, sizeof(bad));
	publish_many(50);
	assert_true(linked_until_state(k, LINK_DOWN));
	assert_int_equal(k->got_len, 0);
	linked_subscribed(k);
	assert_true(linked_until_got(k, 50));
	assert_true(linked_until_counted(k, BROKER_PUBACK, 50));
	assert_int_equal(k->got_len, 50);
}

static void a_second_connack_ends_the_connection(void **state UNUSED)
{
	static const uint8_t connack[] = { 0x20, 3, 0, 0, 0 };

	start(TRANSPORT_TCP, PROTOCOL_5);
	linked_subscribed(k);
	broker_send(k->broker, connack, sizeof(connack));
	assert_true(linked_until_state(k, LINK_DOWN));
	assert_int_equal(k->connects, 1);
}

static void a_silent_broker_is_given_up_after_the_keepalive(void **state UNUSED)
{
	start(TRANSPORT_TCP, PROTOCOL_5);
	k->bc.keepalive_ms = 5000;
	broker_answer_pings(k->broker, false);
	linked_subscribed(k);
	for (int i = 0; i < 300 && !linked_turn(k, 50); i++)
		;
	assert_int_equal(link_state(k->link), LINK_DOWN);
	assert_int_equal(broker_count(k->broker, BROKER_PINGREQ), 1);
	assert_says("keepalive");
}

static void the_versions_are_named(void **state UNUSED)
{
	assert_non_null(strstr(link_library_versions(), "libmosquitto 2."));
	assert_non_null(strstr(link_library_versions(), "OpenSSL "));
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		T(an_event_arrives_by_every_way),
		T(connect_says_what_the_session_needs),
		T(the_password_is_the_first_line_of_its_file),
		T(a_refused_connect_says_so),
		T(a_unix_socket_that_is_not_there_says_so),
		T(a_broker_that_says_nothing_blocks_nobody),
		T(a_refusal_gives_code_and_words),
		T(the_report_holds_what_connack_said),
		T(a_takeover_is_named),
		T(a_plain_close_is_told_apart_from_a_disconnect),
		T(each_filter_gets_its_own_options_and_answer),
		T(a_bad_filter_is_refused_before_it_is_sent),
		T(properties_come_in_order_and_empty_is_not_absent),
		T(more_properties_than_the_limit_are_oversize),
		T(an_oversize_payload_is_hashed_and_not_kept),
		T(retained_and_qos_2_are_passed_as_they_are),
		T(pubacks_leave_in_the_order_of_their_publishes),
		T(a_window_of_one_is_served),
		T(nothing_leaves_before_the_flush_or_at_free),
		T(one_read_ends_near_its_limit),
		T(a_resend_in_the_session_is_a_delivery_of_its_own),
		T(of_a_broker_that_takes_nothing_nothing_is_read),
		T(a_dead_connections_alias_gives_no_topic),
		T(a_malformed_packet_costs_the_connection_only),
		T(a_second_connack_ends_the_connection),
		T(a_silent_broker_is_given_up_after_the_keepalive),
		T(the_versions_are_named),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN); /* 2.1 of the library leaves it to us */
	if (link_library_init())
		return 1;
	failed = cmocka_run_group_tests_name("link", tests, NULL, NULL);
	link_library_fini();
	return failed;
}
