#include "flow/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/topic.h"
#include "store/filter.h"
#include "subscribe.h"

#define CONNECT_LIMIT_MS	15000	/* TCP, TLS and CONNACK */
#define RETRY_FIRST_MS		1000
#define STEADY_MS		30000	/* up that long: the backoff starts anew */
#define QUICK_MS		10000	/* a takeover follows CONNACK closely */
#define QUICK_LOSSES		3
#define BARREN_LOSSES		5
#define BARREN_WAIT_MS		300000
#define TICK_MS			1000

static void on_delivery(void *arg, const struct event *ev)
{
	struct session *s = arg;

	ingest_deliver(s->ingest, ev);
}

void session_fini(struct session *s)
{
	resolve_free(s->resolve);
	s->resolve = NULL;
}

/* Between half and the whole of @ms. */
static int64_t spread(int64_t ms)
{
	uint32_t r = 0;

	(void)!getrandom(&r, sizeof(r), GRND_NONBLOCK);
	return ms / 2 + (int64_t)(r % (uint64_t)(ms / 2 + 1));
}

static int64_t backoff_ms(const struct session *s)
{
	int64_t max = s->config->broker.reconnect_max_ms;
	int64_t wait = RETRY_FIRST_MS;

	if (s->barren_losses >= BARREN_LOSSES)
		return BARREN_WAIT_MS;
	for (unsigned i = 1; i < s->losses && wait < max; i++)
		wait *= 2;
	return wait < max ? wait : max;
}

static void tell_poison(const char *what, unsigned losses)
{
	log_err("broker.poison", "losses=%u why=\"%s\" action=back_off "
		"in_ms=%d", losses, what, BARREN_WAIT_MS);
}

/*
 * A packet may end the process as well as the connection: libmosquitto
 * 2.0.11 asserts on a property that it does not know.
 */
static void wait_if_barren(struct session *s)
{
	s->barren_losses = store_barren_deaths(s->ingest->batch.store);
	if (s->barren_losses < BARREN_LOSSES)
		return;
	s->due_ms = clock_boot_ms() + spread(backoff_ms(s));
	tell_poison("each process died without one event", s->barren_losses);
}

enum err session_init(struct session *s, const struct config *c,
		      struct ingest *in)
{
	*s = (struct session){
		.config = c,
		.ingest = in,
		.events = { .arg = s, .on_delivery = on_delivery,
			    .on_suback = subscribe_on_suback },
	};
	wait_if_barren(s);
	subscribe_collect(s);
	return subscribe_known(s, &s->known);
}

static void cut(struct session *s)
{
	link_free(s->ingest->link);
	s->ingest->link = NULL;
	resolve_free(s->resolve);
	s->resolve = NULL;
}

/* For a value in quotes, and for `status`. */
static void keep_reason(struct session *s, const char *why)
{
	snprintf(s->reason, sizeof(s->reason), "%.255s", why);
	for (char *p = s->reason; *p; p++)
		if (*p == '"')
			*p = '\'';
}

static void go_away(struct session *s, const char *why, int64_t boot_ms)
{
	int64_t wait;

	keep_reason(s, why);	/* it may lie in what is cut */
	cut(s);
	s->state = SESSION_AWAY;
	s->losses++;
	wait = spread(backoff_ms(s));
	s->due_ms = boot_ms + wait;
	log_warn("link.down", "why=\"%s\" action=reconnect in_ms=%lld",
		 s->reason, (long long)wait);
}

/* Who ends a connection right after CONNACK, again and again? */
static void judge_loss(struct session *s, const struct link_report *r,
		       int64_t boot_ms)
{
	const char *id = s->config->broker.client_id;
	bool quick = boot_ms - s->up_ms < QUICK_MS;
	bool steady = boot_ms - s->up_ms >= STEADY_MS;

	if (steady)
		s->losses = 0;
	s->quick_losses = quick ? s->quick_losses + 1 : 0;
	/* A quiet topic is no poison: what kills a connection does so soon. */
	s->barren_losses = r->deliveries || steady ? 0 : s->barren_losses + 1;
	if (r->disconnect_code == LINK_TAKEN_OVER)
		log_err("link.takeover", "client_id=%s why=\"another client "
			"connected with this client id\" advice=\"give one of "
			"them another\"", id);
	else if (s->quick_losses == QUICK_LOSSES)
		log_err("link.takeover", "client_id=%s losses=%u why=\"closed "
			"right after CONNACK; probably another client uses "
			"this client id\"", id, QUICK_LOSSES);
	if (s->barren_losses == BARREN_LOSSES)
		tell_poison("each connection ended after CONNACK without one "
			    "delivery", BARREN_LOSSES);
}

static void on_loss(struct session *s, int64_t boot_ms)
{
	const struct link_report *r = link_report(s->ingest->link);
	struct err_detail why = r->why;

	if (s->state == SESSION_UP)
		judge_loss(s, r, boot_ms);
	go_away(s, *why.text ? why.text : "closed by the broker", boot_ms);
}

static enum err try_address(struct session *s, int64_t boot_ms)
{
	const struct config *c = s->config;
	struct link_address a = { .port = c->broker.port };
	struct err_detail why;
	enum err e;

	if (c->broker.transport == TRANSPORT_UNIX)
		snprintf(a.host, sizeof(a.host), "%s", c->broker.host);
	else
		snprintf(a.host, sizeof(a.host), "%s",
			 s->addresses.list[s->next_address].host);
	s->next_address++;
	e = link_open(&c->broker, &a, s->ingest->window,
		      c->limits.max_payload, &s->events, &s->ingest->link,
		      &why);
	if (!e) {
		s->state = SESSION_CONNECTING;
		s->due_ms = boot_ms + CONNECT_LIMIT_MS;
		return OK;
	}
	if (s->next_address >= s->addresses.len)
		go_away(s, why.text, boot_ms);
	else
		s->due_ms = boot_ms;
	return OK;
}

static void start_resolving(struct session *s, int64_t boot_ms)
{
	const struct broker_config *b = &s->config->broker;
	struct err_detail why;

	s->next_address = 0;
	s->addresses.len = 0;
	s->state = SESSION_RESOLVING;
	s->due_ms = boot_ms;
	if (b->transport == TRANSPORT_UNIX)
		return;
	if (resolve_start(b->host, b->port, RESOLVE_LIMIT_MS, &s->resolve,
			  &why))
		go_away(s, why.text, boot_ms);
	else if (resolve_fd(s->resolve) >= 0)
		s->due_ms = boot_ms + RESOLVE_LIMIT_MS + TICK_MS;
}

static enum err resolving(struct session *s, int64_t boot_ms)
{
	struct err_detail why;
	enum err e;

	if (s->resolve) {
		e = resolve_take(s->resolve, &s->addresses, &why);
		if (e == ERR_BUSY)
			return OK;
		resolve_free(s->resolve);
		s->resolve = NULL;
		if (e) {
			go_away(s, why.text, boot_ms);
			return OK;
		}
	}
	return try_address(s, boot_ms);
}

static void next_address_or_away(struct session *s, const char *why,
				 int64_t boot_ms)
{
	if (s->next_address >= s->addresses.len) {
		go_away(s, why, boot_ms);
		return;
	}
	keep_reason(s, why);
	log_info("link.address", "why=\"%s\" action=next_address", s->reason);
	cut(s);
	s->state = SESSION_RESOLVING;
	s->due_ms = boot_ms;
}

static void welcome(struct session *s, const struct link_report *r,
		    int64_t boot_ms)
{
	const struct broker_config *b = &s->config->broker;
	int64_t want = b->session_expiry_ms / 1000;

	s->state = SESSION_UP;
	s->reason[0] = '\0';
	s->up_ms = boot_ms;
	s->due_ms = boot_ms + TICK_MS;
	log_info("link.up", "broker=%s client_id=%s session_present=%d",
		 b->url, b->client_id, r->session_present);
	if (s->known && !r->session_present) {
		s->ingest->batch.ungrouped->sessions_lost++;
		log_warn("session.lost", "client_id=%s why=\"the broker no "
			 "longer knew it; what was published meanwhile is "
			 "gone\" action=subscribe", b->client_id);
	}
	if (r->session_expiry_s >= 0 && r->session_expiry_s < want)
		log_warn("session.expiry", "kept_s=%lld wanted_s=%lld",
			 (long long)r->session_expiry_s, (long long)want);
}

static enum err connecting(struct session *s, int64_t boot_ms)
{
	struct link *l = s->ingest->link;
	enum err e;

	if (link_state(l) == LINK_CONNECTING && boot_ms >= s->due_ms) {
		next_address_or_away(s, "no answer in time; is this an MQTT "
				     "port, and does a firewall let us "
				     "through?", boot_ms);
		return OK;
	}
	if (link_state(l) != LINK_CONNECTED)
		return OK;
	if (s->touching) {
		/* The session lives on; nothing read was acknowledged. */
		s->touching = false;
		session_hold(s, true, boot_ms);
		return OK;
	}
	e = subscribe_all(s);
	if (e == ERR_BUSY)
		return OK;		/* the next turn asks again */
	/* The link's own failures end the link, the store's the daemon. */
	if (e && e != ERR_LINK && e != ERR_CONFIG)
		return e;
	welcome(s, link_report(l), boot_ms);
	s->known = true;
	if (e)
		on_loss(s, boot_ms);
	return OK;
}

/* A process that dies later did not die of what came first. */
static enum err steady(struct session *s)
{
	struct batch *b = &s->ingest->batch;
	enum err e;

	s->losses = 0;
	if (b->fruitful || !store_barren_deaths(b->store))
		return OK;
	e = store_begin(b->store);
	if (e)
		return e == ERR_BUSY ? OK : e;	/* the next tick tries again */
	e = store_fruitful_put(b->store);
	if (!e)
		e = store_commit(b->store);
	if (e)
		store_rollback(b->store);
	else
		b->fruitful = true;
	return e;
}

static enum err tick(struct session *s, int64_t boot_ms)
{
	if (boot_ms < s->due_ms)
		return OK;
	s->due_ms = boot_ms + TICK_MS;
	if (link_tick(s->ingest->link) || link_flush(s->ingest->link)) {
		on_loss(s, boot_ms);
		return OK;
	}
	return boot_ms - s->up_ms >= STEADY_MS ? steady(s) : OK;
}

void session_hold(struct session *s, bool hold, int64_t boot_ms)
{
	if (hold == s->held && !(hold && s->ingest->link))
		return;
	s->held = hold;
	if (hold) {
		if (s->ingest->link && s->state == SESSION_UP)
			link_disconnect(s->ingest->link);
		cut(s);
		s->state = SESSION_AWAY;
		/* Half the session's life later it must be touched. */
		s->due_ms = boot_ms + s->config->broker.session_expiry_ms / 2;
	} else {
		s->due_ms = boot_ms;
		s->losses = 0;
	}
}

enum err session_turn(struct session *s, int64_t boot_ms)
{
	switch (s->state) {
	case SESSION_AWAY:
		if (boot_ms < s->due_ms)
			return OK;
		s->touching = s->held;
		start_resolving(s, boot_ms);
		return OK;
	case SESSION_RESOLVING:
		return resolving(s, boot_ms);
	case SESSION_CONNECTING:
		return connecting(s, boot_ms);
	case SESSION_UP:
		return tick(s, boot_ms);
	}
	return ERR_BUG;
}

void session_after_turn(struct session *s, enum err e, int64_t boot_ms)
{
	if (e == ERR_LINK && s->state == SESSION_CONNECTING &&
	    link_report(s->ingest->link)->connack_code < 0) {
		struct err_detail why = link_report(s->ingest->link)->why;

		next_address_or_away(s, why.text, boot_ms);
		return;
	}
	if (e == ERR_LINK)
		on_loss(s, boot_ms);
	else if (!s->ingest->link && s->state != SESSION_AWAY)
		go_away(s, err_text(e), boot_ms);
}

int64_t session_wait_ms(const struct session *s, int64_t boot_ms)
{
	return s->due_ms > boot_ms ? s->due_ms - boot_ms : 0;
}

void session_stop(struct session *s)
{
	if (s->ingest->link && s->state == SESSION_UP)
		link_disconnect(s->ingest->link);
	cut(s);
	s->state = SESSION_AWAY;
}

static const char *state_text(const struct session *s)
{
	if (s->held)
		return "away, ingest is stopped";
	switch (s->state) {
	case SESSION_AWAY:
		return "away";
	case SESSION_RESOLVING:
	case SESSION_CONNECTING:
		return "connecting";
	case SESSION_UP:
		return s->refused ? "connected, but a filter was refused"
				  : "connected";
	}
	return "";
}

void session_text(const struct session *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", state_text(s), *s->reason ? ": " : "",
		 s->reason);
}
