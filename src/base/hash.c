#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* One thread, one hash at a time: the state needs no allocation. */
static XXH3_state_t shared_state;

struct hash hash_start(uint64_t seed)
{
	XXH3_128bits_reset_withSeed(&shared_state, seed);
	return (struct hash){ .state = &shared_state };
}

void hash_add_int(struct hash h, uint64_t v)
{
	uint8_t le[8];

	for (unsigned i = 0; i < 8; i++)
		le[i] = (uint8_t)(v >> 8 * i);
	XXH3_128bits_update(h.state, le, sizeof(le));
}

void hash_add(struct hash h, struct span part)
{
	hash_add_int(h, part.data ? part.len + 1 : 0);
	if (part.len)
		XXH3_128bits_update(h.state, part.data, part.len);
}

struct hash_key hash_end128(struct hash h)
{
	XXH128_hash_t v = XXH3_128bits_digest(h.state);
	XXH128_canonical_t c;
	struct hash_key key;

	XXH128_canonicalFromHash(&c, v);
	memcpy(key.bytes, c.digest, sizeof(key.bytes));
	return key;
}

uint64_t hash_end64(struct hash h)
{
	return XXH3_128bits_digest(h.state).low64;
}
