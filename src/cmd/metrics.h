/* Rows of `status` as metrics, in the text format of Prometheus. */
#ifndef CMD_METRICS_H
#define CMD_METRICS_H

#include "base/json.h"
#include "core/config.h"
#include "core/lifecycle.h"

struct metrics {
	char *group[CONFIG_GROUPS];	/* copies of the rows */
	unsigned groups_len;
	int64_t open[DEAD_KIND_COUNT], oldest_ms[DEAD_KIND_COUNT];
	int64_t unmatched, sessions_lost, store_bytes, wal_bytes;
	bool connected;
};

/* Takes a row; false when there is no memory for it. */
bool metrics_add(struct metrics *m, struct json_value row);

/* Prints all that were added, each name together, zeros too. */
void metrics_print(const struct metrics *m);
void metrics_fini(struct metrics *m);

#endif
