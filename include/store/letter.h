/*
 * Dead letters: events given up on, kept until an operator decides.  The
 * letter is the dead marker: one per (group, tenant, event id, fingerprint).
 */
#ifndef STORE_LETTER_H
#define STORE_LETTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "core/event.h"
#include "core/identity.h"
#include "core/lifecycle.h"

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
};

/*
 * Buries: writes the letter, or opens the one it has become again.  Part of
 * the transaction that takes the event away from where it was.
 */
MUST_CHECK enum err letter_put(struct store *st, const struct letter *l);

/* The open letters of a group, and how many have their payload: at start. */
MUST_CHECK enum err letter_totals(struct store *st, int64_t group_no,
				  int64_t *ret_open, int64_t *ret_kept);

/*
 * Drops the payloads of up to @max open letters, longest dead first; their rows
 * stay.  *ret_n letters lost theirs.
 */
MUST_CHECK enum err letter_thin(struct store *st, int64_t group_no,
				unsigned max, unsigned *ret_n);

/* One more copy of it came. */
MUST_CHECK enum err letter_count_copy(struct store *st, int64_t id);

typedef enum err letter_row_fn(void *arg, const struct letter *l);

/*
 * Pages through the letters, newest first, from below @before_id (INT64_MAX:
 * from the newest): at most @max rows, payloads not loaded.
 */
MUST_CHECK enum err letter_list(struct store *st, int64_t before_id,
				unsigned max, letter_row_fn *row, void *arg);

/* One letter with everything; ERR_NO if there is none of that id. */
MUST_CHECK enum err letter_show(struct store *st, int64_t id,
				letter_row_fn *row, void *arg);

#endif
