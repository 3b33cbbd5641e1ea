/* Events that are acknowledged and wait for their next attempt. */
#ifndef STORE_PENDING_H
#define STORE_PENDING_H

#include <stdint.h>

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "core/event.h"
#include "core/identity.h"

struct store;

struct pending {
	int64_t id;		/* 0: not stored yet */
	int64_t group_no;
	int64_t recipe;
	struct identity who;
	struct event event;
	unsigned attempts;	/* counted ones so far */
	unsigned crashes;
	int64_t window_ms;	/* when its first attempt was; store clock */
	int64_t due_ms;		/* store clock */
	struct error_type first_type, last_type;	/* empty: none */
	int64_t letter_id, job_id;	/* of a replay; else 0 */
};

/* The row of a new event.  Sets @p->id. */
MUST_CHECK enum err pending_put(struct store *st, struct pending *p);

/* Not before @p->due_ms again, with attempts, window and types of @p. */
MUST_CHECK enum err pending_wait(struct store *st, const struct pending *p);

/* It ended: done or dead, in this transaction. */
MUST_CHECK enum err pending_drop(struct store *st, int64_t id);

/*
 * Loads up to @max rows that are due at @now_ms, longest due first; spans lie
 * in @a.  Stops early when @a is full.
 */
MUST_CHECK enum err pending_due(struct store *st, int64_t now_ms, unsigned max,
				struct arena *a, struct pending *rows,
				unsigned *ret_n);

struct pending_line {		/* for listings: no payload */
	int64_t id;
	struct span group, tenant, event_id, topic, last_type;
	int64_t payload_bytes, attempts, due_ms, received_wall_ms;
};

typedef enum err pending_line_fn(void *arg, const struct pending_line *l);

/* Rows above @after_id, of one group or (0) of all; @max at most. */
MUST_CHECK enum err pending_list(struct store *st, int64_t after_id,
				 int64_t group_no, unsigned max,
				 pending_line_fn *row, void *arg);

/* Those of one key. */
MUST_CHECK enum err pending_of_key(struct store *st, const struct hash_key *key,
				   pending_line_fn *row, void *arg);

/*
 * Due at once, in order of id from above *after_id, @max at most; of one group
 * or (0) of all.  *after_id moves on, 0 when there are no more.  Part of a
 * transaction.
 */
MUST_CHECK enum err pending_hurry(struct store *st, int64_t group_no,
				  unsigned max, int64_t *after_id,
				  unsigned *ret_n);

/* When the next row is due; INT64_MAX if none waits. */
MUST_CHECK enum err pending_next_due(struct store *st, int64_t *ret_ms);

/* What a group's rows amount to.  Counts them: at start only. */
MUST_CHECK enum err pending_totals(struct store *st, int64_t group_no,
				   int64_t *ret_rows, int64_t *ret_bytes);

#endif
