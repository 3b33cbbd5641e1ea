/*
 * Memory that lives for one turn: handed out piece by piece, taken back as a
 * whole.  It grows by chunks up to a limit and keeps its first chunk, so that
 * the steady state allocates nothing.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/defs.h"
#include "base/span.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *first, *last;
	size_t chunk_bytes; /* size of the chunk that is kept */
	size_t max_bytes;   /* limit over all chunks */
	size_t used_bytes;  /* handed out since the last reset */
};

/* Allocates nothing yet. */
void arena_init(struct arena *a, size_t chunk_bytes, size_t max_bytes);
void arena_fini(struct arena *a);

/* Takes everything back; releases all chunks but the first. */
void arena_reset(struct arena *a);

/* Aligned for any type; NULL when the limit or the memory is at its end. */
MUST_CHECK void *arena_take(struct arena *a, size_t bytes);

/*
 * Copies @s with a NUL behind it.  An absent span stays absent and succeeds;
 * false when there is no room, with *ret_copy untouched.
 */
MUST_CHECK bool arena_copy(struct arena *a, struct span s,
			   struct span *ret_copy);

#endif
