#include "linked.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void copy(char *buf, size_t size, struct span s)
{
	snprintf(buf, size, "%.*s", SPAN_FMT(s));
}

static void on_delivery(void *arg, const struct event *ev)
{
	struct linked *k = arg;
	struct linked_delivery *d = &k->got[k->got_len % LINKED_KEPT];
	size_t n = 0;

	*d = (struct linked_delivery){
		.has_content_type = ev->content_type.data,
		.has_correlation = ev->correlation.data,
		.has_payload = ev->payload.data,
		.oversize = ev->oversize,
		.retain = ev->retain,
		.qos = ev->qos,
		.payload_bytes = ev->payload_bytes,
		.content = ev->content,
	};
	copy(d->topic, sizeof(d->topic), ev->topic);
	copy(d->payload, sizeof(d->payload), ev->payload);
	copy(d->content_type, sizeof(d->content_type), ev->content_type);
	copy(d->correlation, sizeof(d->correlation), ev->correlation);
	for (unsigned i = 0; i < ev->properties_len && n < sizeof(d->user); i++)
		n += (size_t)snprintf(d->user + n, sizeof(d->user) - n,
				      "%.*s=%.*s;",
				      SPAN_FMT(ev->properties[i].name),
				      SPAN_FMT(ev->properties[i].value));
	k->got_len++;
}

static void on_suback(void *arg, unsigned index, int code)
{
	struct linked *k = arg;

	if (index < LINKED_FILTERS)
		k->suback[index] = code;
	k->subacks++;
}

static void on_connected(void *arg)
{
	struct linked *k = arg;

	k->connects++;
}

struct linked *linked_new(enum transport t, enum protocol p,
			  const struct cert_spec *spec)
{
	static unsigned n;
	struct linked *k = calloc(1, sizeof(*k));

	if (!k)
		abort();
	certificates_make(&k->certs, spec);
	k->bc = (struct broker_config){
		.transport = t,
		.host = "localhost",
		.client_id = "gw-017",
		.protocol = p,
		.session_expiry_ms = 3600000,
		.keepalive_ms = 60000,
	};
	snprintf(k->addr.host, sizeof(k->addr.host), "127.0.0.1");
	if (t == TRANSPORT_UNIX) {
		snprintf(k->addr.host, sizeof(k->addr.host),
			 "/tmp/mqonce-broker-%d-%u", (int)getpid(), n++);
		k->bc.host = k->options.unix_path = k->addr.host;
	} else if (t == TRANSPORT_TLS) {
		k->bc.ca = k->certs.ca;
		k->options.cert = k->certs.cert;
		k->options.key = k->certs.key;
	}
	k->broker = broker_start(&k->options);
	k->addr.port = k->bc.port = broker_port(k->broker);
	k->events = (struct link_events){
		.arg = k,
		.on_delivery = on_delivery,
		.on_suback = on_suback,
		.on_connected = on_connected,
	};
	k->receive_maximum = 100;
	k->max_payload = 64 * 1024;
	memset(k->suback, -1, sizeof(k->suback));
	return k;
}

void linked_free(struct linked *k)
{
	link_free(k->link);
	broker_stop(k->broker);
	certificates_remove(&k->certs);
	free(k);
}

enum err linked_open(struct linked *k)
{
	link_free(k->link);
	k->link = NULL;
	return link_open(&k->bc, &k->addr, k->receive_maximum, k->max_payload,
			 &k->events, &k->link, &k->why);
}

static short wait_for_link(struct linked *k, int wait_ms)
{
	struct pollfd p = { .fd = link_fd(k->link),
			    .events = link_interest(k->link) };

	if (link_has_buffered(k->link))
		return POLLIN;
	return poll(&p, 1, wait_ms) == 1 ? p.revents : 0;
}

enum err linked_read(struct linked *k, int wait_ms)
{
	if (wait_for_link(k, wait_ms))
		return link_read(k->link, 1000, 1 << 20);
	return link_tick(k->link);
}

enum err linked_turn(struct linked *k, int wait_ms)
{
	enum err e = linked_read(k, wait_ms);

	return e ? e : link_flush(k->link);
}

static bool late(int64_t end_ms)
{
	return clock_boot_ms() > end_ms;
}

bool linked_until_got(struct linked *k, unsigned n)
{
	int64_t end_ms = clock_boot_ms() + LINKED_MS;

	while (k->got_len < n && !late(end_ms) && !linked_turn(k, 20))
		;
	return k->got_len >= n;
}

bool linked_until_state(struct linked *k, enum link_state s)
{
	int64_t end_ms = clock_boot_ms() + LINKED_MS;

	while (link_state(k->link) != s && !late(end_ms) && !linked_turn(k, 20))
		;
	return link_state(k->link) == s;
}

bool linked_until_counted(struct linked *k, enum broker_count what, uint64_t n)
{
	int64_t end_ms = clock_boot_ms() + LINKED_MS;

	while (broker_count(k->broker, what) < n && !late(end_ms) &&
	       !linked_turn(k, 5))
		;
	return broker_wait(k->broker, what, n, 1000);
}

void linked_subscribed(struct linked *k)
{
	static const char *const filters[] = { "#" };
	static const enum retained retained[] = { RETAINED_IGNORE };
	unsigned before = k->subacks;
	int64_t end_ms = clock_boot_ms() + LINKED_MS;

	if (linked_open(k) || !linked_until_state(k, LINK_CONNECTED) ||
	    link_subscribe(k->link, filters, retained, 1)) {
		fprintf(stderr, "no link: %s%s\n", k->why.text,
			k->link ? link_report(k->link)->why.text : "");
		abort();
	}
	while (k->subacks == before && !late(end_ms) && !linked_turn(k, 20))
		;
}
