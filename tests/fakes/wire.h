/*
 * A wire between a client and a broker, on a port of the loopback and in a
 * thread of its own.  It passes on what comes, until it is cut after a byte,
 * slowed down, or held: then nothing moves and nobody is told.
 *
 * All functions may be called from any thread.
 */
#ifndef TESTS_WIRE_H
#define TESTS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

struct wire;

/* Whose bytes. */
enum wire_side { WIRE_CLIENT, WIRE_BROKER };

/* How both sides learn of a cut. */
enum wire_end { WIRE_RST, WIRE_FIN };

/*
 * Leads to @port of the loopback.  With @narrow its client finds little room:
 * some kilobytes that nobody takes fill the connection.
 */
struct wire *wire_start(uint16_t port, bool narrow);
void wire_stop(struct wire *w); /* safe on NULL */
uint16_t wire_port(const struct wire *w);

/* Where connections to come lead to. */
void wire_lead_to(struct wire *w, uint16_t port);

/* The next connection ends once @n bytes of @side have passed. */
void wire_cut(struct wire *w, enum wire_side side, uint64_t n,
	      enum wire_end how);
/* Whether that has come to pass. */
bool wire_was_cut(struct wire *w);

/* A byte of each side in @ms; 0: as fast as it goes. */
void wire_slow(struct wire *w, int ms);

/* What @side sends stays where it is, its end too. */
void wire_hold(struct wire *w, enum wire_side side, bool yes);

/* Bytes that have passed on the latest connection. */
uint64_t wire_passed(struct wire *w, enum wire_side side);

/* Connections, over all. */
unsigned wire_connections(struct wire *w);

#endif
