/*
 * Replay jobs: a snapshot of letters, taken up one after the other by the
 * owner.  A letter is in one open job at most.
 */
#ifndef STORE_JOB_H
#define STORE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"

struct store;

struct job {
	int64_t id;
	struct span state;	/* running, stopped, done, cancelled */
	struct span what;	/* the filter in words */
	uid_t uid;		/* who asked */
	int64_t rate;		/* items a second; 0: no limit */
	int64_t stop_after;	/* failures that stop it; 0: none do */
	int64_t made_ms, made_wall_ms;
	int64_t waiting, running, done, failed, suppressed, cancelled;
};

/* How an item ended. */
enum job_result { JOB_DONE, JOB_FAILED, JOB_SUPPRESSED };

/* Each of these is part of a transaction. */

/*
 * A job without items, stopped: job_resume() when they are all in.  Spans of
 * @j need not outlive the call; *ret_id is the new job's number.
 */
MUST_CHECK enum err job_put(struct store *st, const struct job *j,
			    int64_t *ret_id);

/*
 * Adds a letter, with @payload in place of its own if that is not absent.
 * *ret_taken is false when it is in an open job already, is not open, has no
 * payload to run, or the job is not stopped any more.
 */
MUST_CHECK enum err job_add(struct store *st, int64_t job_id,
			    int64_t letter_id, struct span payload,
			    bool *ret_taken);

/* Whether the letter is in a job that is not over. */
MUST_CHECK enum err job_has(struct store *st, int64_t letter_id,
			    bool *ret_has);

/*
 * The letter leaves "open" for "replaying", the item starts, and a pending row
 * that refers to both is due at once.  The item of a letter that is no longer
 * open is cancelled.
 */
MUST_CHECK enum err job_start_item(struct store *st, int64_t job_id,
				   int64_t letter_id, int64_t now_ms);

/*
 * The item and its pending row end; the letter is resolved, or open again.
 * The job stops when its failures are as many as stop_after.
 */
MUST_CHECK enum err job_end_item(struct store *st, int64_t job_id,
				 int64_t letter_id, int64_t pending_id,
				 enum job_result how, int64_t now_ms);

/* From "running" or "stopped": what waits or runs is let go of. */
MUST_CHECK enum err job_cancel(struct store *st, int64_t job_id,
			       int64_t now_ms);

/* From "stopped" to "running"; failures so far no longer stop it. */
MUST_CHECK enum err job_resume(struct store *st, int64_t job_id);

/* A running job without waiting or running items is done. */
MUST_CHECK enum err job_finish(struct store *st, int64_t job_id,
			       int64_t now_ms, bool *ret_done);

/* Reading. */

/*
 * The oldest running job that can go on with @in_flight letters at a time, or
 * the oldest: id (0: there is none), rate, stop_after, failed and running; the
 * rest is not asked for.
 */
MUST_CHECK enum err job_current(struct store *st, unsigned in_flight,
				struct job *ret_j);

/* Letters of the job's items that wait, @max at most. */
MUST_CHECK enum err job_waiting(struct store *st, int64_t job_id, unsigned max,
				int64_t *ids, unsigned *ret_n);

typedef enum err job_row_fn(void *arg, const struct job *j);

/* Newest first, from below @before_id; @max at most. */
MUST_CHECK enum err job_list(struct store *st, int64_t before_id, unsigned max,
			     job_row_fn *row, void *arg);

/* ERR_NO: there is none of that number. */
MUST_CHECK enum err job_show(struct store *st, int64_t id, job_row_fn *row,
			     void *arg);

#endif
