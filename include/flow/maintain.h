/*
 * Housekeeping between batches: generations, histories, counters, checkpoints,
 * room.  Every step is bounded in rows and makes progress under load.
 */
#ifndef FLOW_MAINTAIN_H
#define FLOW_MAINTAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "flow/batch.h"
#include "store/store.h"

#define MAINTAIN_ROWS	2000	/* markers of one slice */
#define MAINTAIN_WAL_ALARM_BYTES	((int64_t)64 << 20)
#define MAINTAIN_EVENTS	100	/* whose histories go in one slice */

/* What one slice took away. */
struct swept {
	unsigned markers, attempts, letters;
	bool more;		/* there is more of something */
};

/*
 * Markers of an expired generation, histories of what came to a good end and
 * letters that are resolved, all older than the ttl: a bounded number of each,
 * in short transactions of their own.
 */
MUST_CHECK enum err maintain_slice(struct store *st, int64_t now_ms,
				   int64_t longest_ttl_ms,
				   struct swept *ret_n);

struct maintain {
	struct batch *batch;		/* kept; whose counters are saved */
	int64_t longest_ttl_ms;
	int64_t sweep_boot_ms, save_boot_ms, clock_boot_ms;	/* next time */
	int64_t first_boot_ms;		/* its first turn */
	int64_t last_event_boot_ms;	/* for idle checkpoints */
	uint64_t last_deliveries;
	bool wal_alarm;
	struct hash_key order_cursor;	/* of the walk over the order keys */
};

/* Reads the ttl of all groups; the first turn sweeps at once. */
MUST_CHECK enum err maintain_init(struct maintain *m, struct batch *b);

/* @deliveries since start tells whether the line is idle.  ERR_BUSY: later. */
MUST_CHECK enum err maintain_turn(struct maintain *m, uint64_t deliveries,
				  int64_t boot_ms);

#endif
