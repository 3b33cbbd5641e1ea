#include "power_tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/host.h"

#define STREAM_BYTES (1 << 20)
#define END_MS	     10000

enum { PUBLISH = 0x30, PUBACK = 0x40, SUBACK = 0x90 };

/* What one side has sent and is not yet a whole packet. */
struct stream {
	uint8_t data[STREAM_BYTES];
	size_t len;
};

struct tap {
	pthread_mutex_t lock; /* of what is asked for */
	pthread_t thread;
	bool connected, subscribed;
	unsigned count, pubacks;
	bool acked[TAP_EVENTS_MAX];

	int listen_fd, port, broker;
	int client_fd, broker_fd;
	struct stream from_client, from_broker;
	unsigned event_of[65536]; /* by packet id */
};

static unsigned int16_at(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* A variable byte integer; false if it is not whole. */
static bool get_varint(const uint8_t *data, size_t len, size_t *at,
		       size_t *ret_n)
{
	size_t n = 0;

	for (int shift = 0; *at < len && shift < 28; shift += 7) {
		n |= (size_t)(data[*at] & 0x7F) << shift;
		if (data[(*at)++] & 0x80)
			continue;
		*ret_n = n;
		return true;
	}
	return false;
}

/* Size of the packet that begins at @at, or 0 if it is not whole. */
static size_t whole(const struct stream *s, size_t at, size_t *ret_body)
{
	size_t i = at + 1, n;

	if (!get_varint(s->data, s->len, &i, &n) || i + n > s->len)
		return 0;
	*ret_body = i;
	return i + n - at;
}

/* Topic, packet id, properties, payload: section 3.3 of MQTT 5. */
static void see_publish(struct tap *t, const uint8_t *body, size_t len)
{
	size_t id_at = 2 + int16_at(body), at = id_at + 2, properties = 0;
	char text[32] = "";
	unsigned n;

	must(get_varint(body, len, &at, &properties) &&
		     len - at - properties < sizeof(text),
	     "tap: an event that is not ours");
	at += properties;
	memcpy(text, body + at, len - at);
	must(sscanf(text, TAP_PAYLOAD, &n) == 1 && n < TAP_EVENTS_MAX,
	     "tap: not a payload of ours: %s", text);
	t->event_of[int16_at(body + id_at)] = n;
}

static void see_puback(struct tap *t, const uint8_t *body, size_t len)
{
	unsigned n = t->event_of[int16_at(body)];

	must(len < 3 || body[2] < 0x80, "tap: event %u is refused", n);
	t->pubacks++;
	t->count += !t->acked[n];
	t->acked[n] = true;
}

static void see(struct tap *t, struct stream *s)
{
	size_t at = 0, body, size;

	pthread_mutex_lock(&t->lock);
	for (; (size = whole(s, at, &body)); at += size) {
		int type = s->data[at] & 0xF0;
		size_t len = at + size - body;

		if (s == &t->from_broker && type == PUBLISH)
			see_publish(t, s->data + body, len);
		else if (s == &t->from_broker && type == SUBACK)
			t->subscribed = true;
		else if (s == &t->from_client && type == PUBACK)
			see_puback(t, s->data + body, len);
	}
	pthread_mutex_unlock(&t->lock);
	s->len -= at;
	memmove(s->data, s->data + at, s->len);
}

/* Sees first, then passes on; false at the end of either side. */
static bool pass(struct tap *t, struct stream *s, int from, int to)
{
	uint8_t *at = s->data + s->len, copy[65536];
	size_t max = STREAM_BYTES - s->len;
	ssize_t n = read(from, at, max < sizeof(copy) ? max : sizeof(copy));

	if (n <= 0)
		return false;
	memcpy(copy, at, (size_t)n);
	s->len += (size_t)n;
	see(t, s);
	for (ssize_t sent = 0, m; sent < n; sent += m) {
		m = send(to, copy + sent, (size_t)(n - sent), MSG_NOSIGNAL);
		if (m <= 0) /* what else the client has sent still counts */
			return s == &t->from_broker;
	}
	return true;
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void set_connected(struct tap *t, bool yes)
{
	pthread_mutex_lock(&t->lock);
	t->connected = yes;
	t->subscribed = false;
	pthread_mutex_unlock(&t->lock);
}

static void serve(struct tap *t, int client)
{
	struct sockaddr_in to = loopback(t->broker);
	int broker = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p[] = { { client, POLLIN, 0 }, { broker, POLLIN, 0 } };
	bool goes_on;

	must(!connect(broker, (struct sockaddr *)&to, sizeof(to)),
	     "tap: broker: %s", strerror(errno));
	t->from_client.len = t->from_broker.len = 0;
	set_connected(t, true);
	do {
		goes_on = poll(p, 2, -1) > 0;
		if (goes_on && p[0].revents)
			goes_on = pass(t, &t->from_client, client, broker);
		if (goes_on && p[1].revents)
			goes_on = pass(t, &t->from_broker, broker, client);
	} while (goes_on);
	close(client);
	close(broker);
	set_connected(t, false);
}

static void *run(void *arg)
{
	struct tap *t = arg;
	int fd;

	while ((fd = accept4(t->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		serve(t, fd);
	return NULL;
}

struct tap *tap_start(int broker)
{
	struct tap *t = calloc(1, sizeof(*t));

	must(t, "tap: out of memory");
	t->broker = broker;
	t->port = port_listen(&t->listen_fd);
	pthread_mutex_init(&t->lock, NULL);
	must(!pthread_create(&t->thread, NULL, run, t), "tap: thread");
	return t;
}

int tap_port(const struct tap *t)
{
	return t->port;
}

static unsigned ask(struct tap *t, const unsigned *count)
{
	unsigned n;

	pthread_mutex_lock(&t->lock);
	n = *count;
	pthread_mutex_unlock(&t->lock);
	return n;
}

static bool is(struct tap *t, const bool *fact)
{
	bool yes;

	pthread_mutex_lock(&t->lock);
	yes = *fact;
	pthread_mutex_unlock(&t->lock);
	return yes;
}

bool tap_is_subscribed(struct tap *t)
{
	return is(t, &t->subscribed);
}

void tap_await_end(struct tap *t)
{
	for (int ms = 0; is(t, &t->connected); ms++) {
		must(ms < END_MS, "tap: the machine's connection does not end");
		sleep_ms(1);
	}
}

bool tap_has(struct tap *t, unsigned event)
{
	return is(t, &t->acked[event]);
}

unsigned tap_count(struct tap *t)
{
	return ask(t, &t->count);
}

unsigned tap_pubacks(struct tap *t)
{
	return ask(t, &t->pubacks);
}
