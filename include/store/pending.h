/* Events that are acknowledged and wait for their next attempt. */
#ifndef STORE_PENDING_H
#define STORE_PENDING_H

#include <stdbool.h>
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
	unsigned runs;		/* all of them: the last number in its history */
	unsigned crashes;	/* owners that died while it ran */
	bool untouched;		/* by this ownership; put: run it alone first */
	int64_t window_start_ms;	/* when its first attempt was; group time */
	int64_t due_ms;		/* group time */
	struct span order_key;	/* put: bytes of a hash; absent if none */
	struct error_type first_type, last_type;	/* empty: none */
	int64_t letter_id, job_id;	/* of a replay; else 0 */
};

/* The row of a new event.  Sets @p->id. */
MUST_CHECK enum err pending_put(struct store *st, struct pending *p);

/*
 * It was run: not before @p->due_ms again, with attempts, runs, window and
 * types of @p.  ERR_GONE unless this is the run after the last one.
 */
MUST_CHECK enum err pending_wait(struct store *st, const struct pending *p);

/* Due earlier, without a run; ERR_GONE if it would be later. */
MUST_CHECK enum err pending_advance(struct store *st, int64_t id,
				    int64_t due_ms);

/* It ended: done or dead, in this transaction. */
MUST_CHECK enum err pending_drop(struct store *st, int64_t id);

/*
 * Loads up to @max rows of a group that are due at @now_ms of its time, longest
 * due first; spans lie in @a.  Stops early when @a is full.
 */
MUST_CHECK enum err pending_due(struct store *st, int64_t group_no,
				int64_t now_ms, unsigned max, struct arena *a,
				struct pending *rows, unsigned *ret_n);

/*
 * The row of a group behind (@due_ms, @id), due or not; behind the last comes
 * the first.  ERR_NO if none waits.
 */
MUST_CHECK enum err pending_after(struct store *st, int64_t group_no,
				  int64_t due_ms, int64_t id, struct arena *a,
				  struct pending *ret_p);

/* The whole row; ERR_NO without one. */
MUST_CHECK enum err pending_load(struct store *st, int64_t id, struct arena *a,
				 struct pending *ret_p);

/*
 * The next @max rows behind @id, of all groups, in order of their ids: only
 * numbers and the key, no spans.
 */
MUST_CHECK enum err pending_scan(struct store *st, int64_t id, unsigned max,
				 struct pending *rows, unsigned *ret_n);

/* When a group's next row is due, in group time; INT64_MAX if none waits. */
MUST_CHECK enum err pending_next_due(struct store *st, int64_t group_no,
				     int64_t *ret_ms);

/*
 * This ownership is about to run the row alone: committed before it starts.
 * ERR_GONE while another's claim stands.
 */
MUST_CHECK enum err pending_claim(struct store *st, int64_t id);

/*
 * Ends all claims, at a start: they are another ownership's.  With @died each
 * has cost a crash.
 */
MUST_CHECK enum err pending_release(struct store *st, bool died);

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

/*
 * What a group's rows amount to, without the few of replays, which no limit
 * counts.  Counts them: at start only.
 */
MUST_CHECK enum err pending_totals(struct store *st, int64_t group_no,
				   int64_t *ret_rows, int64_t *ret_bytes);

#endif
