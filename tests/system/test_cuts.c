/*
 * Three events over a connection that ends after a byte, whichever byte it
 * is: each is there once afterwards, and none was acknowledged before.
 */
#include "../support/test.h"

#include <dirent.h>

#include "../fakes/wire.h"
#include "../support/way.h"

#define EVENTS	 3
#define TLS_STEP 7

static struct way *w;
static struct wire *wire;
static unsigned published, exchanges;

static int teardown(void **state UNUSED)
{
	way_free(w);
	wire_stop(wire);
	w = NULL;
	wire = NULL;
	return 0;
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void start(enum transport t, enum protocol p)
{
	published = exchanges = 0;
	w = way_new(t, p);
	wire = wire_start(broker_port(w->k->broker), false);
	w->k->addr.port = wire_port(wire);
	w->stall_ms = 1;
}

static unsigned pubacks(void)
{
	return (unsigned)broker_count(w->k->broker, BROKER_PUBACK);
}

/* Until all are acknowledged or the connection is over. */
static enum err until_the_end(void)
{
	int64_t end_ms = way_now_ms() + LINKED_MS;
	enum err e = OK;

	while (!e && pubacks() < published && way_now_ms() < end_ms)
		e = way_spin(w, 2);
	assert_true(way_now_ms() < end_ms);
	return e;
}

static void hang_up(void)
{
	uint64_t n = broker_count(w->k->broker, BROKER_CONNECTIONS);

	link_free(w->ingest.link);
	w->ingest.link = NULL;
	assert_true(broker_wait(w->k->broker, BROKER_CLOSED, n, LINKED_MS));
}

static void assert_each_is_there_once(void)
{
	assert_int_equal(way_int(w, "SELECT count(*) FROM effect"), published);
	assert_int_equal(way_int(w, "SELECT count(DISTINCT id) FROM effect"),
			 published);
	assert_int_equal(way_int(w, "SELECT count(*) FROM effect"
				    " WHERE topic IS NOT 'orders/' || id"),
			 0);
	assert_int_equal(way_int(w, "SELECT count(*) FROM once_marker"
				    " WHERE state = 'done'"),
			 published);
	assert_int_equal(way_int(w, "SELECT count(*) FROM once_dead_letter"),
			 0);
}

/* What the broker need not send again is in the file. */
static void assert_none_is_lost(void)
{
	assert_true(way_int(w, "SELECT count(*) FROM effect") >= pubacks());
	assert_int_equal(w->early, 0);
}

/* One exchange, cut after @n bytes of @side; false: it is not that long. */
static bool cut_after(enum wire_side side, uint64_t n, enum wire_end how)
{
	enum err e;

	broker_forget(w->k->broker);
	way_publish(w, published, EVENTS);
	published += EVENTS;
	wire_cut(wire, side, n, how);
	e = way_connect(w);
	if (!e)
		e = until_the_end();
	assert_true(!e || (e == ERR_LINK && wire_was_cut(wire)));
	if (e && w->ingest.link)
		assert_true(*link_report(w->ingest.link)->why.text);
	hang_up();
	assert_none_is_lost();
	exchanges++;
	return wire_was_cut(wire);
}

static void come_back(void)
{
	way_online(w);
	way_until_acknowledged(w, published);
	hang_up();
	assert_none_is_lost();
}

static uint64_t cut_everywhere(enum wire_side side, enum wire_end how,
			       unsigned step)
{
	uint64_t n = 0;

	while (cut_after(side, n, how)) {
		come_back();
		n += step;
	}
	assert_each_is_there_once();
	return n;
}

static void every_cut(enum transport t, enum protocol p, unsigned step)
{
	unsigned before = descriptors();
	uint64_t bytes[2];

	start(t, p);
	for (int side = WIRE_CLIENT; side <= WIRE_BROKER; side++) {
		bytes[side] =
			cut_everywhere((enum wire_side)side, WIRE_RST, step);
		(void)cut_everywhere((enum wire_side)side, WIRE_FIN, step);
	}
	print_message("%u exchanges of %u and %u bytes, %u syncs\n", exchanges,
		      (unsigned)bytes[WIRE_CLIENT],
		      (unsigned)bytes[WIRE_BROKER], w->syncs);
	assert_true(bytes[WIRE_CLIENT] > 40 && bytes[WIRE_BROKER] > 80);
	teardown(NULL);
	assert_int_equal(descriptors(), before);
}

static void a_cut_after_any_byte_loses_and_doubles_nothing(void **state UNUSED)
{
	every_cut(TRANSPORT_TCP, PROTOCOL_5, 1);
	every_cut(TRANSPORT_TCP, PROTOCOL_311, 1);
}

/* The handshake's bytes too. */
static void a_cut_amid_tls_loses_and_doubles_nothing(void **state UNUSED)
{
	every_cut(TRANSPORT_TLS, PROTOCOL_5, TLS_STEP);
	every_cut(TRANSPORT_TLS, PROTOCOL_311, TLS_STEP);
}

/* A byte now and then: nothing is taken for whole that is not. */
static void a_byte_at_a_time_is_enough(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		start((enum transport)t, PROTOCOL_5);
		/* With ML-KEM a handshake has bytes for five seconds. */
		w->k->bc.keepalive_ms = 60000;
		wire_slow(wire, t == TRANSPORT_TCP ? 20 : 1);
		way_publish(w, 0, EVENTS);
		published = EVENTS;
		way_online(w);
		way_until_acknowledged(w, EVENTS);
		assert_each_is_there_once();
		teardown(NULL);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		T(a_cut_after_any_byte_loses_and_doubles_nothing),
		T(a_cut_amid_tls_loses_and_doubles_nothing),
		T(a_byte_at_a_time_is_enough),
	};
	int failed;

	way_prepare();
	failed = cmocka_run_group_tests_name("cuts", tests, NULL, NULL);
	link_library_fini();
	return failed;
}
