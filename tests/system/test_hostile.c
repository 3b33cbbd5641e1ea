/* The real program against brokers that send what they should not. */
#include "../support/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../support/hostile.h"

#define LOSSES 5 /* until it is called poison */

static struct hostile *h;

static int teardown(void **state UNUSED)
{
	hostile_free(h);
	h = NULL;
	return 0;
}

static void start(bool tls)
{
	h = hostile_new(&(struct hostile_options){ .tls = tls });
}

/* Everything from now on arrives in one piece. */
static void gather(bool yes)
{
	wire_hold(h->wire, WIRE_BROKER, yes);
}

/* An id of 0 (MQTT 5, 2.2.1): the connection ends at it, not before. */
static const unsigned char poison[] = { 0x32, 0x02, 0x00, 0x09 };

static void poison_amid_good_ones_costs_none_of_them(void **state UNUSED)
{
	for (int tls = 0; tls < 2; tls++) {
		start(tls);
		hostile_up(h);
		gather(true);
		hostile_publish(h, 0, 10);
		assert_true(broker_wait(h->b, BROKER_SENT, 10, HOSTILE_MS));
		broker_send(h->b, poison, sizeof(poison));
		hostile_publish(h, 10, 50);
		assert_true(broker_wait(h->b, BROKER_SENT, 60, HOSTILE_MS));
		broker_ignore(h->b, true); /* those behind must wait */
		gather(false);
		hostile_wait_effects(h, 10);
		gateway_wait_log(h->g, "link.down", 1, HOSTILE_MS);
		broker_ignore(h->b, false);
		hostile_wait_effects(h, 60);
		assert_int_equal(gateway_int(h->g, "SELECT count(*)"
						   " FROM once_dead_letter"),
				 0);
		teardown(NULL);
	}
}

/* No memory holds that: it is not even begun, told, and backed off from. */
static void
a_broker_that_announces_256_megabytes_is_backed_off_from(void **state UNUSED)
{
	static const unsigned char header[] = { 0x32, 0xff, 0xff, 0xff, 0x7f };

#ifdef __SANITIZE_ADDRESS__
	skip(); /* its shadow allows no limit on memory */
#endif
	start(true);
	gateway_start(h->g, NULL);
	for (uint64_t n = 1; n <= LOSSES; n++) {
		assert_true(broker_wait(h->b, BROKER_SUBSCRIBE, n, HOSTILE_MS));
		broker_send(h->b, header, sizeof(header));
		assert_true(broker_wait(h->b, BROKER_CLOSED, n, HOSTILE_MS));
	}
	gateway_wait_log(h->g, "broker.poison", 1, HOSTILE_MS);
	assert_false(gateway_ended(h->g));
	print_message("%ld kB at most\n", hostile_peak_kb(h));
	assert_true(hostile_peak_kb(h) < 32 * 1024);
	assert_int_equal(broker_count(h->b, BROKER_CONNECTIONS), LOSSES);
}

/* Where poll(2) sees nothing: behind many that came alone. */
static void a_record_of_a_hundred_is_read_after_many_of_one(void **state UNUSED)
{
	start(true);
	hostile_up(h);
	for (unsigned i = 0; i < 300; i++) {
		hostile_publish(h, i, 1);
		assert_true(
			broker_wait(h->b, BROKER_PUBACK, i + 1, HOSTILE_MS));
	}
	hostile_publish(h, 300, 100);
	assert_true(broker_wait(h->b, BROKER_PUBACK, 400, HOSTILE_MS));
	hostile_wait_effects(h, 400);
	assert_int_equal(broker_count(h->b, BROKER_CONNECTIONS), 1);
}

/* In the program as in the link: an alias of a dead connection is nothing. */
static void an_alias_leaves_no_empty_and_no_old_topic(void **state UNUSED)
{
	static const unsigned char teach[] = { 0x32, 21,  0,   1,   't', 0,
					       77,   3,	  35,  0,   1,	 '{',
					       '"',  'i', 'd', '"', ':', '"',
					       'x',  'x', 'x', '"', '}' };
	static const unsigned char use[] = { 0x32, 20,	0,   0,	  0,   78,
					     3,	   35,	0,   1,	  '{', '"',
					     'i',  'd', '"', ':', '"', 'y',
					     'y',  'y', '"', '}' };

	start(false);
	hostile_up(h);
	broker_send(h->b, teach, sizeof(teach));
	broker_close(h->b);
	assert_true(broker_wait(h->b, BROKER_SUBSCRIBE, 2, HOSTILE_MS));
	broker_send(h->b, use, sizeof(use));
	assert_true(broker_wait(h->b, BROKER_SUBSCRIBE, 3, HOSTILE_MS));
	hostile_publish(h, 0, 5);
	gateway_wait(h->g, "SELECT count(*) FROM effect WHERE length(id) = 1",
		     5, HOSTILE_MS);
	assert_int_equal(gateway_int(h->g, "SELECT count(*) FROM effect"
					   " WHERE id = 'yyy'"),
			 0);
	assert_int_equal(gateway_int(h->g, "SELECT count(*)"
					   " FROM once_dead_letter"),
			 0);
	assert_int_equal(gateway_int(h->g, "SELECT coalesce(sum(unmatched), 0)"
					   " FROM once_counter"),
			 0);
}

/* With another certificate at the same address. */
static struct scripted_broker *renew(const struct cert_spec *spec,
				     struct certificates *ret_c)
{
	struct scripted_broker *b;

	certificates_make(ret_c, spec);
	b = broker_start(&(struct broker_options){ .cert = ret_c->cert,
						   .key = ret_c->key });
	wire_lead_to(h->wire, broker_port(b));
	return b;
}

/* Refused again and again, with not one byte of MQTT, until it is right. */
static void refuses(const struct cert_spec *spec, const char *why)
{
	struct certificates good;
	struct scripted_broker *b;

	h = hostile_new(&(struct hostile_options){ .tls = true, .spec = spec });
	gateway_start(h->g, NULL);
	gateway_wait_log(h->g, why, 2, HOSTILE_MS);
	assert_int_equal(broker_count(h->b, BROKER_BYTES), 0);
	assert_false(gateway_ended(h->g));
	b = renew(NULL, &good);
	assert_int_equal(rename(good.ca, h->certs.ca), 0);
	assert_true(broker_wait(b, BROKER_SUBSCRIBE, 1, HOSTILE_MS));
	assert_int_equal(gateway_int(h->g, HOSTILE_EFFECTS), 0);
	gateway_end(h->g, SIGTERM);
	broker_stop(b);
	certificates_remove(&good);
	teardown(NULL);
}

static void a_certificate_of_another_name_is_never_taken(void **state UNUSED)
{
	refuses(&(struct cert_spec){ .names = "DNS:other.example" },
		"is made out to another name");
}

static void a_certificate_out_of_its_time_is_never_taken(void **state UNUSED)
{
	refuses(&(struct cert_spec){ .from_days = -9, .to_days = -2 },
		"has expired");
	refuses(&(struct cert_spec){ .from_days = 2, .to_days = 9 },
		"is not valid yet");
}

/* The files of both sides change; ours are read at the next connect. */
static void rotated_certificates_need_no_restart(void **state UNUSED)
{
	struct certificates next;
	struct scripted_broker *b;

	start(true);
	hostile_up(h);
	hostile_publish(h, 0, 5);
	hostile_wait_effects(h, 5);
	b = renew(NULL, &next);
	broker_close(h->b);
	gateway_wait_log(h->g, "is signed by an unknown CA", 1, HOSTILE_MS);
	file_put(h->certs.dir, "ca.pem", "not a certificate\n");
	gateway_wait_log(h->g, "ca.pem: no certificate in it", 1, HOSTILE_MS);
	assert_int_equal(rename(next.ca, h->certs.ca), 0);
	assert_true(broker_wait(b, BROKER_SUBSCRIBE, 1, HOSTILE_MS));
	assert_false(gateway_ended(h->g));
	gateway_end(h->g, SIGTERM);
	broker_stop(b);
	certificates_remove(&next);
}

/* SIGHUP with a file that is no use changes nothing, and says so. */
static void a_bad_certificate_file_is_not_loaded(void **state UNUSED)
{
	char good[CERT_PATH_SIZE + 8];

	start(true);
	hostile_up(h);
	snprintf(good, sizeof(good), "%s.good", h->certs.ca);
	assert_int_equal(rename(h->certs.ca, good), 0);
	file_put(h->certs.dir, "ca.pem", "not a certificate\n");
	kill(h->g->daemon, SIGHUP);
	gateway_wait_log(h->g, "config.reload", 1, HOSTILE_MS);
	assert_int_equal(gateway_logged(h->g, "action=keep_old"), 1);
	hostile_publish(h, 0, 5);
	hostile_wait_effects(h, 5);
	assert_int_equal(broker_count(h->b, BROKER_CONNECTIONS), 1);
	assert_int_equal(rename(good, h->certs.ca), 0);
	kill(h->g->daemon, SIGHUP);
	assert_true(broker_wait(h->b, BROKER_SUBSCRIBE, 2, HOSTILE_MS));
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		T(poison_amid_good_ones_costs_none_of_them),
		T(a_broker_that_announces_256_megabytes_is_backed_off_from),
		T(a_record_of_a_hundred_is_read_after_many_of_one),
		T(an_alias_leaves_no_empty_and_no_old_topic),
		T(a_certificate_of_another_name_is_never_taken),
		T(a_certificate_out_of_its_time_is_never_taken),
		T(rotated_certificates_need_no_restart),
		T(a_bad_certificate_file_is_not_loaded),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
