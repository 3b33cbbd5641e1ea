/*
 * The whole way of an event, from a scripted broker to the file, in one
 * process: real link, real ingest, real handler, real store.  It sees each
 * sync of the log, and whether a PUBACK came before its own.
 */
#ifndef TESTS_WAY_H
#define TESTS_WAY_H

#include "flow/ingest.h"
#include "linked.h"

#define WAY_EVENTS 1000
#define WAY_BATCH  50

struct way {
	struct linked *k; /* its link is not used */
	struct link_events events;
	struct config *config;
	struct store *store;
	struct group group;
	struct counters ungrouped;
	struct ingest ingest;
	bool subscribed;
	char dir[FOLDER_SIZE], path[96];

	/* What the syncs of the log saw. */
	int stall_ms; /* how long each takes */
	unsigned syncs, early, ticked;
	uint64_t covered;	      /* deliveries of finished turns */
	uint64_t known, acknowledged; /* both before this connection */
	int64_t covered_at_ms[WAY_EVENTS];
};

/* Once per process, before the first. */
void way_prepare(void);

/* The effect of an event is a row of `effect (n, id, topic)`. */
struct way *way_new(enum transport t, enum protocol p);
void way_free(struct way *w); /* safe on NULL */

/* The store alone; what is measured starts anew, with the open. */
void way_open_store(struct way *w);
void way_close_store(struct way *w);

/* Starts to connect; the end of a link before is the caller's. */
MUST_CHECK enum err way_connect(struct way *w);

/* What the loop does: waits, takes a turn, keeps the connection alive. */
MUST_CHECK enum err way_spin(struct way *w, int wait_ms);

/* Connects and waits for SUBACK. */
void way_online(struct way *w);

/* The events @from, ... with their number as id and orders/ID as topic. */
void way_publish(struct way *w, unsigned from, unsigned n);

/* Turns until @n PUBACKs are with the broker. */
void way_until_acknowledged(struct way *w, unsigned n);

/* The number that @sql gives, asked over another connection. */
int64_t way_int(struct way *w, const char *sql);

int64_t way_now_ms(void);

#endif
