/* The daemon: its parts (parts.c), its turns and its gate (daemon.c). */
#ifndef CMD_DAEMON_H
#define CMD_DAEMON_H

#include "core/config.h"
#include "flow/ingest.h"
#include "flow/maintain.h"
#include "flow/replay.h"
#include "flow/retry.h"
#include "flow/session.h"
#include "os/loop.h"
#include "os/server.h"

/* Why no event is taken at the moment. */
enum gate {
	GATE_OPEN,
	GATE_LOCKED,		/* another process holds the write lock */
	GATE_NO_SPACE,		/* the page budget's reserve is reached */
	GATE_PENDING,		/* a group is at its pending limit */
	GATE_DEAD,		/* a group is at its limit of open letters */
	GATE_DISK_FULL,		/* the disk took no more */
};

struct daemon {
	const struct config *config;	/* kept */
	struct loop *loop;
	int signal_fd;
	bool stop, reload;
	bool accept_restored;	/* a backup becomes the store */
	struct config *next;	/* for the one after this; given */

	struct store *store;
	bool flowing;		/* the flows are started */
	struct group groups[CONFIG_GROUPS];
	struct counters ungrouped;
	struct ingest ingest;
	struct retry retry;
	struct replay replay;
	uint64_t replay_seen;	/* deliveries when one last ran */
	struct session session;
	struct maintain maintain;
	struct server *server;	/* for operators; NULL: none */
	bool desk_shut;		/* they do not find it */
	int64_t desk_look_ms;	/* boot clock */

	enum gate gate;
	const struct group *full_group;
	int64_t gate_since_ms, gate_look_ms;	/* boot clock */
	int64_t read_ms;	/* boot clock: not before, to linger */
	int64_t wake_ms;	/* boot clock: not before, while locked */
	int64_t watchdog_ms, watchdog_due_ms;
	char said[320];		/* what the lock file says */
	bool ballast;
	bool tight;		/* no room even for what waits */
};

/* Needs @d->config; daemon_close() also after a failure. */
MUST_CHECK enum err daemon_open(struct daemon *d, struct err_detail *why);

/* @e is what ended it: after a failure nothing more is written. */
void daemon_close(struct daemon *d, enum err e);

/* One turn of everything; an error ends the daemon. */
MUST_CHECK enum err daemon_turn(struct daemon *d,
				const short ready[LOOP_SOURCES]);

/* Milliseconds until the next turn has something to do. */
int64_t daemon_wait_ms(const struct daemon *d);

/* Whether no event is taken, short locks apart; and why, in words. */
bool daemon_is_stopped(const struct daemon *d);
const char *daemon_gate_text(enum gate g);

/* The disk took no more: no events, and the reserve is released, if true. */
bool daemon_full(struct daemon *d, int64_t now);

/* What the loop waits for. */
MUST_CHECK enum err daemon_watch(struct daemon *d);

#endif
