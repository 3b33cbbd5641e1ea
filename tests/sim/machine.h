/*
 * The gateway: one machine that runs the real daemon in this process, loses
 * power, or only the process, and starts again.
 */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include "../../src/cmd/daemon.h"
#include "../support/host.h"
#include "oracle.h"
#include "world.h"

struct machine_counts {
	uint64_t kills, cuts, relapses, faults, starts, turns, commands;
};

struct machine {
	const struct plan *plan;
	struct seeded chance;
	char dir[FOLDER_SIZE];
	struct config *config;
	struct daemon d;
	bool open, outage, mended, calm;
	uint64_t faults_seen; /* since it was started */
	unsigned boots;
	char boot_id[24];
	int64_t on_ms; /* with power on, since the world began */
	struct world world;
	struct oracle oracle;
};

extern struct machine_counts machine_counts;

/* A world of its own in an empty @dir. */
void machine_init(struct machine *m, const struct plan *p, const char *dir);
void machine_fini(struct machine *m);

/* Starts until it stands, however often it dies on the way. */
void machine_start(struct machine *m);

/* Stops in order; it may die of that. */
void machine_stop(struct machine *m);

/* One turn of the daemon; it may end it, then the next one is started. */
void machine_turn(struct machine *m);

void machine_pass(struct machine *m, int64_t ms);

/* The next death or fault; nothing while calm. */
void machine_arm(struct machine *m);
void machine_arm_fault(struct machine *m);

/* Whoever wrote through the daemon: has it died of that? */
void machine_look(struct machine *m, enum err e);

#endif
