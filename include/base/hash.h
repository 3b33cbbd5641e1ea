/*
 * Seeded hashes (XXH3).  The seed is drawn once per store, so that nobody who
 * does not hold the file can choose ids that collide.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

#include "base/span.h"

#define HASH_KEY_BYTES 16

/* Names one event in one scope; big-endian, so that it sorts as written. */
struct hash_key {
	uint8_t bytes[HASH_KEY_BYTES];
};

/*
 * A hash over several parts.  Every part goes in with its length before it:
 * ("ab","c") and ("a","bc") differ, and an absent part differs from an empty
 * one.
 */
struct hash {
	void *state; /* one per process; uses do not nest */
};

struct hash hash_start(uint64_t seed);
void hash_add(struct hash h, struct span part);
void hash_add_int(struct hash h, uint64_t v);
uint64_t hash_end64(struct hash h);
struct hash_key hash_end128(struct hash h);

#endif
