/*
 * The session with the broker: resolves, connects, subscribes, and comes back
 * after a loss, later each time.
 *
 *   AWAY --due, store open--> RESOLVING --> CONNECTING --CONNACK--> UP
 *     ^                            |             |                  |
 *     +----------- backoff --------+-------------+------ loss ------+
 */
#ifndef FLOW_SESSION_H
#define FLOW_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "core/config.h"
#include "flow/ingest.h"
#include "os/resolve.h"

enum session_state {
	SESSION_AWAY,		/* no connection, none wanted before due_ms */
	SESSION_RESOLVING,
	SESSION_CONNECTING,
	SESSION_UP,
};

#define SESSION_FILTERS	(CONFIG_GROUPS * CONFIG_FILTERS)

struct session {
	const struct config *config;	/* kept */
	struct ingest *ingest;		/* kept; its link is the connection */
	struct link_events events;

	enum session_state state;
	int64_t due_ms;			/* boot clock: next step at the latest */
	int64_t up_ms;			/* boot clock: since when it is up */
	unsigned losses;		/* in a row, for the backoff */
	unsigned quick_losses;		/* right after CONNACK, in a row */
	unsigned barren_losses;		/* after CONNACK without a delivery */
	bool known;			/* the broker should have our session */
	bool refused;			/* a filter was not granted */
	bool held;			/* ingest is blocked: stay away */
	bool touching;			/* connects only so that the session lives */
	char reason[256];		/* of the latest loss; empty while up */

	struct resolve *resolve;
	struct resolve_result addresses;
	unsigned next_address;

	const char *filters[SESSION_FILTERS];	/* wanted, without repeats */
	enum retained retained[SESSION_FILTERS];
	unsigned filters_len;
};

MUST_CHECK enum err session_init(struct session *s, const struct config *c,
				 struct ingest *in);
void session_fini(struct session *s);

/* Stay away from the broker, or come back: what is committed is sent first. */
void session_hold(struct session *s, bool hold, int64_t boot_ms);

/* The next step, if one is due.  An error is the store's. */
MUST_CHECK enum err session_turn(struct session *s, int64_t boot_ms);

/* What ingest_turn() met: ERR_LINK and failures of the store end the link. */
void session_after_turn(struct session *s, enum err e, int64_t boot_ms);

/* Milliseconds until session_turn() has something to do. */
int64_t session_wait_ms(const struct session *s, int64_t boot_ms);

/* Sends DISCONNECT; the broker keeps the session. */
void session_stop(struct session *s);

/* "connected", "connecting", "away", with the last reason, for people. */
void session_text(const struct session *s, char *buf, size_t size);

#endif
