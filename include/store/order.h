/* The last value of each order key: what a stale event is measured against. */
#ifndef STORE_ORDER_H
#define STORE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "core/order.h"

struct store;

/* Whether an event of the same key that is strictly newer was handled. */
MUST_CHECK enum err order_is_stale(struct store *st, const struct order *o,
				   bool *ret_stale);

/*
 * Its event is handled: part of the event's savepoint.  ERR_GONE when the key
 * has a newer value.
 */
MUST_CHECK enum err order_put(struct store *st, int64_t group_no,
			      const struct order *o, int64_t now_ms);

/*
 * Looks at the next @max_rows keys behind *@cursor, which moves on and begins
 * anew behind the last, and removes those that were written before @before_ms
 * and belong to no pending event and to no letter that is open or replayed.
 */
MUST_CHECK enum err order_sweep(struct store *st, struct hash_key *cursor,
				int64_t before_ms, unsigned max_rows,
				unsigned *ret_n);

#endif
