/* What the file says of each event, for oracle*.c only. */
#ifndef TESTS_SIM_ORACLE_INTERNAL_H
#define TESTS_SIM_ORACLE_INTERNAL_H

#include <sqlite3.h>

#include "base/hash.h"
#include "oracle.h"

struct oracle_record {
	unsigned e;
	enum sim_group g;
	struct hash_key key;
	uint64_t fingerprint;

	/* read anew each time */
	unsigned pending, serving; /* rows of its own, rows for its letter */
	int64_t attempts, crashes; /* of its own row */
	unsigned letters;
	int64_t letter;
	char letter_state, letter_kind; /* first letters; 'L' is crash_loop */
	unsigned replayed, suppressed;	/* items of jobs */
	int marker;			/* state; -1: none */
	int of_id;			/* marker of its id, whoever's */
	unsigned effects;
};

sqlite3 *oracle_open(const struct oracle *o);

/* Brings records up to date with the world and the file. */
void oracle_read(struct oracle *o, sqlite3 *db);

/* integrity_check, and each question of schema/verify.sql. */
void oracle_verify(const struct oracle *o, sqlite3 *db);

#endif
