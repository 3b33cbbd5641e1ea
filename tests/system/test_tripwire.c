/*
 * libmosquitto queues a PUBACK before it hands out the message, and holds it
 * back only as a side effect of being told that it is threaded.  Nobody
 * promised that.  These tests notice when it ends: no PUBACK may reach the
 * broker before the sync that covers its event has returned.
 */
#include "../support/test.h"

#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../fakes/fault_vfs.h"
#include "../support/linked.h"
#include "base/clock.h"
#include "flow/ingest.h"

#define EVENTS_MAX 1000
#define LOOK_MS	   20 /* more than a byte takes on the loopback */

/* The whole way of an event, from the broker to the file. */
struct way {
	struct linked *k;
	struct link_events events;
	struct config *config;
	struct store *store;
	struct group group;
	struct counters ungrouped;
	struct ingest ingest;
	bool subscribed;
	char dir[64], path[96];

	/* What the syncs of the log saw. */
	int stall_ms;
	unsigned syncs, early, ticked;
	uint64_t covered; /* deliveries of finished turns */
	int64_t covered_at_ms[EVENTS_MAX];
};

static struct way *w;

/* The turn under test. */
static enum err turn(struct way *way)
{
	enum err e = ingest_turn(&way->ingest, clock_boot_ms());

	way->covered = way->ingest.deliveries;
	return e;
}

static int64_t monotonic_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A slow disk: meanwhile time passes for the link too, and pings fall due. */
static void stall(struct way *way)
{
	int64_t end_ms = monotonic_ms() + way->stall_ms;

	while (monotonic_ms() < end_ms) {
		if (way->ingest.link && !link_tick(way->ingest.link))
			way->ticked++;
		poll(NULL, 0, LOOK_MS);
	}
}

static void on_sync(void *arg, enum fault_moment when, const char *name)
{
	struct way *way = arg;
	size_t len = strlen(name);

	if (len < 4 || strcmp(name + len - 4, "-wal") != 0)
		return;
	if (when == FAULT_BEFORE_SYNC) {
		stall(way);
		way->syncs++;
		if (broker_count(way->k->broker, BROKER_PUBACK) > way->covered)
			way->early++;
		return;
	}
	/* The last sync of a turn counts: a new log syncs its head first. */
	for (uint64_t i = way->covered; i < way->ingest.deliveries; i++)
		way->covered_at_ms[i % EVENTS_MAX] = monotonic_ms();
}

static enum err handle(void *self UNUSED, const struct attempt *a UNUSED,
		       struct result *ret_r)
{
	ret_r->outcome = OUTCOME_OK;
	return OK;
}

static void on_delivery(void *arg, const struct event *ev)
{
	struct way *way = arg;

	ingest_deliver(&way->ingest, ev);
}

static void on_connected(void *arg)
{
	static const char *const filters[] = { "#" };
	static const enum retained retained[] = { RETAINED_IGNORE };
	struct way *way = arg;

	assert_ok(link_subscribe(way->ingest.link, filters, retained, 1));
}

static void on_suback(void *arg, unsigned index UNUSED, int code)
{
	struct way *way = arg;

	way->subscribed = code == 1;
}

static void open_store(struct way *way)
{
	const struct store_options o = {
		.path = way->path,
		.max_size = 64 << 20,
	};
	struct err_detail why = { "" };

	if (store_open(&o, STORE_OWNER, &way->store, &why))
		fail_msg("%s", why.text);
	assert_ok(store_begin(way->store));
	assert_ok(group_register(way->store, way->group.config,
				 store_now_ms(way->store, clock_boot_ms()),
				 false, &way->group.record, &why));
	assert_ok(store_commit(way->store));
	ingest_init(&way->ingest, &(struct ingest_options){
					  .store = way->store,
					  .groups = &way->group,
					  .groups_len = 1,
					  .ungrouped = &way->ungrouped,
					  .limits = &way->config->limits,
				  });
	way->covered = 0;
}

static void close_store(struct way *way)
{
	ingest_fini(&way->ingest);
	store_close(way->store);
	way->store = NULL;
}

static void start(enum transport t, enum protocol p)
{
	static const char text[] =
		"[store]\npath = /var/lib/mqonce/store.db\n"
		"[broker]\nurl = mqtt://127.0.0.1\nclient_id = gw-017\n"
		"[limits]\nbatch = 50\n"
		"[group g]\nsubscribe = #\nid = payload:$.id\n"
		"handler = sql:/dev/null\nredelivery_horizon = 3h\n"
		"ttl = 24h\n";
	struct err_detail why = { "" };

	w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->k = linked_new(t, p, NULL);
	w->k->bc.keepalive_ms = 5000;
	if (config_parse("test", span_str(text), &w->config, &why))
		fail_msg("%s", why.text);
	folder_temp(w->dir);
	snprintf(w->path, sizeof(w->path), "%s/store.db", w->dir);
	w->group.config = &w->config->groups[0];
	w->group.handler.attempt = handle;
	w->events = (struct link_events){
		.arg = w,
		.on_delivery = on_delivery,
		.on_connected = on_connected,
		.on_suback = on_suback,
	};
	open_store(w);
	fault_vfs_reset();
	fault_vfs_hook(on_sync, w);
}

static int teardown(void **state UNUSED)
{
	if (!w)
		return 0;
	fault_vfs_reset();
	if (w->store)
		close_store(w);
	folder_remove(w->dir);
	config_free(w->config);
	linked_free(w->k);
	free(w);
	w = NULL;
	return 0;
}

/* What the loop does: waits, takes a turn, keeps the connection alive. */
static enum err spin(int wait_ms)
{
	struct link *l = w->ingest.link;
	struct pollfd p = { .fd = link_fd(l), .events = link_interest(l) };
	enum err e = OK;

	if (link_has_buffered(l) || poll(&p, 1, wait_ms) == 1)
		e = turn(w);
	if (!e && w->ingest.link)
		e = link_tick(w->ingest.link);
	return e;
}

static void go_online(void)
{
	int64_t end_ms = monotonic_ms() + LINKED_MS;

	w->subscribed = false;
	assert_ok(link_open(&w->k->bc, &w->k->addr, 50, 65536, &w->events,
			    &w->ingest.link, &w->k->why));
	while (!w->subscribed && monotonic_ms() < end_ms)
		assert_ok(spin(20));
	assert_true(w->subscribed);
}

static void publish(unsigned n)
{
	static struct broker_publish p[EVENTS_MAX];
	static char payload[EVENTS_MAX][32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(payload[i], sizeof(payload[i]), "{\"id\":\"%u\"}", i);
		p[i] = (struct broker_publish){
			.topic = "orders",
			.payload = payload[i],
			.qos = 1,
		};
	}
	broker_publish(w->k->broker, p, n);
}

/* Turns until @n PUBACKs are with the broker. */
static void until_acknowledged(unsigned n)
{
	int64_t end_ms = monotonic_ms() + LINKED_MS;

	while (broker_count(w->k->broker, BROKER_PUBACK) < n &&
	       monotonic_ms() < end_ms)
		assert_ok(spin(10));
	assert_int_equal(broker_count(w->k->broker, BROKER_PUBACK), n);
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
	go_online();
	quiet_until_ms = monotonic_ms() + 3200;
	while (monotonic_ms() < quiet_until_ms)
		assert_ok(spin(20));
	assert_int_equal(broker_count(w->k->broker, BROKER_PINGREQ), 0);
	w->stall_ms = 3000;
	publish(10);
	until_acknowledged(10);
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
			go_online();
			w->stall_ms = 2 * LOOK_MS;
			publish(500);
			assert_true(broker_wait(w->k->broker, BROKER_SENT, 500,
						LINKED_MS));
			until_acknowledged(500);
			assert_each_puback_came_after_its_sync(500);
			teardown(NULL);
		}
	}
}

/* Turns until the store fails one. */
static void until_the_commit_fails(void)
{
	int64_t end_ms = monotonic_ms() + LINKED_MS;
	enum err e = OK;

	while (!e && monotonic_ms() < end_ms)
		e = spin(10);
	assert_true(e && e != ERR_LINK && e != ERR_BUSY);
	assert_null(w->ingest.link);
	assert_true(fault_vfs_failed() > 0);
}

static void a_failed_commit(enum transport t, enum protocol p, enum fault_op op,
			    int code)
{
	uint64_t bytes;

	start(t, p);
	go_online();
	bytes = broker_count(w->k->broker, BROKER_BYTES);
	fault_vfs_fail(op, 1, code, true);
	publish(20);
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
	close_store(w);
	w->syncs = w->early = 0;
	fault_vfs_hook(on_sync, w);
	open_store(w);
	go_online();
	until_acknowledged(20);
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
		go_online();
		bytes = broker_count(w->k->broker, BROKER_BYTES);
		publish(50);
		end_ms = monotonic_ms() + 6500; /* a ping falls due at 5 s */
		while (monotonic_ms() < end_ms) {
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

	signal(SIGPIPE, SIG_IGN); /* 2.1 of the library leaves it to us */
	fault_vfs_install();
	if (link_library_init())
		return 1;
	failed = cmocka_run_group_tests_name("tripwire", tests, NULL, NULL);
	link_library_fini();
	return failed;
}
