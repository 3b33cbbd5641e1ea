/* A link, its broker and what came through it, for tests of both. */
#ifndef TESTS_LINKED_H
#define TESTS_LINKED_H

#include "../fakes/certificates.h"
#include "../fakes/scripted_broker.h"
#include "link/link.h"

#define LINKED_KEPT    4096
#define LINKED_FILTERS 8
#define LINKED_MS      10000 /* more than any of it takes */

/* One delivery, copied; text is cut. */
struct linked_delivery {
	char topic[64], payload[64], content_type[64], correlation[64];
	char user[128]; /* "name=value;..." in order */
	bool has_content_type, has_correlation, has_payload;
	bool oversize, retain;
	int qos;
	uint64_t payload_bytes;
	struct hash_key content;
};

struct linked {
	struct broker_config bc;
	struct link_address addr;
	struct link_events events;
	struct broker_options options;
	struct certificates certs;
	struct scripted_broker *broker;
	struct link *link;
	struct err_detail why;
	unsigned receive_maximum;
	int64_t max_payload;

	struct linked_delivery got[LINKED_KEPT];
	unsigned got_len;
	int suback[LINKED_FILTERS]; /* -1: none yet */
	unsigned subacks, connects;
};

/* A broker on @t (TLS with @spec, may be NULL) and a configuration for it. */
struct linked *linked_new(enum transport t, enum protocol p,
			  const struct cert_spec *spec);
void linked_free(struct linked *k);

MUST_CHECK enum err linked_open(struct linked *k);
/* Opens, waits for CONNACK, subscribes to "#" and waits for SUBACK. */
void linked_subscribed(struct linked *k);

/* One turn of the loop: read, flush, tick; waits at most @wait_ms. */
MUST_CHECK enum err linked_turn(struct linked *k, int wait_ms);
/* The same without the flush: everything stays owed. */
MUST_CHECK enum err linked_read(struct linked *k, int wait_ms);

/* Turns until @n deliveries have come, the state is met or the link fails. */
bool linked_until_got(struct linked *k, unsigned n);
bool linked_until_state(struct linked *k, enum link_state s);
bool linked_until_counted(struct linked *k, enum broker_count what, uint64_t n);

#endif
