/* From the wire to the flash: every event is at its place before its PUBACK. */
#ifndef FLOW_INGEST_H
#define FLOW_INGEST_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "core/config.h"
#include "flow/batch.h"
#include "flow/group.h"
#include "link/link.h"
#include "store/store.h"

/* Topics that matched no group and were told of. */
#define INGEST_UNMATCHED	64

struct ingest {
	struct link *link;	/* NULL while there is none; ingest_fini() frees */
	struct batch batch;
	const struct limits_config *limits;	/* kept */
	const char *client_id;			/* kept */
	unsigned window;	/* deliveries in flight to ask for */

	/* of the turn */
	struct arena arena;
	struct work *work;
	unsigned work_size;
	bool overflow;		/* a delivery could not be kept */
	uint64_t deliveries;	/* since start */
	bool careful;		/* the last owner died: of the first window of
				   deliveries one may have killed it */

	uint64_t unmatched_hash[INGEST_UNMATCHED];
	unsigned unmatched_len;
};

struct ingest_options {			/* all kept */
	struct store *store;
	struct group *groups;
	unsigned groups_len;
	struct counters *ungrouped;
	const struct limits_config *limits;
	const char *client_id;
};

void ingest_init(struct ingest *in, const struct ingest_options *o);
void ingest_fini(struct ingest *in);	/* cuts the connection */

/* Takes one delivery into the turn under way. */
void ingest_deliver(struct ingest *in, const struct event *ev);

/* A turn may last this long; what was read and not run by then waits. */
#define INGEST_TURN_MS	2000

/*
 * One turn.  ERR_BUSY: the store is locked by someone, nothing was read.
 * Any other error of the store has cut the connection with nothing
 * acknowledged.  ERR_LINK: the connection ended, what came before is kept.
 */
MUST_CHECK enum err ingest_turn(struct ingest *in, int64_t boot_ms);

/* Why no event may be taken now. */
enum ingest_block {
	INGEST_OPEN,
	INGEST_NO_SPACE,
	INGEST_PENDING_FULL,
	INGEST_DEAD_FULL,	/* open letters, with max_dead = N stop */
};

/* *ret_group is the group at its limit, with INGEST_PENDING and _DEAD_FULL. */
MUST_CHECK enum err ingest_look(struct ingest *in, enum ingest_block *ret_why,
				const struct group **ret_group);

#endif
