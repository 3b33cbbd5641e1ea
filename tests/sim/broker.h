/*
 * The broker in memory, and the connection to it: defines link_*().  It keeps
 * the session, delivers again what was not acknowledged, and remembers what
 * was.
 */
#ifndef TESTS_SIM_BROKER_H
#define TESTS_SIM_BROKER_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

struct broker_counts {
	uint64_t published, delivered, redelivered, acked, lost;
};

/* Forgets everything; @w is kept. */
void broker_init(struct world *w);

/* False: nobody is subscribed, it goes nowhere. */
bool broker_publish(unsigned e);

/* The connection ends within the next read or flush. */
void broker_drop(void);

/* Everything of the session is gone but what was acknowledged. */
void broker_lose_session(void);

/* Whether a read would bring something. */
bool broker_is_readable(void);

/* What is not acknowledged yet. */
unsigned broker_waiting(void);

/* From now on it behaves: no drops, no copies of its own. */
void broker_calm(void);

const struct broker_counts *broker_counts(void);

#endif
