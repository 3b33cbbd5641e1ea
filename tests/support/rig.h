/*
 * A whole consumer but for the broker: real configuration, real store in a
 * temporary directory, real handlers; the connection and the clock are fakes.
 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include <stdint.h>

#include "../../src/cmd/daemon.h"
#include "host.h"

struct rig {
	char dir[FOLDER_SIZE];
	struct config *config;
	struct daemon d;
	struct link_events events;
	unsigned connects;
};

/*
 * @sql makes the operator's tables; @handler is the file of every group whose
 * lines in @groups say `handler = sql:@H`.  @groups is the text behind
 * [limits];
 * @D in it stands for the temporary directory.
 */
struct rig *rig_new(const char *sql, const char *handler, const char *groups);
void rig_free(struct rig *r); /* removes the directory */

/* One owner ends in order, or is killed; the next begins. */
void rig_stop(struct rig *r);
void rig_kill(struct rig *r);
void rig_start(struct rig *r);

/* In order. */
void rig_restart(struct rig *r);

/* One owner ends, the next begins with other groups. */
void rig_configure(struct rig *r, const char *groups);

/* Another handler text for the file @H. */
void rig_set_handler(struct rig *r, const char *handler);

/* Publishes an event; the strings must outlive the turn. */
int rig_publish(const char *topic, const char *payload);

/* One turn of ingest, connecting if there is no connection. */
enum err rig_turn(struct rig *r);

/* Turns until the broker has nothing left; fails after 1,000. */
void rig_drain(struct rig *r);

/* Time passes, then whatever is due is run. */
void rig_retry_after(struct rig *r, int64_t ms);

/* The single number that @sql gives, asked over another connection. */
int64_t rig_int(struct rig *r, const char *sql);

/* The single text; at most 255 bytes, until the next call. */
const char *rig_text(struct rig *r, const char *sql);

/* Runs @sql over another connection, as a foreign program would. */
void rig_exec(struct rig *r, const char *sql);

#endif
