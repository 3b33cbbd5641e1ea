/*
 * The order guard: which of two events with one order key is the older.  Pure;
 * the last value of each key is the store's.
 */
#ifndef CORE_ORDER_H
#define CORE_ORDER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/defs.h"
#include "base/hash.h"
#include "core/event.h"
#include "core/outcome.h"

struct group_config;

#define ORDER_MAX 255 /* bytes of a key and of a value, UTF-8 */

struct order {
	struct span key, by;  /* absent without an order guard */
	struct hash_key hash; /* of (group, tenant, order key) */
	/*
	 * Why the event has no place in the order: "order.missing",
	 * "order.invalid" (too long, not UTF-8, holds U+0000).  Else empty.
	 */
	struct error_type poison;
};

/*
 * @group_no and @seed are the store's.  Spans of *ret_o lie in @ev or in
 * @scratch.  False when @scratch is full.
 */
MUST_CHECK bool order_of(const struct group_config *g, int64_t group_no,
			 uint64_t seed, struct span tenant,
			 const struct event *ev, struct arena *scratch,
			 struct order *ret_o);

/*
 * Below 0 when @a is older than @b, above when it is newer.  Two numbers (as
 * in JSON; leading zeros and a plus are fine) compare by value, exactly, at any
 * length, anything else byte by byte, as times in ISO 8601 and one zone want.
 * An exponent of more than 18 digits makes no number.
 */
int order_compare(struct span a, struct span b);

#endif
