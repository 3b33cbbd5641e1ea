/*
 * mqonce or the limit, on a store of its own, and what it costs.  The effects
 * are counted by a reader of the store that looks now and then.
 */
#ifndef TESTS_BENCH_CONSUMER_H
#define TESTS_BENCH_CONSUMER_H

#include <sqlite3.h>
#include <stdint.h>
#include <sys/types.h>

#include "counts.h"

enum contestant { LIMIT, MQONCE, CONTESTANTS };

struct consumer {
	enum contestant who;
	pid_t pid;
	const char *build; /* where the programs are; kept */
	char dir[512], store[600];
	int64_t started_us;
	struct counts *counts; /* NULL: not counted */
	sqlite3 *db;
	sqlite3_stmt *last;
};

/* A new store in @dir, for events from @port. */
void consumer_init(struct consumer *c, enum contestant who, const char *build,
		   const char *dir, int port);
void consumer_fini(struct consumer *c);

void consumer_start(struct consumer *c, int port);
void consumer_start_counted(struct consumer *c, int port);
void consumer_stop(struct consumer *c);

/* Returns the effects, once there are at least @n; looks every @poll_ms. */
int64_t consumer_wait(struct consumer *c, int64_t n, int poll_ms);

/* Whether there are @n effects, each of another event. */
void consumer_check(struct consumer *c, int64_t n);

#endif
