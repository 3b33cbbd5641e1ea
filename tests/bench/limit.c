/*
 * The limit that mqonce is measured against: the same order of things, take
 * the lock, read, commit, acknowledge, and nothing else.  Two prepared INSERTs
 * an event, the handler runs in the library's callback, any error ends it.
 */
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/defs.h"

#define BATCH		 500
#define KEEPALIVE_S	 60
#define SESSION_EXPIRY_S 3600

static sqlite3 *db;
static sqlite3_stmt *put_marker, *put_effect;
static unsigned deliveries;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "limit: %s: %s\n", what,
		db ? sqlite3_errmsg(db) : "failed");
	exit(EXIT_FAILURE);
}

static void run(const char *sql)
{
	must(!sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

static void prepare(const char *sql, sqlite3_stmt **ret)
{
	must(!sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret,
				 NULL),
	     sql);
}

static void open_store(const char *path)
{
	must(!sqlite3_open_v2(path, &db,
			      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				      SQLITE_OPEN_NOMUTEX,
			      NULL),
	     path);
	run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	    "CREATE TABLE marker (key BLOB NOT NULL PRIMARY KEY,"
	    " at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	    "CREATE TABLE effect (topic TEXT NOT NULL, payload TEXT NOT NULL)"
	    " STRICT;");
	prepare("INSERT OR IGNORE INTO marker VALUES (?1, ?2)", &put_marker);
	prepare("INSERT INTO effect VALUES (?1, ?2)", &put_effect);
}

static void step(sqlite3_stmt *q)
{
	must(sqlite3_step(q) == SQLITE_DONE, "step");
	sqlite3_reset(q);
}

/* The text of "id"; good enough for the payloads of this benchmark. */
static const char *find_id(const char *payload, int len, int *ret_len)
{
	static const char name[] = "\"id\":\"";
	const char *p = memmem(payload, (size_t)len, name, sizeof(name) - 1);
	const char *end;

	must(p, "no id");
	p += sizeof(name) - 1;
	end = memchr(p, '"', (size_t)(payload + len - p));
	must(end, "no id");
	*ret_len = (int)(end - p);
	return p;
}

static void on_message(struct mosquitto *m UNUSED, void *arg UNUSED,
		       const struct mosquitto_message *msg)
{
	int len;
	const char *id = find_id(msg->payload, msg->payloadlen, &len);
	XXH128_hash_t key = XXH3_128bits(id, (size_t)len);

	deliveries++;
	sqlite3_bind_blob(put_marker, 1, &key, sizeof(key), SQLITE_STATIC);
	step(put_marker);
	if (!sqlite3_changes(db))
		return;
	sqlite3_bind_text(put_effect, 1, msg->topic, -1, SQLITE_STATIC);
	sqlite3_bind_text(put_effect, 2, msg->payload, msg->payloadlen,
			  SQLITE_STATIC);
	step(put_effect);
}

static struct mosquitto *open_link(int port, const char *client_id)
{
	struct mosquitto *m = mosquitto_new(client_id, false, NULL);
	mosquitto_property *list = NULL;

	must(m, "mosquitto_new");
	mosquitto_int_option(m, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
	mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_threaded_set(m, true); /* PUBACKs wait for loop_write */
	mosquitto_message_callback_set(m, on_message);
	mosquitto_property_add_int32(&list, MQTT_PROP_SESSION_EXPIRY_INTERVAL,
				     SESSION_EXPIRY_S);
	mosquitto_property_add_int16(&list, MQTT_PROP_RECEIVE_MAXIMUM, BATCH);
	must(!mosquitto_connect_bind_v5(m, "127.0.0.1", port, KEEPALIVE_S, NULL,
					list),
	     "connect");
	mosquitto_property_free_all(&list);
	must(!mosquitto_loop_write(m, 1), "connect");
	return m;
}

static void turn(struct mosquitto *m)
{
	unsigned before;

	deliveries = 0;
	sqlite3_bind_int64(put_marker, 2, time(NULL));
	run("BEGIN IMMEDIATE");
	do {
		before = deliveries;
		must(!mosquitto_loop_read(m, 1), "read");
	} while (deliveries > before && deliveries < BATCH);
	run("COMMIT");
	must(!mosquitto_loop_write(m, 1), "write");
}

int main(int argc, char **argv)
{
	struct mosquitto *m;

	if (argc != 4) {
		fprintf(stderr, "usage: limit STORE PORT CLIENT_ID\n");
		return EXIT_FAILURE;
	}
	open_store(argv[1]);
	mosquitto_lib_init();
	m = open_link(atoi(argv[2]), argv[3]);
	for (;;) { /* until a signal */
		struct pollfd p = { mosquitto_socket(m), POLLIN, 0 };

		if (poll(&p, 1, 1000) > 0)
			turn(m);
		must(!mosquitto_loop_misc(m), "misc");
	}
}
