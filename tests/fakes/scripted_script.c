#include "scripted_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static void lock(struct scripted_broker *b)
{
	pthread_mutex_lock(&b->lock);
}

/* The thread looks at what has changed. */
static void unlock_and_wake(struct scripted_broker *b)
{
	pthread_mutex_unlock(&b->lock);
	if (eventfd_write(b->wake_fd, 1))
		abort();
}

uint16_t broker_port(const struct scripted_broker *b)
{
	return b->port;
}

void broker_answer_connect(struct scripted_broker *b,
			   const struct broker_connack *a)
{
	lock(b);
	b->connack = *a;
	if (a->properties_len > sizeof(b->connack_properties))
		abort();
	if (a->properties_len)
		memcpy(b->connack_properties, a->properties, a->properties_len);
	b->connack.properties = b->connack_properties;
	unlock_and_wake(b);
}

void broker_answer_subscribe(struct scripted_broker *b, const uint8_t *codes,
			     unsigned n)
{
	lock(b);
	if (n > sizeof(b->suback))
		abort();
	memcpy(b->suback, codes, n);
	b->suback_len = n;
	b->suback_next = 0;
	unlock_and_wake(b);
}

void broker_set_window(struct scripted_broker *b, unsigned n)
{
	lock(b);
	b->window = n;
	unlock_and_wake(b);
}

void broker_answer_pings(struct scripted_broker *b, bool yes)
{
	lock(b);
	b->mute_pings = !yes;
	unlock_and_wake(b);
}

void broker_answer_publish(struct scripted_broker *b, uint8_t code)
{
	lock(b);
	b->puback_code = code;
	unlock_and_wake(b);
}

void broker_wait_for_subscribe(struct scripted_broker *b, bool yes)
{
	lock(b);
	b->eager = !yes;
	unlock_and_wake(b);
}

void broker_ignore(struct scripted_broker *b, bool yes)
{
	lock(b);
	b->ignore = yes;
	unlock_and_wake(b);
}

void broker_publish(struct scripted_broker *b, const struct broker_publish *p,
		    unsigned n)
{
	lock(b);
	for (unsigned i = 0; i < n; i++)
		mqtt_add(b, &p[i]);
	unlock_and_wake(b);
}

void broker_resend(struct scripted_broker *b, uint16_t id, bool dup)
{
	lock(b);
	for (size_t i = 0; b->conn.fd >= 0 && i < b->session.items_len; i++) {
		const struct item *it = &b->session.items[i];
		const struct bytes *packet = b->conn.v5 ? &it->v5 : &it->v3;
		size_t at = b->conn.out.len;

		if (it->id != id)
			continue;
		bytes_put(&b->conn.out, packet->data, packet->len);
		if (dup)
			b->conn.out.data[at] |= 0x08;
		b->count[BROKER_SENT]++;
	}
	unlock_and_wake(b);
}

void broker_send(struct scripted_broker *b, const void *bytes, size_t len)
{
	lock(b);
	if (b->conn.fd >= 0)
		bytes_put(&b->conn.out, bytes, len);
	unlock_and_wake(b);
}

/* 3.1.1 has no such packet: it just closes. */
void broker_disconnect(struct scripted_broker *b, uint8_t reason)
{
	const uint8_t packet[] = { 0xE0, 2, reason, 0 };

	lock(b);
	if (b->conn.fd >= 0 && b->conn.v5)
		bytes_put(&b->conn.out, packet, sizeof(packet));
	b->conn.closing = true;
	unlock_and_wake(b);
}

void broker_close(struct scripted_broker *b)
{
	lock(b);
	b->conn.kill = b->conn.fd >= 0;
	unlock_and_wake(b);
}

void broker_forget(struct scripted_broker *b)
{
	lock(b);
	mqtt_forget(b);
	unlock_and_wake(b);
}

uint64_t broker_count(struct scripted_broker *b, enum broker_count what)
{
	uint64_t n;

	lock(b);
	n = b->count[what];
	pthread_mutex_unlock(&b->lock);
	return n;
}

bool broker_wait(struct scripted_broker *b, enum broker_count what, uint64_t n,
		 int limit_ms)
{
	int64_t end_ms = scripted_now_ms() + limit_ms;
	struct timespec end = { .tv_sec = end_ms / 1000,
				.tv_nsec = end_ms % 1000 * 1000000 };
	int rc = 0;
	bool met;

	lock(b);
	while (b->count[what] < n && !rc)
		rc = pthread_cond_timedwait(&b->changed, &b->lock, &end);
	met = b->count[what] >= n;
	pthread_mutex_unlock(&b->lock);
	return met;
}

unsigned broker_pubacks(struct scripted_broker *b, uint16_t *ret_ids,
			unsigned max)
{
	unsigned n = 0;

	lock(b);
	for (size_t i = 0; i < b->log_len; i++) {
		if (b->log[i].kind != BROKER_PUBACK)
			continue;
		if (n < max)
			ret_ids[n] = b->log[i].id;
		n++;
	}
	pthread_mutex_unlock(&b->lock);
	return n;
}

bool broker_packet(struct scripted_broker *b, enum broker_count kind,
		   unsigned n, struct broker_packet *ret_p)
{
	bool found = false;

	lock(b);
	for (size_t i = 0; i < b->log_len && !found; i++) {
		if (b->log[i].kind != kind || n--)
			continue;
		*ret_p = b->log[i];
		found = true;
	}
	pthread_mutex_unlock(&b->lock);
	return found;
}

size_t broker_bytes(struct scripted_broker *b, size_t from, void *buf,
		    size_t size)
{
	size_t n = 0;

	lock(b);
	if (from < b->received.len) {
		n = b->received.len - from < size ? b->received.len - from
						  : size;
		memcpy(buf, b->received.data + from, n);
	}
	pthread_mutex_unlock(&b->lock);
	return n;
}

int64_t broker_byte_at_ms(struct scripted_broker *b, size_t n)
{
	int64_t at_ms = -1;

	lock(b);
	for (size_t i = 0; i < b->arrivals_len && at_ms < 0; i++)
		if (n < b->arrivals[i].end)
			at_ms = b->arrivals[i].at_ms;
	pthread_mutex_unlock(&b->lock);
	return at_ms;
}

void broker_sni(struct scripted_broker *b, char *buf, size_t size)
{
	lock(b);
	snprintf(buf, size, "%s", b->sni);
	pthread_mutex_unlock(&b->lock);
}
