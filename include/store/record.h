/* What the store knows of an event: the question asked before any attempt. */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/lifecycle.h"

struct store;

enum record_kind {
	RECORD_NONE,		/* new */
	RECORD_SAME,		/* this very event, at record.place */
	RECORD_OTHER,		/* its id says something else: a conflict */
};

struct record {
	enum record_kind kind;
	enum place place;	/* of RECORD_SAME */
	int64_t letter_id;	/* of RECORD_SAME in a letter; else 0 */
};

struct record_query {
	const struct hash_key *key;
	uint64_t fingerprint;
	int64_t recipe;		/* records of another are the same, uncompared */
	int64_t now_ms;		/* store clock */
	int64_t ttl_ms;
};

/* Letter, pending, marker: in this order. */
MUST_CHECK enum err record_find(struct store *st, const struct record_query *q,
				struct record *ret_r);

#endif
