/*
 * A tap between the machine's mqonce and the broker: it passes on every byte,
 * and remembers which events mqonce has acknowledged.  Events are numbered,
 * their payload is TAP_PAYLOAD; of QoS 1 only.
 */
#ifndef TESTS_POWER_TAP_H
#define TESTS_POWER_TAP_H

#include <stdbool.h>
#include <stdint.h>

#define TAP_PAYLOAD    "{\"n\":%u}"
#define TAP_EVENTS_MAX 1000000

struct tap;

/* Leads to @broker, a port of the loopback; its thread ends with the program.
 */
struct tap *tap_start(int broker);
int tap_port(const struct tap *t);

/* Whether the connection of now has a subscription. */
bool tap_is_subscribed(struct tap *t);

/* Its client has ended: waits until the last byte it sent has been read. */
void tap_await_end(struct tap *t);

/* Whether the event has been acknowledged; how many have; PUBACKs in all. */
bool tap_has(struct tap *t, unsigned event);
unsigned tap_count(struct tap *t);
unsigned tap_pubacks(struct tap *t);

#endif
