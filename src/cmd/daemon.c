#include "daemon.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "desk.h"
#include "os/notify.h"
#include "os/signals.h"
#include "store/owner.h"
#include "store/space.h"

#define LOOK_MS		1000	/* at the limits */
#define LOCKED_MS	20	/* between tries for the write lock */
#define FULL_MS		5000	/* between tries for room on the disk */

const char *daemon_gate_text(enum gate g)
{
	switch (g) {
	case GATE_OPEN:		return "open";
	case GATE_LOCKED:	return "another process holds the store's lock";
	case GATE_NO_SPACE:	return "max_size is nearly reached, the WAL counted";
	case GATE_PENDING:	return "a group is at its pending limit";
	case GATE_DEAD:		return "a group has max_dead dead letters";
	case GATE_DISK_FULL:	return "the disk is full";
	}
	return "";
}

bool daemon_is_stopped(const struct daemon *d)
{
	return d->gate != GATE_OPEN &&
	       (d->gate != GATE_LOCKED || d->session.held);
}

static const char *gate_advice(enum gate g)
{
	switch (g) {
	case GATE_OPEN:
	case GATE_LOCKED:	return "end that process's transaction";
	case GATE_NO_SPACE:	return "raise [store] max_size, purge dead "
				       "letters, delete rows of your own "
				       "tables, or end who reads the store for "
				       "long";
	case GATE_PENDING:	return "find out why its handler keeps failing";
	case GATE_DEAD:		return "replay or discard dead letters, or "
				       "raise max_dead";
	case GATE_DISK_FULL:	return "free space on the store's disk";
	}
	return "";
}

/* Whether it is one group that is at its limit. */
static bool is_groups(enum gate g)
{
	return g == GATE_PENDING || g == GATE_DEAD;
}

/* One line at each limit that is met, one when it is over. */
static void set_gate(struct daemon *d, enum gate g, int64_t now)
{
	/* A lock that was not told of needs no end. */
	bool silent = d->gate == GATE_LOCKED && !d->session.held;

	if (g == d->gate)
		return;
	d->gate = g;
	d->gate_since_ms = now;
	if (g == GATE_LOCKED)
		return;			/* short ones are no news */
	if (g == GATE_OPEN && silent)
		return;
	if (g == GATE_OPEN)
		log_info("ingest.open", "action=read");
	else
		log_err("ingest.stopped", "why=\"%s\"%s%s action=wait: %s",
			daemon_gate_text(g), is_groups(g) ? " group=" : "",
			is_groups(g) ? d->full_group->config->name : "",
			gate_advice(g));
}

/* After a full disk: only real room counts, not what the ballast left. */
static bool disk_has_room(struct daemon *d)
{
	if (d->ballast && !space_ballast_put(d->store))
		return false;
	return space_disk_takes(d->store);
}

/* Half of the reserve is for sweeps and operators alone. */
static enum err look_at_room(struct daemon *d)
{
	int64_t room = 0;
	enum err e = space_headroom(d->store, &room);

	d->tight = !e && room < space_reserve(d->store) / 2;
	return e;
}

static enum err look_at_limits(struct daemon *d, int64_t now)
{
	static const enum gate gates[] = {
		[INGEST_OPEN] = GATE_OPEN,
		[INGEST_NO_SPACE] = GATE_NO_SPACE,
		[INGEST_PENDING_FULL] = GATE_PENDING,
		[INGEST_DEAD_FULL] = GATE_DEAD,
	};
	enum ingest_block why;
	enum err e = ingest_look(&d->ingest, &why, &d->full_group);

	if (!e)
		set_gate(d, gates[why], now);
	return e ? e : look_at_room(d);
}

/* Now and then, while nothing is read. */
static enum err look(struct daemon *d, int64_t now)
{
	if (now < d->gate_look_ms || d->gate == GATE_LOCKED)
		return OK;
	d->gate_look_ms = now + LOOK_MS;
	if (d->gate == GATE_DISK_FULL) {
		d->gate_look_ms = now + FULL_MS;
		if (!disk_has_room(d)) {
			d->tight = false;
			return OK;
		}
	}
	return look_at_limits(d, now);
}

bool daemon_full(struct daemon *d, int64_t now)
{
	bool dropped = space_ballast_drop(d->store);

	d->ballast |= dropped;
	set_gate(d, GATE_DISK_FULL, now);
	d->gate_look_ms = now + FULL_MS;
	return dropped;
}

/* The page budget says so itself; otherwise it is the disk. */
static enum err run_full(struct daemon *d, int64_t now)
{
	enum err e = look_at_limits(d, now);

	/* What found no room is tried again with the next look. */
	d->tight = d->gate == GATE_NO_SPACE;
	if (!e && !d->tight)
		d->tight = !daemon_full(d, now);
	return e;
}

/* Failures of the store that pass; the others end the daemon. */
static enum err survive(struct daemon *d, enum err e, int64_t now)
{
	if (e == ERR_FULL)
		return run_full(d, now);
	if (e != ERR_BUSY)
		return e == ERR_LINK || e == ERR_NOMEM ? OK : e;
	if (d->gate == GATE_OPEN)
		set_gate(d, GATE_LOCKED, now);
	d->wake_ms = now + LOCKED_MS;
	return OK;
}

/* Away for longer than a keepalive: leave, so that nothing is owed. */
static void hold_or_come_back(struct daemon *d, int64_t now)
{
	bool locked_long = d->gate == GATE_LOCKED &&
		now - d->gate_since_ms >= d->config->broker.keepalive_ms;
	bool hold = locked_long || (d->gate != GATE_OPEN &&
				    d->gate != GATE_LOCKED);

	if (hold == d->session.held)
		return;
	if (locked_long)
		log_err("ingest.stopped", "why=\"%s\" action=wait: %s",
			daemon_gate_text(d->gate), gate_advice(d->gate));
	session_hold(&d->session, hold, now);
}

static bool may_read(const struct daemon *d, int64_t now)
{
	if (d->session.touching && d->session.state == SESSION_CONNECTING)
		return true;
	return (d->gate == GATE_OPEN || d->gate == GATE_LOCKED) &&
	       now >= d->read_ms && now >= d->wake_ms;
}

static int64_t pending_rows(const struct daemon *d)
{
	int64_t n = 0;

	for (unsigned i = 0; i < d->config->groups_len; i++)
		n += d->groups[i].pending_rows;
	return n;
}

static enum err ingest(struct daemon *d, bool readable, int64_t now)
{
	int64_t pending = pending_rows(d);
	enum err turned, e;

	if (!d->ingest.link ||
	    !(readable || link_has_buffered(d->ingest.link)))
		return OK;
	/* A moment's wait for more saves flash: bytes stay in the socket. */
	if (!d->read_ms && d->config->limits.linger_ms) {
		d->read_ms = now + d->config->limits.linger_ms;
		return OK;
	}
	e = d->gate == GATE_OPEN ? look_at_limits(d, now) : OK;
	if (e || !may_read(d, now))
		return survive(d, e, now);
	d->read_ms = 0;
	e = ingest_turn(&d->ingest, now);
	if (e == ERR_BUSY)
		return survive(d, e, now);
	if (d->gate == GATE_LOCKED)
		set_gate(d, GATE_OPEN, now);
	turned = e;
	e = survive(d, e, now);
	if (e)
		return e;	/* nobody is left to connect again */
	session_after_turn(&d->session, turned, now);
	return pending_rows(d) != pending ? retry_refresh(&d->retry) : OK;
}

/* Whether whoever held the lock let go of it. */
static void try_lock(struct daemon *d, int64_t now)
{
	if (d->gate != GATE_LOCKED || now < d->wake_ms)
		return;
	if (store_begin(d->store)) {
		d->wake_ms = now + LOCKED_MS;
		return;
	}
	store_rollback(d->store);
	set_gate(d, GATE_OPEN, now);
}

static void take_signals(struct daemon *d)
{
	struct signals s;

	signals_take(d->signal_fd, &s);
	d->stop |= s.stop;
	d->reload |= s.reload;
}

static void tell_watchdog(struct daemon *d, int64_t now)
{
	if (!d->watchdog_ms || now < d->watchdog_due_ms)
		return;
	notify_send("WATCHDOG=1");
	d->watchdog_due_ms = now + d->watchdog_ms;
}

/* What `status` and the service manager show, when it changes. */
static void say(struct daemon *d)
{
	char text[320], lines[448];

	if (d->gate != GATE_OPEN && d->gate != GATE_LOCKED)
		snprintf(text, sizeof(text), "%s%s%s", daemon_gate_text(d->gate),
			 is_groups(d->gate) ? ": group " : "",
			 is_groups(d->gate) ? d->full_group->config->name : "");
	else
		session_text(&d->session, text, sizeof(text));
	if (!strcmp(text, d->said))
		return;
	snprintf(d->said, sizeof(d->said), "%s", text);
	snprintf(lines, sizeof(lines), "broker      %s, %s\n",
		 d->config->broker.url, text);
	owner_say(d->store, lines);
	snprintf(lines, sizeof(lines), "STATUS=%s", text);
	notify_send(lines);
}

/*
 * Without room for an effect no attempt is made, and none is counted.  What
 * the ballast left on a full disk is for those who clear up.
 */
static bool has_space(const struct daemon *d)
{
	if (d->gate == GATE_DISK_FULL)
		return !d->tight && !d->replay.idle;
	return !(d->gate == GATE_NO_SPACE && d->tight);
}

/* Replays first become pending, then are run with the others. */
static enum err run_pending(struct daemon *d, int64_t now)
{
	bool started = false, live = d->ingest.deliveries != d->replay_seen;
	enum err e = replay_turn(&d->replay, now, &started);
	int64_t end;

	if (!e && started)
		e = retry_refresh(&d->retry);
	if (!e)
		e = retry_turn(&d->retry, now);
	if (!e && d->gate == GATE_NO_SPACE)
		e = look_at_room(d);
	if (!started)
		return e;
	/* Beside live events replays get a fifth of the time, not half. */
	end = clock_boot_ms();
	d->replay_seen = d->ingest.deliveries;
	if (live)
		replay_defer(&d->replay, end + 4 * (end - now));
	return e;
}

enum err daemon_turn(struct daemon *d, const short ready[LOOP_SOURCES])
{
	int64_t now = clock_boot_ms();
	enum err e;

	if (ready[LOOP_SIGNALS])
		take_signals(d);
	try_lock(d, now);
	e = ingest(d, ready[LOOP_LINK] & POLLIN, now);
	if (!e && d->ingest.link && (ready[LOOP_LINK] & POLLOUT))
		session_after_turn(&d->session, link_flush(d->ingest.link),
				   now);
	if (!e)
		e = survive(d, session_turn(&d->session, now), now);
	if (!e && now >= d->wake_ms && has_space(d))
		e = survive(d, run_pending(d, now), now);
	if (!e && now >= d->wake_ms)
		e = survive(d, maintain_turn(&d->maintain, d->ingest.deliveries,
					     now), now);
	if (!e)
		e = survive(d, look(d, now), now);
	if (d->server && (ready[LOOP_SERVER] || server_clients(d->server)))
		server_turn(d->server, now);
	desk_look(d, now);
	hold_or_come_back(d, now);
	tell_watchdog(d, now);
	say(d);
	return e;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t daemon_wait_ms(const struct daemon *d)
{
	int64_t now = clock_boot_ms();
	int64_t wait = sooner(session_wait_ms(&d->session, now), LOOK_MS);
	int64_t retry = retry_wait_ms(&d->retry, now);

	if (d->ingest.link && link_has_buffered(d->ingest.link) &&
	    may_read(d, now))
		return 0;
	if (retry >= 0 && has_space(d))
		wait = sooner(wait, retry);
	if (replay_wait_ms(&d->replay, now) >= 0 && has_space(d))
		wait = sooner(wait, replay_wait_ms(&d->replay, now));
	if (d->server && server_wait_ms(d->server) >= 0)
		wait = sooner(wait, server_wait_ms(d->server));
	if (d->read_ms > now)
		wait = sooner(wait, d->read_ms - now);
	if (d->wake_ms > now)
		return sooner(d->wake_ms - now, LOCKED_MS);
	if (d->watchdog_ms)
		wait = sooner(wait, d->watchdog_ms);
	return wait;
}

enum err daemon_watch(struct daemon *d)
{
	struct link *l = d->ingest.link;
	int64_t now = clock_boot_ms();
	short want = 0;
	enum err e;

	if (l) {
		want = link_interest(l);
		if (!may_read(d, now))
			want &= (short)~POLLIN;
	}
	/* epoll tells of a dead peer even where nothing is asked for. */
	e = loop_watch(d->loop, LOOP_LINK, want ? link_fd(l) : -1, want);
	if (!e)
		e = loop_watch(d->loop, LOOP_RESOLVER,
			       d->session.resolve
				       ? resolve_fd(d->session.resolve) : -1,
			       POLLIN);
	if (!e)
		e = loop_watch(d->loop, LOOP_SERVER,
			       d->server ? server_fd(d->server) : -1, POLLIN);
	return e;
}
