/* Topic filters the broker was asked for, so that old ones can be taken back. */
#ifndef STORE_FILTER_H
#define STORE_FILTER_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"

struct store;

struct filter_owner {
	const char *broker;	/* its url */
	const char *client_id;
};

/* Each is part of a transaction. */
MUST_CHECK enum err filter_put(struct store *st, const struct filter_owner *o,
			       const char *filter, int64_t wall_ms);
MUST_CHECK enum err filter_drop(struct store *st, const struct filter_owner *o,
				const char *filter);

typedef enum err filter_row_fn(void *arg, struct span filter);

MUST_CHECK enum err filter_list(struct store *st, const struct filter_owner *o,
				filter_row_fn *row, void *arg);

#endif
