/*
 * Who an event is: evaluates a group's selectors.  Pure; reads the event and
 * nothing else.
 */
#ifndef CORE_IDENTITY_H
#define CORE_IDENTITY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "core/event.h"
#include "core/outcome.h"

struct group_config;

#define EVENT_ID_MAX 255 /* bytes of UTF-8 */

struct identity {
	/*
	 * What kept the event from being identified or decoded:
	 * "identity.missing", "identity.invalid" (too long, not UTF-8, holds
	 * U+0000), "tenant.missing", "tenant.invalid", "json.malformed",
	 * "text.malformed", "payload.oversize".  Empty if nothing did.
	 * An event can have an id and still be poison.
	 */
	struct error_type poison;
	struct span tenant;   /* empty if the group has none */
	struct span event_id; /* absent if there is none */
	struct hash_key key;  /* of (group, tenant, event id), else of
				 (group, content) */
	uint64_t fingerprint; /* 0 with `fingerprint = none` */
};

/* 1 to EVENT_ID_MAX bytes of UTF-8 without U+0000. */
bool identity_name_valid(struct span s);

/*
 * The key of an event that has an id; @tenant is empty if the group has none.
 */
struct hash_key identity_key(int64_t group_no, uint64_t seed,
			     struct span tenant, struct span event_id);

/*
 * @group_no and @seed are the store's.  Spans of *ret_id lie in @ev or in
 * @scratch.  False when @scratch is full.
 */
MUST_CHECK bool identity_of(const struct group_config *g, int64_t group_no,
			    uint64_t seed, const struct event *ev,
			    struct arena *scratch, struct identity *ret_id);

#endif
