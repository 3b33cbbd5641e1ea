/*
 * What must be true, asked of the file itself over a connection of its own.
 * Who an event is comes from the program's pure functions; where it is, and
 * whether that is right, is decided here.
 */
#ifndef TESTS_SIM_ORACLE_H
#define TESTS_SIM_ORACLE_H

#include "core/config.h"
#include "world.h"

struct oracle {
	const struct world *world;   /* kept */
	const struct config *config; /* kept */
	uint64_t checks;

	/* What an operator was told, by number of letter. */
	char *said; /* 0: nothing, 'd'iscarded, 'p'urged */
	unsigned said_size;
	bool purges; /* a conflict's letter may have gone without a trace */

	struct oracle_record *records; /* one per event and group */
	unsigned len;
	unsigned known; /* events that are among them */
	uint64_t seed;	/* of the store they are of */
	int64_t store_ms;
};

void oracle_init(struct oracle *o, const struct world *w,
		 const struct config *c);
void oracle_fini(struct oracle *o);

/*
 * @on_ms: time with power on since the world began.  @deep: the file's own
 * consistency too.
 */
void oracle_check(struct oracle *o, int64_t on_ms, bool deep);

/* After all is over: nothing waits. */
void oracle_check_drained(struct oracle *o);

void oracle_said(struct oracle *o, int64_t letter, char what);

/* A letter in @state, by chance; 0: there is none. */
int64_t oracle_pick_letter(struct oracle *o, struct seeded *s,
			   const char *state);

#endif
