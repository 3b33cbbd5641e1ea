/* The history of attempts: types and times, never data. */
#ifndef STORE_ATTEMPT_H
#define STORE_ATTEMPT_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/outcome.h"

struct store;

struct attempt_record {
	struct hash_key key;	/* with fingerprint: the event */
	uint64_t fingerprint;
	unsigned n;		/* from 1; the highest is the exact count */
	int64_t started_ms;	/* store clock */
	int64_t started_wall_ms;
	int64_t took_ms;
	enum outcome outcome;
	struct error_type type;
};

#define ATTEMPT_KEEP_FIRST	3
#define ATTEMPT_KEEP_LAST	17

/* Keeps the first 3 and the last 17 of an event. */
MUST_CHECK enum err attempt_put(struct store *st,
				const struct attempt_record *a);

/* Nobody will ask for the event's history again. */
MUST_CHECK enum err attempt_drop(struct store *st, const struct hash_key *key,
				 uint64_t fingerprint);

/*
 * Removes the histories of up to @max_events that were done before
 * @before_ms; those of pending events and of letters stay.  *ret_n rows went.
 */
MUST_CHECK enum err attempt_sweep(struct store *st, int64_t before_ms,
				  unsigned max_events, unsigned *ret_n);

typedef enum err attempt_row_fn(void *arg, const struct attempt_record *a);

/* In order of n. */
MUST_CHECK enum err attempt_list(struct store *st, const struct hash_key *key,
				 uint64_t fingerprint, attempt_row_fn *row,
				 void *arg);

/* Attempts that attempt_sweep() would find ended before @before_ms. */
MUST_CHECK enum err attempt_count_old(struct store *st, int64_t before_ms,
				      int64_t *ret_n);

#endif
