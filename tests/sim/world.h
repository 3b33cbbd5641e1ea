/*
 * The producer and its events, the groups that handle them, and what each
 * handler is told to make of them: the payload decides.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "plan.h"

#define WORLD_EVENTS 600
#define WORLD_TTL_MS (INT64_C(24) * 3600 * 1000)
#define WORLD_HORIZON_MS (INT64_C(3) * 3600 * 1000)

enum sim_group { SIM_PLAIN, SIM_ORDER, SIM_NATURAL, SIM_OFF, SIM_GROUPS };

extern const char *const sim_group_names[SIM_GROUPS];

enum sim_kind {
	SIM_OK,
	SIM_LATER,	/* transient, n times */
	SIM_ALWAYS,	/* transient until the outage is over */
	SIM_MENDABLE,	/* permanent until somebody mends the handler */
	SIM_CONSTRAINT, /* none of these is ever done */
	SIM_REJECT,
	SIM_ROLLBACK, /* takes the whole transaction down */
	SIM_FOREIGN,  /* would fail the COMMIT of all */
	SIM_BIG,      /* asks for more than SQLite gives */
	SIM_POISON,
	SIM_MALFORMED, /* no JSON, so no id either */
	SIM_OVERSIZE,  /* more than max_payload */
	SIM_KINDS
};

struct sim_event {
	enum sim_kind kind;
	unsigned id;   /* of the event id; shared by those that clash */
	bool clashes;  /* another one has its id */
	unsigned groups; /* bits of enum sim_group */
	unsigned key, seq; /* of the order guard */
	char topic[24];
	char payload[160];
	int64_t published_ms; /* time with power on */
	bool acked;
};

struct world {
	const struct plan *plan;
	struct seeded chance;
	struct sim_event ev[WORLD_EVENTS];
	unsigned len, ids;
	unsigned keys;	/* of the order guard, so far */
	unsigned acks;
};

void world_init(struct world *w, const struct plan *p);

/* The next thing that is published, new or known; -1: nothing. */
int world_next(struct world *w, int64_t on_ms);

/* As it is delivered. */
struct event world_event(const struct world *w, unsigned e, int64_t wall_ms);

/* Whether there is a handler that can be content with it. */
bool sim_kind_is_good(enum sim_kind k);

/* The configuration, the operator's tables, and the handlers' file. */
void world_config(const struct plan *p, const char *dir, char *buf,
		  unsigned size);
extern const char world_tables[];
const char *world_handler(bool outage, bool mended);

#endif
