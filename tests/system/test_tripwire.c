/*
 * libmosquitto queues a PUBACK before it hands out the message, and holds it
 * back only as a side effect of being told that it is threaded.  Nobody
 * promised that.  These tests notice when it ends: no PUBACK may reach the
 * broker before the sync that covers its event has returned.
 */
#include "../support/test.h"

#include <poll.h>
#include <sqlite3.h>

#include "../fakes/fault_vfs.h"
#include "../support/way.h"

#define LOOK_MS 20 /* more than a byte takes on the loopback */

static struct way *w;

static void start(enum transport t, enum protocol p)
{
	w = way_new(t, p);
}

static int teardown(void **state UNUSED)
{
	way_free(w);
	w = NULL;
	return 0;
}

static void assert_each_puback_came_after_its_sync(unsigned n)
{
	struct broker_packet p;

	assert_true(w->syncs > 0);
	assert_int_equal(w->early, 0);
	for (unsigned i = 0; i < n; i++) {
		assert_true(broker_packet(w->k->broker, BROKER_PUBACK, i, &p));
		assert_int_equal(p.id, i + 1);
		assert_true(p.at_ms >= w->covered_at_ms[i]);
	}
}

/* Idle first, so that the keepalive of 5 s runs out within the stall. */
static void a_stalled_sync(enum transport t, enum protocol p)
{
	int64_t quiet_until_ms;

	start(t, p);
	way_online(w);
	quiet_until_ms = way_now_ms() + 3200;
	while (way_now_ms() < quiet_until_ms)
		assert_ok(way_spin(w, 20));
	assert_int_equal(broker_count(w->k->broker, BROKER_PINGREQ), 0);
	w->stall_ms = 3000;
	way_publish(w, 0, 10);
	way_until_acknowledged(w, 10);
	w->stall_ms = 0;
	assert_each_puback_came_after_its_sync(10);
	assert_true(w->ticked > 10);
	/* It fell due in the stall and left behind the PUBACKs. */
	assert_true(broker_wait(w->k->broker, BROKER_PINGREQ, 1, 1000));
	teardown(NULL);
}

static void no_puback_leaves_while_the_sync_is_stalled(void **state UNUSED)
{
	a_stalled_sync(TRANSPORT_TCP, PROTOCOL_5);
	a_stalled_sync(TRANSPORT_TLS, PROTOCOL_311);
}

static void
no_puback_of_a_full_batch_leaves_before_its_sync(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		for (int p = PROTOCOL_5; p <= PROTOCOL_311; p++) {
			start((enum transport)t, (enum protocol)p);
			way_online(w);
			w->stall_ms = 2 * LOOK_MS;
			way_publish(w, 0, 500);
			assert_true(broker_wait(w->k->broker, BROKER_SENT, 500,
						LINKED_MS));
			way_until_acknowledged(w, 500);
			assert_each_puback_came_after_its_sync(500);
			teardown(NULL);
		}
	}
}

/* Turns until the store fails one. */
static void until_the_commit_fails(void)
{
	int64_t end_ms = way_now_ms() + LINKED_MS;
	enum err e = OK;

	while (!e && way_now_ms() < end_ms)
		e = way_spin(w, 10);
	assert_true(e && e != ERR_LINK && e != ERR_BUSY);
	assert_null(w->ingest.link);
	assert_true(fault_vfs_failed() > 0);
}

static void a_failed_commit(enum transport t, enum protocol p, enum fault_op op,
			    int code)
{
	uint64_t bytes;

	start(t, p);
	way_online(w);
	bytes = broker_count(w->k->broker, BROKER_BYTES);
	fault_vfs_fail(op, 1, code, true);
	way_publish(w, 0, 20);
	until_the_commit_fails();
	assert_true(broker_wait(w->k->broker, BROKER_CLOSED, 1, LINKED_MS));
	assert_int_equal(broker_count(w->k->broker, BROKER_BYTES), bytes);
	assert_int_equal(broker_count(w->k->broker, BROKER_DISCONNECT), 0);

	/*
	 * The disk is well again: all of them come back and are taken.  What
	 * the log kept of the failure may make them repeats, vouched for by
	 * the syncs of the open.
	 */
	fault_vfs_reset();
	way_close_store(w);
	way_open_store(w);
	way_online(w);
	way_until_acknowledged(w, 20);
	assert_each_puback_came_after_its_sync(20);
	teardown(NULL);
}

static void
a_failed_commit_drops_the_link_with_nothing_sent(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		for (int p = PROTOCOL_5; p <= PROTOCOL_311; p++) {
			a_failed_commit((enum transport)t, (enum protocol)p,
					FAULT_SYNC, SQLITE_IOERR_FSYNC);
			a_failed_commit((enum transport)t, (enum protocol)p,
					FAULT_WRITE, SQLITE_FULL);
		}
	}
}

/* The wire itself: without the flush nothing at all leaves, pings included. */
static void reading_and_ticking_alone_send_nothing(void **state UNUSED)
{
	for (int t = TRANSPORT_TCP; t <= TRANSPORT_TLS; t++) {
		int64_t end_ms;
		uint64_t bytes;

		start((enum transport)t, PROTOCOL_5);
		way_online(w);
		bytes = broker_count(w->k->broker, BROKER_BYTES);
		way_publish(w, 0, 50);
		end_ms = way_now_ms() + 6500; /* a ping falls due at 5 s */
		while (way_now_ms() < end_ms) {
			assert_ok(link_read(w->ingest.link, 1000, 1 << 20));
			assert_ok(link_tick(w->ingest.link));
			poll(NULL, 0, LOOK_MS);
		}
		assert_int_equal(w->ingest.batch.len, 50);
		assert_int_equal(broker_count(w->k->broker, BROKER_BYTES),
				 bytes);
		assert_true(link_interest(w->ingest.link) & POLLOUT);
		teardown(NULL);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		T(no_puback_leaves_while_the_sync_is_stalled),
		T(no_puback_of_a_full_batch_leaves_before_its_sync),
		T(a_failed_commit_drops_the_link_with_nothing_sent),
		T(reading_and_ticking_alone_send_nothing),
	};
	int failed;

	way_prepare();
	failed = cmocka_run_group_tests_name("tripwire", tests, NULL, NULL);
	link_library_fini();
	return failed;
}
