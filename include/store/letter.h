/*
 * Dead letters: events given up on, kept until an operator decides.  The
 * letter is the dead marker: one per (group, tenant, event id, fingerprint).
 */
#ifndef STORE_LETTER_H
#define STORE_LETTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/defs.h"
#include "base/err.h"
#include "core/event.h"
#include "core/identity.h"
#include "core/lifecycle.h"

struct arena;
struct store;

struct letter {
	int64_t id;
	int64_t group_no;
	int64_t recipe;
	struct span group;		/* name; when listed */
	struct identity who;
	struct event event;
	enum dead_kind kind;
	struct error_type first_type, last_type;
	unsigned attempts;
	int64_t redeliveries;
	struct span state;		/* when listed */
	int64_t first_seen_ms, dead_ms;	/* store clock */
	int64_t first_seen_wall_ms, dead_wall_ms;
	bool dead_sync;			/* was the wall clock synchronised */
	struct span properties_text;	/* JSON; when listed */
	struct span order_key;		/* put: bytes of a hash; or absent */
	int64_t replays;		/* when listed */
	struct span pulled_as;		/* when listed; absent: not pulled */
};

/*
 * Buries: writes the letter, or opens the one it has become again.  Part of
 * the transaction that takes the event away from where it was.
 */
MUST_CHECK enum err letter_put(struct store *st, const struct letter *l);

/*
 * The open letters of a group and, with @thin, how many have their payload
 * (else 0): counts them.
 */
MUST_CHECK enum err letter_totals(struct store *st, int64_t group_no, bool thin,
				  int64_t *ret_open, int64_t *ret_kept);

/*
 * Whether letters were moved, by operators or replays, since this was asked:
 * what letter_totals() said no longer holds.
 */
bool letter_were_moved(struct store *st);

/*
 * Drops the payloads of up to @max open letters, longest dead first; their rows
 * stay.  *ret_n letters lost theirs.
 */
MUST_CHECK enum err letter_thin(struct store *st, int64_t group_no,
				unsigned max, unsigned *ret_n);

/* One more copy of it came. */
MUST_CHECK enum err letter_count_copy(struct store *st, int64_t id);

typedef enum err letter_row_fn(void *arg, const struct letter *l);

/* Which letters; what is 0 or absent does not matter. */
struct letter_filter {
	int64_t id;
	int64_t group_no;
	struct span tenant, kind, type, state, event_id;
	int64_t since_wall_ms, until_wall_ms;	/* of dying */
};

/* Letters that one call looks at, however few of them match. */
#define LETTER_WINDOW	20000

/*
 * Pages through the letters, newest first, from below *before_id (INT64_MAX:
 * from the newest): at most @max rows, payloads not loaded.  *before_id moves
 * on; it is 0 when there are no more.  @row may end the page with ERR_NO: its
 * row was not taken and comes again.
 */
MUST_CHECK enum err letter_list(struct store *st, const struct letter_filter *f,
				int64_t *before_id, unsigned max,
				letter_row_fn *row, void *arg);

/* How many letters there are of each sort. */
struct letter_count {
	struct span group, kind, type, state;
	int64_t n;
	int64_t oldest_wall_ms, newest_wall_ms;
};

typedef enum err letter_count_fn(void *arg, const struct letter_count *c);

/* Like letter_list(), but counts in a window of it: sum up the same sorts. */
MUST_CHECK enum err letter_summary(struct store *st,
				   const struct letter_filter *f,
				   int64_t *before_id, letter_count_fn *row,
				   void *arg);

/*
 * How many letters of the kind are open, LETTER_OPEN_MAX at most, and since
 * when the oldest is, by the store clock.
 */
#define LETTER_OPEN_MAX	100000
MUST_CHECK enum err letter_open(struct store *st, enum dead_kind kind,
				int64_t *ret_n, int64_t *ret_oldest_ms);

#define LETTER_NOBODY	((uid_t)-1)	/* a replay, not an operator */

/*
 * From one state to another, on behalf of @uid; part of a transaction.
 * ERR_GONE unless it is in @from.
 */
MUST_CHECK enum err letter_move(struct store *st, int64_t id, const char *from,
				const char *to, int64_t now_ms, uid_t uid);

/*
 * From open to discarded; a job in which it waits goes on without it.  ERR_GONE
 * if it is not open.  Part of a transaction.
 */
MUST_CHECK enum err letter_discard(struct store *st, int64_t id, int64_t now_ms,
				   uid_t uid);

/*
 * It was copied to the file @as, complete and synced: from open to discarded,
 * and it says so.  Part of a transaction.
 */
MUST_CHECK enum err letter_pulled(struct store *st, int64_t id, struct span as,
				  int64_t now_ms, uid_t uid);

/* What its latest replay came to; part of a transaction. */
MUST_CHECK enum err letter_note_replay(struct store *st, int64_t id,
				       const struct error_type *type,
				       unsigned attempts);

MUST_CHECK enum err letter_is_conflict(struct store *st, int64_t id,
				       bool *ret_v);

/*
 * Takes a discarded letter away for good, with its history; within the ttl of
 * its group a marker goes on suppressing.  Part of a transaction.
 */
MUST_CHECK enum err letter_purge(struct store *st, int64_t id, int64_t now_ms);

/*
 * Takes away resolved letters that were so before @before_ms, with their
 * history, longest ago first; @max at most.  Part of a transaction.
 */
MUST_CHECK enum err letter_sweep(struct store *st, int64_t before_ms,
				 unsigned max, unsigned *ret_n);

/* How many letter_sweep() would take in the end. */
MUST_CHECK enum err letter_count_old(struct store *st, int64_t before_ms,
				     int64_t *ret_n);

/*
 * Looks for one that is not resolved among the group's letters above
 * *after_id, a window of them at a time: *ret_id is its number, or 0.
 * *after_id is 0 when there are no more.
 */
MUST_CHECK enum err letter_unresolved(struct store *st, int64_t group_no,
				      int64_t *after_id, int64_t *ret_id);

/*
 * Takes away letters of the group, @max at most, with their history.  Part of
 * a transaction; ERR_GONE: one is not resolved.
 */
MUST_CHECK enum err letter_drop_of_group(struct store *st, int64_t group_no,
					 unsigned max, unsigned *ret_n);

/* One letter with everything; ERR_NO if there is none of that id. */
MUST_CHECK enum err letter_show(struct store *st, int64_t id,
				letter_row_fn *row, void *arg);

/* The same, and its user properties are read, into @a: all a handler sees. */
MUST_CHECK enum err letter_event(struct store *st, int64_t id, struct arena *a,
				 letter_row_fn *row, void *arg);

#endif
