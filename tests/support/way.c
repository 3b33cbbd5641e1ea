#include "way.h"

#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../fakes/fault_vfs.h"
#include "base/clock.h"
#include "handler/sql.h"
#include "test.h"

#define LOOK_MS 20 /* more than a byte takes on the loopback */
#define SCHEMA                                                                 \
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT,"                 \
	" topic TEXT) STRICT;"
#define HANDLER "INSERT INTO effect (id, topic) VALUES (:event_id, :topic);"

void way_prepare(void)
{
	signal(SIGPIPE, SIG_IGN); /* 2.1 of the library leaves it to us */
	fault_vfs_install();
	assert_ok(link_library_init());
}

int64_t way_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A slow disk: meanwhile time passes for the link too, and pings fall due. */
static void stall(struct way *w)
{
	int64_t end_ms = way_now_ms() + w->stall_ms;

	while (way_now_ms() < end_ms) {
		if (w->ingest.link && !link_tick(w->ingest.link))
			w->ticked++;
		poll(NULL, 0, w->stall_ms < LOOK_MS ? 1 : LOOK_MS);
	}
}

static void on_sync(void *arg, enum fault_moment when, const char *name)
{
	struct way *w = arg;
	size_t len = strlen(name);

	if (len < 4 || strcmp(name + len - 4, "-wal") != 0)
		return;
	if (when == FAULT_BEFORE_SYNC) {
		stall(w);
		w->syncs++;
		if (broker_count(w->k->broker, BROKER_PUBACK) -
			    w->acknowledged >
		    w->covered - w->known)
			w->early++;
		return;
	}
	/* The last sync of a turn counts: a new log syncs its head first. */
	for (uint64_t i = w->covered; i < w->ingest.deliveries; i++)
		w->covered_at_ms[i % WAY_EVENTS] = way_now_ms();
}

static void on_delivery(void *arg, const struct event *ev)
{
	struct way *w = arg;

	ingest_deliver(&w->ingest, ev);
}

static void on_connected(void *arg)
{
	static const char *const filters[] = { "#" };
	static const enum retained retained[] = { RETAINED_IGNORE };
	struct way *w = arg;

	assert_ok(link_subscribe(w->ingest.link, filters, retained, 1));
}

static void on_suback(void *arg, unsigned index UNUSED, int code)
{
	struct way *w = arg;

	w->subscribed = code == 1;
}

static void register_group(struct way *w, struct err_detail *why)
{
	int64_t now_ms = store_now_ms(w->store, clock_boot_ms());

	assert_ok(store_begin(w->store));
	assert_ok(group_register(w->store, w->group.config, now_ms, false,
				 &w->group.record, why));
	assert_ok(store_commit(w->store));
}

void way_open_store(struct way *w)
{
	const struct store_options o = {
		.path = w->path,
		.max_size = 64 << 20,
	};
	struct err_detail why = { "" };

	fault_vfs_reset();
	w->syncs = w->early = 0;
	fault_vfs_hook(on_sync, w);
	if (store_open(&o, STORE_OWNER, &w->store, &why) ||
	    sql_schema_apply(w->store, w->config->store.schema, &why))
		fail_msg("%s", why.text);
	register_group(w, &why);
	if (sql_handler_open(w->store, w->group.config, &w->group.handler,
			     &why))
		fail_msg("%s", why.text);
	ingest_init(&w->ingest, &(struct ingest_options){
					.store = w->store,
					.groups = &w->group,
					.groups_len = 1,
					.ungrouped = &w->ungrouped,
					.limits = &w->config->limits,
				});
	w->covered = w->known = 0;
}

void way_close_store(struct way *w)
{
	if (!w->store)
		return;
	ingest_fini(&w->ingest);
	sql_handler_close(&w->group.handler);
	store_close(w->store);
	w->store = NULL;
}

static void configure(struct way *w)
{
	struct err_detail why = { "" };
	char text[512];

	folder_temp(w->dir);
	snprintf(w->path, sizeof(w->path), "%s/store.db", w->dir);
	file_put(w->dir, "s.sql", "%s", SCHEMA);
	file_put(w->dir, "h.sql", "%s", HANDLER);
	snprintf(text, sizeof(text),
		 "[store]\npath = %s\nschema = %s/s.sql\n"
		 "[broker]\nurl = mqtt://127.0.0.1\nclient_id = gw-017\n"
		 "[limits]\nbatch = %d\n"
		 "[group g]\nsubscribe = #\nid = payload:$.id\n"
		 "handler = sql:%s/h.sql\nredelivery_horizon = 3h\n"
		 "ttl = 24h\n",
		 w->path, w->dir, WAY_BATCH, w->dir);
	if (config_parse("test", span_str(text), &w->config, &why))
		fail_msg("%s", why.text);
	w->group.config = &w->config->groups[0];
}

struct way *way_new(enum transport t, enum protocol p)
{
	struct way *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->k = linked_new(t, p, NULL);
	w->k->bc.keepalive_ms = 5000;
	configure(w);
	w->events = (struct link_events){
		.arg = w,
		.on_delivery = on_delivery,
		.on_connected = on_connected,
		.on_suback = on_suback,
	};
	way_open_store(w);
	w->syncs = 0;
	return w;
}

void way_free(struct way *w)
{
	if (!w)
		return;
	fault_vfs_reset();
	way_close_store(w);
	folder_remove(w->dir);
	config_free(w->config);
	linked_free(w->k);
	free(w);
}

enum err way_connect(struct way *w)
{
	w->subscribed = false;
	w->known = w->covered = w->ingest.deliveries;
	w->acknowledged = broker_count(w->k->broker, BROKER_PUBACK);
	return link_open(&w->k->bc, &w->k->addr, WAY_BATCH, 65536, &w->events,
			 &w->ingest.link, &w->k->why);
}

enum err way_spin(struct way *w, int wait_ms)
{
	struct link *l = w->ingest.link;
	struct pollfd p = { .fd = link_fd(l), .events = link_interest(l) };
	enum err e = OK;

	if (link_has_buffered(l) || poll(&p, 1, wait_ms) == 1) {
		e = ingest_turn(&w->ingest, clock_boot_ms());
		w->covered = w->ingest.deliveries;
	}
	if (!e && w->ingest.link)
		e = link_tick(w->ingest.link);
	return e;
}

void way_online(struct way *w)
{
	int64_t end_ms = way_now_ms() + LINKED_MS;

	assert_ok(way_connect(w));
	while (!w->subscribed && way_now_ms() < end_ms)
		assert_ok(way_spin(w, 20));
	assert_true(w->subscribed);
}

void way_publish(struct way *w, unsigned from, unsigned n)
{
	static struct broker_publish p[WAY_EVENTS];
	static char payload[WAY_EVENTS][32], topic[WAY_EVENTS][32];

	assert_true(n <= WAY_EVENTS);
	for (unsigned i = 0; i < n; i++) {
		snprintf(payload[i], sizeof(payload[i]), "{\"id\":\"%u\"}",
			 from + i);
		snprintf(topic[i], sizeof(topic[i]), "orders/%u", from + i);
		p[i] = (struct broker_publish){
			.topic = topic[i],
			.payload = payload[i],
			.qos = 1,
		};
	}
	broker_publish(w->k->broker, p, n);
}

void way_until_acknowledged(struct way *w, unsigned n)
{
	int64_t end_ms = way_now_ms() + LINKED_MS;

	while (broker_count(w->k->broker, BROKER_PUBACK) < n &&
	       way_now_ms() < end_ms)
		assert_ok(way_spin(w, 2));
	assert_int_equal(broker_count(w->k->broker, BROKER_PUBACK), n);
}

int64_t way_int(struct way *w, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	int64_t v = -1;

	assert_int_equal(
		sqlite3_open_v2(w->path, &db, SQLITE_OPEN_READONLY, NULL),
		SQLITE_OK);
	if (!sqlite3_prepare_v2(db, sql, -1, &q, NULL) &&
	    sqlite3_step(q) == SQLITE_ROW)
		v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return v;
}
