/*
 * The real program, a scripted broker and a wire between them: what tests of
 * hostile brokers and bad lines share.
 */
#ifndef TESTS_HOSTILE_H
#define TESTS_HOSTILE_H

#include "../fakes/certificates.h"
#include "../fakes/scripted_broker.h"
#include "../fakes/wire.h"
#include "gateway.h"

#define HOSTILE_MS	20000 /* more than any of it takes */
#define HOSTILE_EFFECTS "SELECT count(*) FROM effect"

struct hostile {
	bool tls;
	struct certificates certs;
	struct scripted_broker *b;
	struct wire *wire;
	struct gateway *g;
};

struct hostile_options {
	bool tls;
	bool narrow;		      /* see wire_start() */
	const struct cert_spec *spec; /* of the broker's certificate */
	const char *broker;	      /* more lines for [broker] */
	const char *groups;	      /* instead of one group on topic t */
	const char *url;	      /* instead of the wire's */
};

/*
 * Nothing runs yet but broker and wire; keepalive is 5 s, reconnect_max 1 s.
 * @o is borrowed.
 */
struct hostile *hostile_new(const struct hostile_options *o);
void hostile_free(struct hostile *h); /* safe on NULL */

/* With tests/fakes/preload/slow.c. */
void hostile_start_slow(struct hostile *h);

/* Starts the program and waits for its SUBSCRIBE. */
void hostile_up(struct hostile *h);

/* The events "@from" ... on topic t, and until each has had its effect. */
void hostile_publish(struct hostile *h, unsigned from, unsigned n);
void hostile_wait_effects(struct hostile *h, unsigned n);

/* CPU that the program has used, in milliseconds. */
long hostile_cpu_ms(struct hostile *h);
/* Memory of the program: now, and at most so far, in kB. */
long hostile_rss_kb(struct hostile *h);
long hostile_peak_kb(struct hostile *h);

/* `status` answers, and says @words. */
void hostile_status_says(struct hostile *h, const char *words);

#endif
