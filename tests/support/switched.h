/*
 * A gateway whose handler buries what is marked bad, until an event "mend"
 * turns its switch.
 */
#ifndef TESTS_SWITCHED_H
#define TESTS_SWITCHED_H

#include "gateway.h"

/* With broker and daemon, both up; group g at t/#.  gateway_free() ends it. */
struct gateway *switched_new(void);

/* Letters of the events b0, b1, ...; 2,000 at most. */
void switched_bury(struct gateway *g, int n);
void switched_mend(struct gateway *g);

#endif
