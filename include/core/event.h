/*
 * The event: one application message, as a delivery brought it or as it was
 * read back from the store.  All spans are borrowed from whoever made it.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/span.h"

/* One user property (MQTT 5, 3.3.2.3.7); names may repeat. */
struct property {
	struct span name, value;
};

struct event {
	struct span topic;	  /* UTF-8, never empty */
	struct span payload;	  /* absent if oversize */
	struct span content_type; /* absent if not sent */
	struct span correlation;  /* absent if not sent */
	const struct property *properties;
	unsigned properties_len;
	uint8_t qos;	     /* 0 to 2, as delivered */
	bool retain;	     /* a retained copy sent at subscribe */
	int64_t received_wall_ms; /* wall clock, for people */
	bool received_sync;  /* whether that clock was synchronised */

	/* Larger than max_payload: hashed at arrival, not kept. */
	bool oversize;
	uint64_t payload_bytes;	 /* size as delivered */
	struct hash_key content; /* event_content(), if oversize; else unset */
};

/* The unseeded hash of topic and payload: names an event that has no id. */
struct hash_key event_content(struct span topic, struct span payload);

/* The same of @ev, whose payload may be gone. */
struct hash_key event_content_of(const struct event *ev);

/* Value of the first user property called @name; absent if there is none. */
struct span event_property(const struct event *ev, struct span name);

/* Level @n of the topic, from 1; absent if it has fewer. */
struct span event_topic_level(const struct event *ev, unsigned n);

#endif
