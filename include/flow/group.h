/* A consumer group at work. */
#ifndef FLOW_GROUP_H
#define FLOW_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/config.h"
#include "core/handler.h"
#include "store/counter.h"
#include "store/group.h"

/* What a batch changes; becomes true when it is committed. */
struct group_change {
	struct counters counters;
	int64_t pending_rows, pending_bytes;
	int64_t open_letters, kept_letters, thinned;
	struct breaker breaker;		/* as it would be */
	/* For the log: the latest event that waits or died, and why. */
	int64_t waits, wait_ms;
	struct error_type last_type;
};

struct group {
	const struct group_config *config;	/* kept */
	struct group_record record;
	struct handler handler;

	struct counters unsaved;	/* happened, not in the store yet */
	int64_t pending_rows, pending_bytes;
	int64_t open_letters;		/* all that are open */
	int64_t kept_letters;		/* those of them with their payload */
	struct group_change change;	/* of the transaction under way */

	/* Of the retries: when the next is due (group time), the last probe. */
	int64_t next_due_ms;		/* INT64_MAX: nothing waits */
	int64_t probed_due_ms, probed_id;
};

/* One line per batch for what waits, one for what died. */
void group_log_change(const struct group *g);

/* Whether the event's topic is one the group asked for. */
bool group_wants(const struct group *g, struct span topic);

#endif
