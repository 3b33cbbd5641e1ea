/* What operators did: who, when, what, how many; never what was in it. */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"

struct store;

/* Rows that are kept; the oldest go. */
#define AUDIT_ROWS	10000

struct audit_record {
	int64_t id;		/* when listed */
	int64_t at_ms, at_wall_ms;
	uid_t uid;
	struct span act, what;
	int64_t n;
};

/* Part of the transaction that does it. */
MUST_CHECK enum err audit_put(struct store *st, const struct audit_record *r);

typedef enum err audit_row_fn(void *arg, const struct audit_record *r);

/* Newest first, from below @before_id, @max rows at most. */
MUST_CHECK enum err audit_list(struct store *st, int64_t before_id,
			       unsigned max, audit_row_fn *row, void *arg);

#endif
