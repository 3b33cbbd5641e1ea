#include "broker.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "../support/host.h"
#include "measure.h"

#define SESSION_EXPIRY_S 3600
#define ANSWER_US	 10000000
#define FILL_US		 60000000
#define UNANSWERED	 1000 /* publishes under way */
#define EVENT_SIZE	 256

struct client {
	struct mosquitto *mosq;
	unsigned connected, subscribed, published;
};

static void on_connect(struct mosquitto *m UNUSED, void *arg, int rc)
{
	((struct client *)arg)->connected += !rc;
}

static void on_subscribe(struct mosquitto *m UNUSED, void *arg, int mid UNUSED,
			 int n, const int *qos)
{
	((struct client *)arg)->subscribed += n == 1 && qos[0] == 1;
}

static void on_publish(struct mosquitto *m UNUSED, void *arg, int mid UNUSED)
{
	((struct client *)arg)->published++;
}

static void wait_for(struct client *c, const unsigned *what, const char *name)
{
	int64_t end = now_us() + ANSWER_US;

	while (!*what)
		must(!mosquitto_loop(c->mosq, 100, 1) && now_us() < end,
		     "the broker does not answer: %s", name);
}

static void client_open(struct client *c, const struct broker *b,
			const char *id, int version)
{
	mosquitto_property *list = NULL;
	int rc;

	*c = (struct client){ .mosq = mosquitto_new(id, !id, c) };
	must(c->mosq, "mosquitto_new");
	mosquitto_connect_callback_set(c->mosq, on_connect);
	mosquitto_subscribe_callback_set(c->mosq, on_subscribe);
	mosquitto_publish_callback_set(c->mosq, on_publish);
	mosquitto_int_option(c->mosq, MOSQ_OPT_PROTOCOL_VERSION, version);
	mosquitto_int_option(c->mosq, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_max_inflight_messages_set(c->mosq, 0);
	if (version == MQTT_PROTOCOL_V5)
		mosquitto_property_add_int32(&list,
					     MQTT_PROP_SESSION_EXPIRY_INTERVAL,
					     SESSION_EXPIRY_S);
	rc = mosquitto_connect_bind_v5(c->mosq, "127.0.0.1", b->port, 60, NULL,
				       list);
	must(!rc, "no mosquitto on port %d: %s, see %s/mosquitto.log", b->port,
	     mosquitto_strerror(rc), b->dir);
	mosquitto_property_free_all(&list);
	wait_for(c, &c->connected, "CONNACK");
}

static void client_close(struct client *c)
{
	mosquitto_disconnect(c->mosq);
	mosquitto_destroy(c->mosq);
}

static void make_session(const struct broker *b)
{
	struct client c;

	client_open(&c, b, BROKER_CLIENT_ID, MQTT_PROTOCOL_V5);
	must(!mosquitto_subscribe(c.mosq, NULL, BROKER_TOPIC, 1), "subscribe");
	wait_for(&c, &c.subscribed, "SUBACK");
	client_close(&c);
}

void broker_start(struct broker *b, const char *dir)
{
	*b = (struct broker){ .port = port_reserve() };
	snprintf(b->dir, sizeof(b->dir), "%s", dir);
	file_put(dir, "mosquitto.conf",
		 "listener %d 127.0.0.1\n"
		 "allow_anonymous true\n"
		 "persistence false\n"
		 "log_dest none\n"
		 "max_queued_messages 0\n"
		 "max_inflight_messages 0\n"
		 "set_tcp_nodelay true\n%s",
		 b->port, getuid() ? "" : "user root\n");
	must(mosquitto_start(dir, b->port, &b->pid),
	     "mosquitto does not listen on port %d, see %s/mosquitto.log",
	     b->port, dir);
	make_session(b);
}

void broker_stop(struct broker *b)
{
	process_stop(b->pid, SIGTERM);
}

/* Well spread and the same each time (splitmix64). */
static uint64_t spread(uint64_t v)
{
	v = (v + 1) * 0x9e3779b97f4a7c15;
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
	v = (v ^ v >> 27) * 0x94d049bb133111eb;
	return v ^ v >> 31;
}

static int event_text(char buf[EVENT_SIZE], unsigned n)
{
	uint64_t hi = spread(2ULL * n), lo = spread(2ULL * n + 1);

	return snprintf(buf, EVENT_SIZE,
			"{\"id\":\"%08x-%04x-%04x-%04x-%012llx\","
			"\"device\":\"pump-%02u\",\"at\":%llu,"
			"\"unit\":\"bar\",\"value\":%u.%03u,\"ok\":true}",
			(unsigned)(hi >> 32), (unsigned)(hi >> 16 & 0xffff),
			(unsigned)(hi & 0xffff), (unsigned)(lo >> 48),
			(unsigned long long)(lo & 0xffffffffffff),
			(unsigned)(hi % 90 + 10), 1790000000000ULL + n,
			(unsigned)(lo % 90 + 10), (unsigned)(hi % 1000));
}

unsigned broker_event_bytes(void)
{
	char buf[EVENT_SIZE];

	return (unsigned)event_text(buf, 0);
}

void broker_fill(const struct broker *b, unsigned from, unsigned to)
{
	int64_t end = now_us() + FILL_US;
	char buf[EVENT_SIZE];
	unsigned sent = 0, n = to - from;
	struct client c;

	client_open(&c, b, NULL, MQTT_PROTOCOL_V311);
	while (c.published < n) {
		for (; sent < n && sent - c.published < UNANSWERED; sent++) {
			int len = event_text(buf, from + sent);

			must(!mosquitto_publish(c.mosq, NULL, BROKER_TOPIC, len,
						buf, 1, false),
			     "publish");
		}
		must(!mosquitto_loop(c.mosq, 100, 1) && now_us() < end,
		     "the broker took %u of %u events", c.published, n);
	}
	client_close(&c);
}
