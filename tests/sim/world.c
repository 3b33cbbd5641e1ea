#include "world.h"

#include <stdio.h>
#include <string.h>

const char *const sim_group_names[SIM_GROUPS] = {
	[SIM_PLAIN] = "plain",
	[SIM_ORDER] = "order",
	[SIM_NATURAL] = "natural",
	[SIM_OFF] = "off",
};

static const char *const kind_names[SIM_KINDS] = {
	[SIM_OK] = "ok",	   [SIM_LATER] = "later",
	[SIM_ALWAYS] = "always",   [SIM_CONSTRAINT] = "constraint",
	[SIM_MENDABLE] = "mendable",
	[SIM_REJECT] = "reject",   [SIM_ROLLBACK] = "rollback",
	[SIM_FOREIGN] = "foreign", [SIM_BIG] = "big",
	[SIM_POISON] = "poison",   [SIM_MALFORMED] = "malformed",
	[SIM_OVERSIZE] = "ok",
};

/* One of two topics of a group, or one that two groups want. */
static const struct {
	const char *name;
	unsigned groups;
} topics[] = {
	{ "plain/1", 1 << SIM_PLAIN },	   { "plain/2", 1 << SIM_PLAIN },
	{ "order/1", 1 << SIM_ORDER },	   { "order/2", 1 << SIM_ORDER },
	{ "natural/1", 1 << SIM_NATURAL }, { "off/1", 1 << SIM_OFF },
	{ "both/1", 1 << SIM_PLAIN | 1 << SIM_OFF },
};

#define TOPICS (sizeof(topics) / sizeof(topics[0]))

#define TRANSIENT                                                              \
	"SELECT retry('later') WHERE :payload ->> 'k' = 'always'"              \
	" OR (:payload ->> 'k' = 'later' AND :attempt <= :payload ->> 'n');"
#define BROKEN                                                                 \
	"SELECT reject('broken') WHERE :payload ->> 'k' = 'mendable';"
#define EFFECT                                                                 \
	"INSERT INTO effect (g, e) VALUES (:group, :payload ->> 'e');"         \
	"INSERT INTO effect (g, e) SELECT :group, NULL"                        \
	" WHERE :payload ->> 'k' = 'constraint';"                              \
	"INSERT OR ROLLBACK INTO one (n) SELECT 1"                             \
	" WHERE :payload ->> 'k' = 'rollback';"                                \
	"INSERT INTO child (p) SELECT 99 WHERE :payload ->> 'k' = 'foreign';"  \
	"SELECT zeroblob(:payload ->> 'z') WHERE :payload ->> 'k' = 'big';"    \
	"SELECT reject('no') WHERE :payload ->> 'k' = 'reject';"               \
	"SELECT poison('bad') WHERE :payload ->> 'k' = 'poison';"

const char world_tables[] =
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, g TEXT NOT NULL,"
	" e INTEGER NOT NULL) STRICT;"
	"CREATE TABLE one (n INTEGER PRIMARY KEY) STRICT;"
	"INSERT INTO one VALUES (1);"
	"CREATE TABLE child (p INTEGER REFERENCES one"
	" DEFERRABLE INITIALLY DEFERRED) STRICT;";

const char *world_handler(bool outage, bool mended)
{
	if (outage)
		return mended ? EFFECT TRANSIENT : EFFECT TRANSIENT BROKEN;
	return mended ? EFFECT : EFFECT BROKEN;
}

void world_config(const struct plan *p, const char *dir, char *buf,
		  unsigned size)
{
	static const char *const more[SIM_GROUPS] = {
		[SIM_PLAIN] = "subscribe = plain/#, both/#\n",
		[SIM_ORDER] = "subscribe = order/#\norder_key = payload:$.key\n"
			      "order_by = payload:$.seq\n",
		[SIM_NATURAL] = "subscribe = natural/#\nidempotent = natural\n",
		[SIM_OFF] = "subscribe = off/#, both/#\ndead_letter = off\n",
	};
	unsigned n = (unsigned)snprintf(
		buf, size,
		"[store]\npath = %s/store.db\nschema = %s/s.sql\n"
		"max_size = 64M\n[broker]\nurl = mqtt://127.0.0.1:1\n"
		"client_id = sim\nsession_expiry = 1h\n"
		"[limits]\nbatch = %u\nmax_payload = 128\nlinger = %ums\n",
		dir, dir, p->batch, p->linger_ms);

	for (int g = 0; g < SIM_GROUPS; g++)
		n += (unsigned)snprintf(
			buf + n, size - n,
			"[group %s]\nid = payload:$.id\nhandler = sql:%s/h.sql\n"
			"redelivery_horizon = 3h\nttl = 24h\ntimeout = 2s\n%s",
			sim_group_names[g], dir, more[g]);
}

bool sim_kind_is_good(enum sim_kind k)
{
	return k == SIM_OK || k == SIM_LATER || k == SIM_ALWAYS ||
	       k == SIM_MENDABLE;
}

void world_init(struct world *w, const struct plan *p)
{
	memset(w, 0, sizeof(*w));
	w->plan = p;
	w->chance.at = p->seed ^ 0x77;
}

static void write_payload(struct world *w, struct sim_event *ev, unsigned e)
{
	if (ev->kind == SIM_MALFORMED) {
		snprintf(ev->payload, sizeof(ev->payload), "{\"e\":%u,", e);
		return;
	}
	snprintf(ev->payload, sizeof(ev->payload),
		 "{\"id\":\"i%u\",\"e\":%u,\"k\":\"%s\",\"n\":%u,\"z\":%u,"
		 "\"key\":\"k%u\",\"seq\":%u}",
		 ev->id, e, kind_names[ev->kind],
		 1 + seeded_below(&w->chance, 3),
		 ev->kind == SIM_BIG ? 2000000000 : 0, ev->key, ev->seq);
	if (ev->kind == SIM_OVERSIZE)
		memset(ev->payload + strlen(ev->payload), ' ',
		       sizeof(ev->payload) - 1 - strlen(ev->payload));
}

static unsigned make_event(struct world *w, int like, int64_t on_ms)
{
	struct sim_event *ev = &w->ev[w->len];
	struct seeded *s = &w->chance;
	unsigned t = seeded_below(s, TOPICS);

	*ev = (struct sim_event){ .published_ms = on_ms };
	if (like >= 0) {
		*ev = w->ev[like];
		ev->acked = false;
		ev->clashes = w->ev[like].clashes = true;
	} else {
		snprintf(ev->topic, sizeof(ev->topic), "%s", topics[t].name);
		ev->groups = topics[t].groups;
		ev->id = w->ids++;
		/* A key lives for about 50 events: no longer than its ttl. */
		ev->key = w->len / 50 * 4 + seeded_below(s, 4);
		ev->seq = w->len % 50 + seeded_below(s, 5);
	}
	ev->kind = seeded_chance(s, w->plan->bad) ? seeded_below(s, SIM_KINDS)
						  : SIM_OK;
	/* What has no id clashes with nothing. */
	if (like >= 0 && ev->kind == SIM_MALFORMED)
		ev->kind = SIM_OK;
	write_payload(w, ev, w->len);
	return w->len++;
}

/* One that may still be copied: within the horizon. */
static int pick_known(struct world *w, int64_t on_ms)
{
	unsigned back = w->len < 60 ? w->len : 60;
	unsigned e = w->len - 1 - seeded_below(&w->chance, back);

	if (!w->len || on_ms - w->ev[e].published_ms >= WORLD_HORIZON_MS)
		return -1;
	return (int)e;
}

int world_next(struct world *w, int64_t on_ms)
{
	const struct plan *p = w->plan;
	unsigned what = seeded_below(&w->chance, 100);
	int known = w->len ? pick_known(w, on_ms) : -1;

	if (known >= 0 && what < p->copies)
		return known;
	if (w->len == WORLD_EVENTS)
		return -1;
	if (known >= 0 && what < p->copies + p->clashes &&
	    w->ev[known].kind != SIM_MALFORMED)
		return (int)make_event(w, known, on_ms);
	return (int)make_event(w, -1, on_ms);
}

struct event world_event(const struct world *w, unsigned e, int64_t wall_ms)
{
	const struct sim_event *ev = &w->ev[e];
	struct event out = {
		.topic = span_str(ev->topic),
		.payload = span_str(ev->payload),
		.payload_bytes = strlen(ev->payload),
		.qos = 1,
		.received_wall_ms = wall_ms,
	};

	/* As the real connection does it. */
	if (ev->kind == SIM_OVERSIZE) {
		out.content = event_content(out.topic, out.payload);
		out.oversize = true;
		out.payload = (struct span){ 0 };
	}
	return out;
}
