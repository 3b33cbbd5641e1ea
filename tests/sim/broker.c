#include "broker.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "../fakes/fake_clock.h"
#include "../fakes/power.h"
#include "../support/host.h"
#include "link/link.h"

#define MESSAGES (WORLD_EVENTS * 8)

enum state { QUEUED, SENT, ACKED, LOST };

struct message {
	unsigned e;
	enum state state;
	bool again; /* was sent on an earlier connection */
};

struct link {
	struct link_events events;
	struct link_report report;
	enum link_state state;
	unsigned owed[MESSAGES]; /* PUBACKs queued, not sent */
	unsigned owed_len;
	bool dup; /* says so when it delivers again */
};

static struct {
	struct world *world;
	struct seeded *chance;
	struct message list[MESSAGES];
	unsigned len, first; /* the first that may be anything but acked */
	bool subscribed, session, dropping, calm;
	unsigned in_flight;
	struct link *link;
	struct broker_counts counts;
} broker;

void broker_init(struct world *w)
{
	struct broker_counts kept = broker.counts;

	memset(&broker, 0, sizeof(broker));
	broker.world = w;
	broker.chance = &w->chance;
	broker.counts = kept;
}

const struct broker_counts *broker_counts(void)
{
	return &broker.counts;
}

void broker_calm(void)
{
	broker.calm = true;
	broker.dropping = false;
}

bool broker_publish(unsigned e)
{
	if (!broker.subscribed || broker.len == MESSAGES)
		return false;
	broker.list[broker.len++] = (struct message){ .e = e };
	broker.counts.published++;
	return true;
}

void broker_drop(void)
{
	broker.dropping = true;
}

void broker_lose_session(void)
{
	for (unsigned i = broker.first; i < broker.len; i++) {
		struct message *m = &broker.list[i];

		if (m->state == QUEUED || m->state == SENT) {
			m->state = LOST;
			broker.counts.lost++;
		}
	}
	broker.first = broker.len;
	broker.in_flight = 0;
	broker.subscribed = broker.session = false;
	broker.dropping = true;
}

unsigned broker_waiting(void)
{
	unsigned n = 0;

	for (unsigned i = broker.first; i < broker.len; i++)
		n += broker.list[i].state == QUEUED ||
		     broker.list[i].state == SENT;
	return n;
}

/* The next to send: what a lost connection had first, else the oldest. */
static struct message *next_message(void)
{
	struct message *found = NULL;
	unsigned skip = 0;

	while (broker.first < broker.len &&
	       broker.list[broker.first].state > SENT)
		broker.first++;
	if (broker.in_flight >= broker.world->plan->window)
		return NULL;
	if (!broker.calm &&
	    seeded_chance(broker.chance, broker.world->plan->shuffle))
		skip = seeded_below(broker.chance, 4);
	for (unsigned i = broker.first; i < broker.len; i++) {
		struct message *m = &broker.list[i];

		if (m->state != QUEUED)
			continue;
		if (m->again)
			return m;
		found = m;
		if (!skip--)
			break;
	}
	return found;
}

bool broker_is_readable(void)
{
	if (!broker.link || broker.link->state != LINK_CONNECTED)
		return false;
	if (broker.dropping)
		return true;
	if (!broker.subscribed || broker.in_flight >= broker.world->plan->window)
		return false;
	for (unsigned i = broker.first; i < broker.len; i++)
		if (broker.list[i].state == QUEUED)
			return true;
	return false;
}

/* the connection */

static void deliver(struct link *l, struct message *m)
{
	struct event ev = world_event(broker.world, m->e, fake_clock.wall_ms);

	if (m->state == QUEUED)
		broker.in_flight++;
	m->state = SENT;
	broker.counts.delivered++;
	broker.counts.redelivered += m->again;
	m->again = true;
	l->report.deliveries++;
	must(l->owed_len < MESSAGES, "broker: owes too much");
	l->owed[l->owed_len++] = (unsigned)(m - broker.list);
	l->events.on_delivery(l->events.arg, &ev);
}

static enum err end_connection(struct link *l)
{
	l->state = LINK_DOWN;
	broker.dropping = false;
	err_say(&l->report.why, ERR_LINK, "%s", "the connection was lost");
	return ERR_LINK;
}

enum err link_read(struct link *l, unsigned max, size_t max_bytes)
{
	struct seeded *s = broker.chance;
	unsigned n = 1 + seeded_below(s, max);

	(void)max_bytes;
	if (l->state != LINK_CONNECTED)
		return ERR_LINK;
	/* One read may bring more than was asked for. */
	if (broker.world->plan->window > max)
		n = 1 + seeded_below(s, 2 * max);
	for (unsigned i = 0; i < n && broker.subscribed; i++) {
		struct message *m = next_message();

		if (broker.dropping && seeded_chance(s, 20))
			return end_connection(l);
		if (!m)
			break;
		deliver(l, m);
		if (!broker.calm &&
		    seeded_chance(s, broker.world->plan->resend))
			deliver(l, m);
	}
	return broker.dropping && seeded_chance(s, 50) ? end_connection(l)
						       : OK;
}

static void take_puback(unsigned i)
{
	struct message *m = &broker.list[i];

	if (m->state != SENT)
		return; /* of a copy */
	m->state = ACKED;
	broker.in_flight--;
	broker.counts.acked++;
	broker.world->ev[m->e].acked = true;
	broker.world->acks++;
}

/* A process that dies meanwhile has sent the first few, or none. */
enum err link_flush(struct link *l)
{
	bool was_dead = power_is_dead(), cut;
	unsigned n = l->owed_len;

	if (l->state != LINK_CONNECTED)
		return ERR_LINK;
	if (!n)
		return was_dead ? ERR_LINK : OK;
	cut = !power_step(POWER_OTHER) || broker.dropping;
	if (was_dead)
		n = 0;
	else if (cut)
		n = seeded_below(broker.chance, n + 1);
	for (unsigned i = 0; i < n; i++)
		take_puback(l->owed[i]);
	l->owed_len = 0;
	return cut ? end_connection(l) : OK;
}

/* Nothing is sent: what is owed will be delivered again. */
void link_free(struct link *l)
{
	if (!l)
		return;
	for (unsigned i = broker.first; i < broker.len; i++)
		if (broker.list[i].state == SENT)
			broker.list[i].state = QUEUED;
	broker.in_flight = 0;
	broker.link = NULL;
	free(l);
}

void link_disconnect(struct link *l)
{
	(void)!link_flush(l);
	l->state = LINK_DOWN;
}

enum err link_open(const struct broker_config *bc,
		   const struct link_address *addr, unsigned receive_maximum,
		   int64_t max_payload, const struct link_events *ev,
		   struct link **ret_l, struct err_detail *why)
{
	struct link *l = calloc(1, sizeof(*l));

	(void)bc, (void)addr, (void)receive_maximum, (void)max_payload;
	if (!l)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	must(!broker.link, "broker: a second connection");
	l->events = *ev;
	l->state = LINK_CONNECTED;
	l->report = (struct link_report){ .session_present = broker.session,
					  .disconnect_code = -1,
					  .session_expiry_s = -1 };
	broker.dropping = false;
	broker.link = l;
	*ret_l = l;
	return OK;
}

enum err link_subscribe(struct link *l, const char *const *filters,
			const enum retained *retained, unsigned n)
{
	(void)l, (void)filters, (void)retained, (void)n;
	if (power_is_dead())
		return ERR_LINK;
	broker.subscribed = broker.session = true;
	return OK;
}

enum err link_unsubscribe(struct link *l, const char *const *filters,
			  unsigned n)
{
	(void)l, (void)filters, (void)n;
	return OK;
}

enum link_state link_state(const struct link *l)
{
	return l->state;
}

const struct link_report *link_report(const struct link *l)
{
	return &l->report;
}

int link_fd(const struct link *l)
{
	(void)l;
	return -1;
}

short link_interest(const struct link *l)
{
	(void)l;
	return POLLIN;
}

bool link_has_buffered(const struct link *l)
{
	(void)l;
	return false;
}

enum err link_tick(struct link *l)
{
	return l->state == LINK_CONNECTED ? OK : ERR_LINK;
}

enum err link_library_init(void)
{
	return OK;
}

void link_library_fini(void)
{
}

const char *link_library_versions(void)
{
	return "none";
}
