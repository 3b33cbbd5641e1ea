/*
 * The life of an event.
 *
 *   delivery -> identify --(no id, undecodable)------------> dead (poison)
 *                  |
 *                  +-- letter, same fingerprint ------> suppressed, counted
 *                  +-- marker or pending, same -------> suppressed
 *                  +-- any record, other fingerprint -> dead (conflict)
 *                  +-- new -> attempt
 *                               | ok ---------> effect + marker done
 *                               | transient --> pending, due after backoff
 *                               | permanent --> dead (permanent)
 *                               | poison -----> dead (poison)
 *   pending --due-> attempt; out of attempts or window -> dead (exhausted)
 *
 * Every acknowledged event is in exactly one of done, pending, dead.
 */
#ifndef CORE_LIFECYCLE_H
#define CORE_LIFECYCLE_H

#include <stdbool.h>

/* Where an event is. */
enum place {
	PLACE_NEW, /* nowhere yet: not acknowledged */
	PLACE_PENDING,
	PLACE_DONE,
	PLACE_DEAD,
	PLACE_COUNT
};

/* Why an event was given up on. */
enum dead_kind {
	DEAD_PERMANENT,
	DEAD_POISON,
	DEAD_CONFLICT,
	DEAD_EXHAUSTED,
	DEAD_CRASH_LOOP,
	DEAD_KIND_COUNT
};

const char *place_text(enum place p);
const char *dead_kind_text(enum dead_kind k);

/* The one table of allowed moves. */
bool lifecycle_allows(enum place from, enum place to);

#endif
