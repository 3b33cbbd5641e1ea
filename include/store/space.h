/*
 * Room in the store: the page budget (max_size), the reserve below which no
 * event is taken, the ballast that is given up when the disk itself is full,
 * and checkpoints.
 */
#ifndef STORE_SPACE_H
#define STORE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"

struct store;

/* Bytes that can still be written before the page budget is spent. */
MUST_CHECK enum err space_headroom(struct store *st, int64_t *ret_bytes);

/* Below this headroom ingest stays away: a sixteenth of max_size, 1 MiB at least. */
int64_t space_reserve(const struct store *st);

/* Whether the disk takes a small synced write of ours right now. */
bool space_disk_takes(struct store *st);

/* The file that is given up for maintenance when the disk is full. */
bool space_ballast_put(struct store *st);	/* true: it is there now */
bool space_ballast_drop(struct store *st);	/* true: there was one */

/*
 * Moves frames from the WAL into the file when there are @min_frames of them:
 * passive, or waiting for the WAL to start anew above the RESTART threshold.
 * Between transactions only.  A reader in the way is not an error.
 */
#define SPACE_CHECKPOINT_FRAMES	1000
#define SPACE_RESTART_FRAMES	4000
MUST_CHECK enum err space_checkpoint(struct store *st, int min_frames);

#endif
