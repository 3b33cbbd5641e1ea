/*
 * Markers: the durable record that an event was processed.
 *
 * They live in four generations, one written, up to three only read; that is
 * hidden here.  A marker vouches for its event for the ttl given at look-up.
 */
#ifndef STORE_MARKER_H
#define STORE_MARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/lifecycle.h"

struct store;

/* MARKER_DEAD + enum dead_kind: dead without a letter. */
enum marker_state { MARKER_DONE, MARKER_SUPERSEDED, MARKER_DEAD };

struct marker {
	int state;		/* enum marker_state, plus a dead kind */
	uint64_t fingerprint;
	int64_t recipe;
	int64_t at_s;		/* store clock, rounded up */
};

/* The newest marker of @key that is younger than @ttl_ms at @now_ms. */
MUST_CHECK enum err marker_find(struct store *st, const struct hash_key *key,
				int64_t now_ms, int64_t ttl_ms,
				struct marker *ret_m, bool *ret_found);

/*
 * Writes one that did not exist or is older than @ttl_ms; else ERR_GONE.
 * *ret_more: how many more rows there are, 1 or 0.
 */
MUST_CHECK enum err marker_put(struct store *st, const struct hash_key *key,
			       const struct marker *m, int64_t now_ms,
			       int64_t ttl_ms, int64_t *ret_more);

typedef enum err marker_row_fn(void *arg, int generation,
			       const struct marker *m);

/* Every copy there is, expired or not, newest generation first. */
MUST_CHECK enum err marker_list(struct store *st, const struct hash_key *key,
				marker_row_fn *row, void *arg);

/* Removes the key from all generations; part of a transaction. */
MUST_CHECK enum err marker_forget(struct store *st, const struct hash_key *key,
				  unsigned *ret_n);

/*
 * Closes the active generation and opens the next when it has been open for a
 * third of @longest_ttl_ms and the oldest is empty.  A transaction of its own.
 */
MUST_CHECK enum err marker_rotate(struct store *st, int64_t now_ms,
				  int64_t longest_ttl_ms, bool *ret_rotated);

/* A slice ends after this long, however few rows it took. */
#define MARKER_SLICE_MS	20

/*
 * Removes up to @max_rows markers of a generation in which every marker has
 * passed @longest_ttl_ms, and counts them out.  A transaction of its own;
 * *ret_n rows went, *ret_more: others are left.
 */
MUST_CHECK enum err marker_drain(struct store *st, int64_t now_ms,
				 int64_t longest_ttl_ms, unsigned max_rows,
				 unsigned *ret_n, bool *ret_more);

typedef enum err marker_count_fn(void *arg, int generation, int64_t rows);

/* The generations that marker_drain() would drain.  Counts all their rows. */
MUST_CHECK enum err marker_expired(struct store *st, int64_t now_ms,
				   int64_t longest_ttl_ms,
				   marker_count_fn *row, void *arg);

#endif
