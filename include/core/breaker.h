/*
 * The breaker of a group: a cause that all events share must not exhaust them
 * one by one.
 *
 *   closed --5 transient failures in a row, of 3 events or more--> open
 *   open --any outcome that is not transient--> closed
 *
 * While it is open one event in 30 s is run as a probe, and group time stands
 * still: the store clock less the time the breaker was open.
 */
#ifndef CORE_BREAKER_H
#define CORE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/outcome.h"

#define BREAKER_FAILURES 5
#define BREAKER_EVENTS	 3
#define BREAKER_PROBE_MS 30000

/* All 0 is closed, and never was open. */
struct breaker {
	bool open;
	int64_t open_since_ms; /* store clock; while open */
	int64_t open_total_ms; /* of all openings that are over */
	int64_t probe_ms;      /* store clock: the next probe; while open */

	/* The failures in a row while closed, and the first events of them. */
	unsigned failures;
	unsigned events_len;
	struct hash_key events[BREAKER_EVENTS];
};

/* Takes one outcome of @event's handler at @now_ms of the store clock. */
void breaker_note(struct breaker *b, enum outcome outcome,
		  const struct hash_key *event, int64_t now_ms);

/* Group time at @now_ms of the store clock. */
int64_t breaker_group_ms(const struct breaker *b, int64_t now_ms);

#endif
