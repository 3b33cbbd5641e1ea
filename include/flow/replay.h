/*
 * Replays: letters of the running job become pending again, a few per turn and
 * no faster than the job's rate, and are run by the live handler.
 */
#ifndef FLOW_REPLAY_H
#define FLOW_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "flow/batch.h"

#define REPLAY_IN_FLIGHT	20	/* letters that are pending at a time */

struct replay {
	struct store *store;	/* kept */
	bool idle;		/* no job runs, as far as is known */
	int64_t next_boot_ms;	/* not before, for the rate */
};

void replay_init(struct replay *r, struct store *st);

/* A job was made or resumed: look again. */
void replay_wake(struct replay *r);

/* Not before @boot_ms: others want the time. */
void replay_defer(struct replay *r, int64_t boot_ms);

/*
 * Takes up what the rate allows.  *ret_started: something is due now.
 * ERR_BUSY: the store is locked by someone.
 */
MUST_CHECK enum err replay_turn(struct replay *r, int64_t boot_ms,
				bool *ret_started);

/* Milliseconds until replay_turn() has something to do; -1: it has not. */
int64_t replay_wait_ms(const struct replay *r, int64_t boot_ms);

#endif
