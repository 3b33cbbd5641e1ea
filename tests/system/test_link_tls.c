#include "../support/link_steps.h"

#include <signal.h>

#include "base/clock.h"

static void an_unusable_file_is_named_and_nothing_is_sent(void **state UNUSED)
{
	static const char none[] = "/nonexistent/file.pem";
	char empty[128];

	for (int i = 0; i < 8; i++) {
		start(TRANSPORT_TLS, PROTOCOL_5);
		write_file(empty, sizeof(empty), "");
		k->bc.ca = i == 0 ? none : i == 1 ? empty : k->certs.ca;
		if (i >= 2) {
			k->bc.cert = i == 2   ? none
				     : i == 3 ? empty
					      : k->certs.client_cert;
			k->bc.key = i == 4   ? none
				    : i == 5 ? empty
					     : k->certs.client_key;
		}
		if (i >= 6) {
			k->bc.user = "me";
			k->bc.password_file = i == 6 ? none : empty;
		}
		assert_err(link_check(&k->bc, &k->why), ERR_CONFIG);
		assert_says(i % 2 ? empty : none);
		assert_err(linked_open(k), ERR_CONFIG);
		assert_null(k->link);
		assert_says(i % 2 ? empty : none);
		assert_says(i == 0 || i == 1   ? "ca "
			    : i == 2 || i == 3 ? "cert "
			    : i == 4 || i == 5 ? "key "
					       : "password_file ");
		assert_int_equal(broker_count(k->broker, BROKER_BYTES), 0);
		unlink(empty);
		teardown(NULL);
	}
}

static void a_key_of_another_certificate_is_told(void **state UNUSED)
{
	struct certificates other;

	start(TRANSPORT_TLS, PROTOCOL_5);
	certificates_make(&other, NULL);
	k->bc.cert = k->certs.client_cert;
	k->bc.key = other.client_key;
	assert_err(linked_open(k), ERR_CONFIG);
	assert_says(other.client_key);
	assert_says("mismatch");
	certificates_remove(&other);
}

static void a_certificate_for_another_name_is_refused(void **state UNUSED)
{
	static const struct cert_spec spec = { .names = "DNS:other.example" };

	k = linked_new(TRANSPORT_TLS, PROTOCOL_5, &spec);
	assert_fails();
	assert_says("certificate of localhost is made out to another name");
	assert_int_equal(broker_count(k->broker, BROKER_BYTES), 0);
	teardown(NULL);

	/* The number is not what is checked, though the library was given it.
	 */
	k = linked_new(TRANSPORT_TLS, PROTOCOL_5,
		       &(struct cert_spec){ .names = "IP:127.0.0.1" });
	assert_fails();
	assert_says("another name");
	teardown(NULL);

	k = linked_new(TRANSPORT_TLS, PROTOCOL_5,
		       &(struct cert_spec){ .names = "DNS:localhost" });
	k->bc.host = "127.0.0.1";
	assert_fails();
	assert_says("another name");
}

static void
the_name_is_checked_and_sent_as_sni_not_the_number(void **state UNUSED)
{
	char sni[64];

	k = linked_new(TRANSPORT_TLS, PROTOCOL_5,
		       &(struct cert_spec){ .names = "DNS:broker.example" });
	k->bc.host = "broker.example";
	linked_subscribed(k);
	broker_sni(k->broker, sni, sizeof(sni));
	assert_string_equal(sni, "broker.example");
	teardown(NULL);

	k = linked_new(TRANSPORT_TLS, PROTOCOL_5,
		       &(struct cert_spec){ .names = "IP:127.0.0.1" });
	k->bc.host = "127.0.0.1";
	linked_subscribed(k);
	broker_sni(k->broker, sni, sizeof(sni));
	assert_string_equal(sni, "");
}

static void an_unknown_ca_is_refused(void **state UNUSED)
{
	start(TRANSPORT_TLS, PROTOCOL_5);
	k->bc.ca = k->certs.other_ca;
	assert_fails();
	assert_says("unknown CA");
	assert_says(k->certs.other_ca);
	teardown(NULL);

	start(TRANSPORT_TLS, PROTOCOL_5);
	k->bc.ca = NULL;
	assert_fails();
	assert_says("set ca");
	assert_int_equal(broker_count(k->broker, BROKER_BYTES), 0);
}

/* As rotation leaves it where one side's file was forgotten. */
static void a_ca_of_the_same_name_is_unknown_too(void **state UNUSED)
{
	struct certificates other;

	start(TRANSPORT_TLS, PROTOCOL_5);
	certificates_make(&other, NULL);
	k->bc.ca = other.ca;
	assert_ok(link_check(&k->bc, &k->why));
	assert_fails();
	assert_says("unknown CA");
	assert_says(other.ca);
	certificates_remove(&other);
}

static void a_certificate_out_of_its_time_is_refused(void **state UNUSED)
{
	k = linked_new(TRANSPORT_TLS, PROTOCOL_5,
		       &(struct cert_spec){ .from_days = 2, .to_days = 9 });
	assert_fails();
	assert_says("certificate of localhost is not valid yet (this "
		    "machine's clock says 20");
	teardown(NULL);

	k = linked_new(TRANSPORT_TLS, PROTOCOL_5,
		       &(struct cert_spec){ .from_days = -9, .to_days = -2 });
	assert_fails();
	assert_says("has expired (this machine's clock says 20");
}

/* In TLS 1.3 the refusal comes after our side of the handshake is over. */
static void a_client_certificate_is_shown_and_missed(void **state UNUSED)
{
	struct broker_options o;

	start(TRANSPORT_TLS, PROTOCOL_5);
	o = k->options;
	o.client_ca = k->certs.ca;
	broker_stop(k->broker);
	k->broker = broker_start(&o);
	k->addr.port = broker_port(k->broker);
	assert_fails();
	assert_says("certificate required");

	k->bc.cert = k->certs.client_cert;
	k->bc.key = k->certs.client_key;
	linked_subscribed(k);
}

static void rotated_files_count_at_the_next_connect(void **state UNUSED)
{
	start(TRANSPORT_TLS, PROTOCOL_5);
	linked_subscribed(k);
	assert_int_equal(rename(k->certs.other_ca, k->certs.ca), 0);
	assert_fails();
	assert_says("unknown CA");
}

static void a_tls_url_on_a_plain_port_is_told(void **state UNUSED)
{
	start(TRANSPORT_TCP, PROTOCOL_5);
	k->bc.transport = TRANSPORT_TLS;
	k->bc.ca = k->certs.ca;
	assert_fails();
	assert_says("is this a TLS port?");
}

static void a_plain_url_on_a_tls_port_is_told(void **state UNUSED)
{
	start(TRANSPORT_TLS, PROTOCOL_5);
	k->bc.transport = TRANSPORT_TCP;
	assert_fails();
	assert_says("is this an MQTT port");
}

/* Nothing is left then but a guess, and it must be the same each time. */
static void a_reset_amid_the_handshake_says_where_to_look(void **state UNUSED)
{
	for (int i = 0; i < 2; i++) {
		start(TRANSPORT_TLS, PROTOCOL_5);
		if (i) {
			k->bc.cert = k->certs.client_cert;
			k->bc.key = k->certs.client_key;
		}
		broker_ignore(k->broker, true);
		assert_ok(linked_open(k));
		assert_ok(linked_turn(k, 100));
		assert_ok(linked_turn(k, 100));
		broker_stop(k->broker); /* resets who was not let in */
		k->broker = NULL;
		assert_true(linked_until_state(k, LINK_DOWN));
		assert_says(i ? "closed during TLS: does the broker accept "
				"cert and key, and is this its TLS port?"
			      : "closed during TLS: does the broker want a "
				"certificate (cert and key), and is this its "
				"TLS port?");
		teardown(NULL);
	}
}

/* All of it is in the SSL buffer at once, where poll(2) sees nothing. */
static void messages_in_one_tls_record_are_all_read(void **state UNUSED)
{
	int64_t start_ms;

	start(TRANSPORT_TLS, PROTOCOL_5);
	linked_subscribed(k);
	publish_many(1500);
	assert_true(broker_wait(k->broker, BROKER_SENT, 1500, LINKED_MS));
	start_ms = clock_boot_ms();
	while (k->got_len < 1500 && clock_boot_ms() - start_ms < LINKED_MS)
		assert_ok(linked_read(k, 100));
	assert_int_equal(k->got_len, 1500);
	assert_int_equal(broker_count(k->broker, BROKER_PUBACK), 0);
	assert_ok(link_flush(k->link));
	assert_true(broker_wait(k->broker, BROKER_PUBACK, 1500, LINKED_MS));
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		T(an_unusable_file_is_named_and_nothing_is_sent),
		T(a_key_of_another_certificate_is_told),
		T(a_certificate_for_another_name_is_refused),
		T(the_name_is_checked_and_sent_as_sni_not_the_number),
		T(an_unknown_ca_is_refused),
		T(a_ca_of_the_same_name_is_unknown_too),
		T(a_certificate_out_of_its_time_is_refused),
		T(a_client_certificate_is_shown_and_missed),
		T(rotated_files_count_at_the_next_connect),
		T(a_tls_url_on_a_plain_port_is_told),
		T(a_plain_url_on_a_tls_port_is_told),
		T(a_reset_amid_the_handshake_says_where_to_look),
		T(messages_in_one_tls_record_are_all_read),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN); /* 2.1 of the library leaves it to us */
	if (link_library_init())
		return 1;
	failed = cmocka_run_group_tests_name("link by TLS", tests, NULL, NULL);
	link_library_fini();
	return failed;
}
