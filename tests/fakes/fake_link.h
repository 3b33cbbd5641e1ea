/*
 * A broker in memory: hands out deliveries, remembers what it is owed and what
 * was acknowledged, and delivers again what was not.
 */
#ifndef TESTS_FAKE_LINK_H
#define TESTS_FAKE_LINK_H

#include <stdbool.h>

#include "link/link.h"

#define FAKE_DELIVERIES 16384

struct fake_broker {
	struct event queue[FAKE_DELIVERIES]; /* borrowed from the test */
	int number[FAKE_DELIVERIES];	     /* names the PUBLISH */
	unsigned len;			     /* published so far */
	unsigned next;			     /* to be delivered next */
	unsigned owed;			     /* PUBACKs queued, not sent */

	int acked[FAKE_DELIVERIES]; /* numbers, in the order of PUBACKs */
	unsigned acked_len;

	unsigned window;	/* deliveries in one read; 0: as asked for */
	enum err read_result;	/* of the next read, after its deliveries */
	unsigned reads;		/* calls of link_read() */
	bool locked_read;	/* the hook's word at the last read */
	bool (*on_read)(void);	/* asked at each read */
	void (*on_flush)(void); /* called before PUBACKs leave */
	bool refuse;		/* connections end before they begin */
	unsigned refused;	/* how many did */
	unsigned subscribes;	/* calls of link_subscribe() */
	unsigned drops;		/* connections cut with nothing sent */
};

extern struct fake_broker fake_broker;

/* Forgets everything. */
void fake_broker_reset(void);

/* One more PUBLISH; returns its number. */
int fake_publish(const struct event *ev);

/* A connection, as link_open() gives it; the rest is delivered again. */
struct link *fake_connect(const struct link_events *ev);

#endif
