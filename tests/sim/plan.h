/* What one world is like: everything chance decides about it, from its seed. */
#ifndef TESTS_SIM_PLAN_H
#define TESTS_SIM_PLAN_H

#include <stdint.h>
#include <stdio.h>

#include "../support/seeded.h"

struct plan {
	uint64_t seed;
	unsigned steps; /* of the phase with faults */

	/* per cent of the steps, or of the deliveries */
	unsigned death;	   /* the machine or the process ends soon */
	unsigned cut;	   /* of the deaths: power, not the process */
	unsigned relapse;  /* of the starts after a death: it dies again */
	unsigned fault;	   /* an operation fails */
	unsigned command;  /* an operator does something */
	unsigned drop;	   /* the connection ends */
	unsigned loss;	   /* per mille of the steps: the session is lost */
	unsigned resend;   /* a delivery comes twice in one connection */
	unsigned shuffle;  /* the broker takes another message first */
	unsigned bad;	   /* events whose handler fails */
	unsigned copies;   /* publishes that are copies */
	unsigned clashes;  /* and those that reuse an id */
	unsigned outage;   /* starts with a handler that fails for a while */

	unsigned reach;	   /* operations within which a death comes */
	unsigned burst;	   /* events of one publish step */
	unsigned batch;	   /* [limits] batch */
	unsigned window;   /* deliveries in flight; more than batch: rude */
	unsigned linger_ms;
	bool lies; /* after a failed sync the page cache does */
};

void plan_make(struct plan *p, uint64_t seed, unsigned steps);

/* One line, for whoever wants to know what a seed stands for. */
void plan_print(const struct plan *p, FILE *out);

#endif
