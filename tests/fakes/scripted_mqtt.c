#include "scripted_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	CONNECT = 0x10,
	CONNACK = 0x20,
	PUBLISH = 0x30,
	PUBACK = 0x40,
	PUBREC = 0x50,
	SUBSCRIBE = 0x80,
	SUBACK = 0x90,
	UNSUBSCRIBE = 0xA0,
	UNSUBACK = 0xB0,
	PINGREQ = 0xC0,
	PINGRESP = 0xD0,
	DISCONNECT = 0xE0,
};

enum { CONTENT_TYPE = 3, CORRELATION = 9, TOPIC_ALIAS = 35, USER = 38 };

static void put_byte(struct bytes *b, int v)
{
	uint8_t byte = (uint8_t)v;

	bytes_put(b, &byte, 1);
}

static void put_int16(struct bytes *b, unsigned v)
{
	put_byte(b, (int)(v >> 8));
	put_byte(b, (int)(v & 0xFF));
}

static void put_varint(struct bytes *b, size_t v)
{
	do {
		put_byte(b, (int)(v % 128) | (v >= 128 ? 0x80 : 0));
		v /= 128;
	} while (v);
}

static void put_string(struct bytes *b, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	put_int16(b, (unsigned)len);
	bytes_put(b, s, len);
}

static void put_packet(struct bytes *out, int type, const struct bytes *body)
{
	put_byte(out, type);
	put_varint(out, body->len);
	bytes_put(out, body->data, body->len);
}

static void put_properties(struct bytes *out, const struct broker_publish *p)
{
	struct bytes props = { 0 };

	if (p->content_type) {
		put_byte(&props, CONTENT_TYPE);
		put_string(&props, p->content_type);
	}
	if (p->correlation) {
		put_byte(&props, CORRELATION);
		put_string(&props, p->correlation);
	}
	if (p->alias) {
		put_byte(&props, TOPIC_ALIAS);
		put_int16(&props, p->alias);
	}
	for (unsigned i = 0; i < 16 && p->user[i]; i += 2) {
		put_byte(&props, USER);
		put_string(&props, p->user[i]);
		put_string(&props, p->user[i + 1]);
	}
	put_varint(out, props.len);
	bytes_put(out, props.data, props.len);
	bytes_fini(&props);
}

static struct bytes encode(const struct broker_publish *p, uint16_t id, bool v5)
{
	struct bytes body = { 0 }, packet = { 0 };
	size_t len = p->payload_len;

	if (!len && p->payload)
		len = strlen(p->payload);
	put_string(&body, p->topic);
	if (p->qos)
		put_int16(&body, id);
	if (v5)
		put_properties(&body, p);
	bytes_put(&body, p->payload, len);
	put_packet(&packet, PUBLISH | p->dup << 3 | p->qos << 1 | p->retain,
		   &body);
	bytes_fini(&body);
	return packet;
}

void mqtt_add(struct scripted_broker *b, const struct broker_publish *p)
{
	struct session *s = &b->session;
	uint16_t id = p->id ? p->id : p->qos ? ++s->last_id : 0;

	s->items = scripted_grow(s->items, s->items_len, &s->items_size,
				 sizeof(*s->items));
	s->items[s->items_len++] = (struct item){
		.v3 = encode(p, id, false),
		.v5 = encode(p, id, true),
		.id = id,
		.qos = p->qos,
	};
}

void mqtt_forget(struct scripted_broker *b)
{
	struct session *s = &b->session;

	for (size_t i = 0; i < s->items_len; i++) {
		bytes_fini(&s->items[i].v3);
		bytes_fini(&s->items[i].v5);
	}
	free(s->items);
	*s = (struct session){ 0 };
}

static void send_item(struct scripted_broker *b, struct item *it)
{
	struct bytes *packet = b->conn.v5 ? &it->v5 : &it->v3;
	size_t at = b->conn.out.len;

	bytes_put(&b->conn.out, packet->data, packet->len);
	if (it->dup)
		b->conn.out.data[at] |= 0x08;
	it->state = it->qos ? ITEM_SENT : ITEM_OVER;
	b->count[BROKER_SENT]++;
}

void mqtt_pump(struct scripted_broker *b)
{
	struct session *s = &b->session;
	unsigned owed = 0;

	if (b->conn.fd < 0 || !b->conn.accepted || !(s->subscribed || b->eager))
		return;
	for (size_t i = 0; i < s->items_len; i++)
		owed += s->items[i].state == ITEM_SENT;
	for (size_t i = 0; i < s->items_len; i++) {
		if (s->items[i].state != ITEM_WAITS)
			continue;
		if (s->items[i].qos && b->window && owed >= b->window)
			break;
		send_item(b, &s->items[i]);
		owed += s->items[i].state == ITEM_SENT;
	}
}

static void take_up_session(struct scripted_broker *b, bool clean)
{
	struct session *s = &b->session;
	bool keep_waiting = !s->exists;

	/* What a test published before anybody came is for the first. */
	if (clean && !keep_waiting)
		mqtt_forget(b);
	for (size_t i = 0; i < s->items_len; i++) {
		if (s->items[i].state != ITEM_SENT)
			continue;
		s->items[i].state = ITEM_WAITS;
		s->items[i].dup = true;
	}
	s->exists = true;
}

static void on_connect(struct scripted_broker *b, const uint8_t *body,
		       size_t len)
{
	const struct broker_connack *a = &b->connack;
	struct bytes answer = { 0 };
	bool clean = len > 7 && body[7] & 0x02;
	bool present = b->session.exists && !clean;

	b->conn.v5 = len > 6 && body[6] == 5;
	if (!a->code)
		take_up_session(b, clean);
	put_byte(&answer, a->session_present < 0 ? present && !a->code
						 : a->session_present);
	put_byte(&answer, a->code);
	if (b->conn.v5) {
		put_varint(&answer, a->properties_len);
		bytes_put(&answer, a->properties, a->properties_len);
	}
	put_packet(&b->conn.out, CONNACK, &answer);
	bytes_fini(&answer);
	b->conn.accepted = !a->code;
	b->conn.closing = a->code;
}

/* Where the payload starts: behind the packet id and MQTT 5's properties. */
static size_t behind_header(const struct scripted_broker *b,
			    const uint8_t *body, size_t len)
{
	size_t at = 2, n = 0, shift = 0;

	if (!b->conn.v5)
		return at;
	do {
		n |= (size_t)(body[at] & 127) << shift;
		shift += 7;
	} while (at < len && body[at++] & 128);
	return at + n;
}

static void on_subscribe(struct scripted_broker *b, const uint8_t *body,
			 size_t len)
{
	struct bytes answer = { 0 };

	bytes_put(&answer, body, 2);
	if (b->conn.v5)
		put_byte(&answer, 0);
	for (size_t at = behind_header(b, body, len); at + 2 < len;) {
		at += 2 + (size_t)(body[at] << 8 | body[at + 1]);
		if (at >= len)
			break;
		put_byte(&answer, b->suback_next < b->suback_len
					  ? b->suback[b->suback_next++]
					  : body[at] & 3);
		at++;
	}
	put_packet(&b->conn.out, SUBACK, &answer);
	bytes_fini(&answer);
	b->session.subscribed = true;
}

static void on_unsubscribe(struct scripted_broker *b, const uint8_t *body,
			   size_t len)
{
	struct bytes answer = { 0 };

	bytes_put(&answer, body, 2);
	if (b->conn.v5) {
		put_byte(&answer, 0);
		for (size_t at = behind_header(b, body, len); at + 2 <= len;) {
			at += 2 + (size_t)(body[at] << 8 | body[at + 1]);
			put_byte(&answer, 0);
		}
	}
	put_packet(&b->conn.out, UNSUBACK, &answer);
	bytes_fini(&answer);
}

static void on_puback(struct scripted_broker *b, uint16_t id)
{
	struct session *s = &b->session;

	for (size_t i = 0; i < s->items_len; i++) {
		if (s->items[i].id != id || s->items[i].state != ITEM_SENT)
			continue;
		s->items[i].state = ITEM_OVER;
		return;
	}
}

static void on_publish(struct scripted_broker *b, int first,
		       const struct broker_packet *p)
{
	struct bytes answer = { 0 };

	if (!(first & 0x06))
		return;
	put_int16(&answer, p->id);
	if (b->conn.v5 && b->puback_code)
		put_byte(&answer, b->puback_code);
	put_packet(&b->conn.out, PUBACK, &answer);
	bytes_fini(&answer);
}

static enum broker_count kind_of(int type)
{
	switch (type) {
	case CONNECT: return BROKER_CONNECT;
	case PUBLISH: return BROKER_PUBLISH;
	case PUBACK: return BROKER_PUBACK;
	case PUBREC: return BROKER_PUBREC;
	case SUBSCRIBE: return BROKER_SUBSCRIBE;
	case UNSUBSCRIBE: return BROKER_UNSUBSCRIBE;
	case PINGREQ: return BROKER_PINGREQ;
	case DISCONNECT: return BROKER_DISCONNECT;
	}
	return BROKER_OTHER;
}

static uint16_t id_of(int first, const uint8_t *body, size_t len)
{
	size_t at = 0;

	switch (first & 0xF0) {
	case CONNECT:
	case PINGREQ:
	case DISCONNECT: return 0;
	case PUBLISH:
		if (!(first & 0x06))
			return 0;
		at = len < 2 ? len : 2 + (size_t)(body[0] << 8 | body[1]);
	}
	return at + 2 <= len ? (uint16_t)(body[at] << 8 | body[at + 1]) : 0;
}

static struct broker_packet *record(struct scripted_broker *b, int first,
				    const uint8_t *body, size_t len)
{
	struct broker_packet *p;

	b->log = scripted_grow(b->log, b->log_len, &b->log_size,
			       sizeof(*b->log));
	p = &b->log[b->log_len++];
	*p = (struct broker_packet){
		.kind = kind_of(first & 0xF0),
		.connection = (unsigned)b->count[BROKER_CONNECTIONS],
		.at_ms = scripted_now_ms(),
		.id = id_of(first, body, len),
		.body_len = len,
	};
	memcpy(p->body, body, len < BROKER_BODY_MAX ? len : BROKER_BODY_MAX);
	b->count[p->kind]++;
	return p;
}

/* CONNECT comes first, and once (MQTT 5, 3.1). */
static bool speaks_mqtt(const struct scripted_broker *b,
			const struct broker_packet *p)
{
	static const uint8_t name[] = { 0, 4, 'M', 'Q', 'T', 'T' };

	if (b->conn.accepted)
		return p->kind != BROKER_CONNECT;
	return p->kind == BROKER_CONNECT && p->body_len >= 12 &&
	       !memcmp(p->body, name, sizeof(name));
}

static void on_packet(struct scripted_broker *b, int first, const uint8_t *body,
		      size_t len)
{
	struct broker_packet *p = record(b, first, body, len);

	if (!speaks_mqtt(b, p)) {
		b->conn.closing = true;
		return;
	}
	switch (p->kind) {
	case BROKER_CONNECT: on_connect(b, body, len); break;
	case BROKER_SUBSCRIBE: on_subscribe(b, body, len); break;
	case BROKER_UNSUBSCRIBE: on_unsubscribe(b, body, len); break;
	case BROKER_PUBACK: on_puback(b, p->id); break;
	case BROKER_PUBLISH: on_publish(b, first, p); break;
	case BROKER_PINGREQ:
		if (!b->mute_pings)
			put_packet(&b->conn.out, PINGRESP,
				   &(struct bytes){ 0 });
		break;
	case BROKER_DISCONNECT: b->conn.closing = true; break;
	default: break;
	}
}

void mqtt_eat(struct scripted_broker *b)
{
	struct bytes *in = &b->conn.in;
	size_t at, len, shift;

	while (in->len >= 2 && !b->conn.closing) {
		at = 1;
		len = shift = 0;
		do {
			len |= (size_t)(in->data[at] & 127) << shift;
			shift += 7;
		} while (in->data[at++] & 128 && at < in->len && at < 5);
		if (in->data[at - 1] & 128 || at + len > in->len)
			return;
		on_packet(b, in->data[0], in->data + at, len);
		bytes_drop(in, at + len);
	}
}
