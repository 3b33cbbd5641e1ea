#include "link_internal.h"

#include <errno.h>

#include "base/clock.h"

/* One adjtimex(2) serves all deliveries of a second. */
#define SYNC_LASTS_MS 1000

#define PROPERTIES_FIRST 16

/* What the library copied out for one delivery. */
struct copies {
	char *content_type;
	void *correlation;
	unsigned pairs; /* of l->loans */
	size_t bytes;
	bool too_many;
};

static bool clock_is_synchronised(struct link *l)
{
	int64_t now_ms = clock_boot_ms();

	if (!l->asked_ms || now_ms - l->asked_ms >= SYNC_LASTS_MS) {
		l->synchronised = clock_synchronised();
		l->asked_ms = now_ms;
	}
	return l->synchronised;
}

/* Some versions give NULL for what was sent empty. */
static struct span sent(const char *s)
{
	return span_str(s ? s : "");
}

static bool has_room(struct link *l, unsigned want)
{
	unsigned size =
		l->properties_size ? l->properties_size * 2 : PROPERTIES_FIRST;
	struct property *list;
	struct loan *loans;

	if (want <= l->properties_size)
		return true;
	list = realloc(l->properties, size * sizeof(*list));
	if (list)
		l->properties = list;
	loans = realloc(l->loans, size * sizeof(*loans));
	if (loans)
		l->loans = loans;
	if (!list || !loans)
		return false;
	l->properties_size = size;
	return true;
}

/* False when the memory is at its end. */
static bool take_pair(struct link *l, const mosquitto_property *p,
		      struct copies *c)
{
	struct loan *loan;

	if (c->pairs == LINK_PROPERTIES_MAX ||
	    c->bytes > (size_t)l->max_payload) {
		c->too_many = true;
		return true;
	}
	if (!has_room(l, c->pairs + 1))
		return false;
	loan = &l->loans[c->pairs];
	if (!mosquitto_property_read_string_pair(p, MQTT_PROP_USER_PROPERTY,
						 &loan->name, &loan->value,
						 false))
		return false;
	l->properties[c->pairs++] = (struct property){
		.name = sent(loan->name),
		.value = sent(loan->value),
	};
	c->bytes += l->properties[c->pairs - 1].name.len +
		    l->properties[c->pairs - 1].value.len;
	return true;
}

static bool take_properties(struct link *l, const mosquitto_property *p,
			    struct copies *c, struct event *ev)
{
	uint16_t len = 0;
	bool ok = true;

	for (; ok && p; p = mosquitto_property_next(p)) {
		switch (mosquitto_property_identifier(p)) {
		case MQTT_PROP_CONTENT_TYPE:
			ok = mosquitto_property_read_string(
				p, MQTT_PROP_CONTENT_TYPE, &c->content_type,
				false);
			ev->content_type = sent(c->content_type);
			break;
		case MQTT_PROP_CORRELATION_DATA:
			ok = mosquitto_property_read_binary(
				p, MQTT_PROP_CORRELATION_DATA, &c->correlation,
				&len, false);
			ev->correlation = span_of(
				c->correlation ? c->correlation : "", len);
			break;
		case MQTT_PROP_USER_PROPERTY: ok = take_pair(l, p, c); break;
		}
	}
	ev->properties = l->properties;
	ev->properties_len = c->pairs;
	return ok;
}

static void give_back(struct link *l, struct copies *c)
{
	for (unsigned i = 0; i < c->pairs; i++) {
		free(l->loans[i].name);
		free(l->loans[i].value);
	}
	free(c->content_type);
	free(c->correlation);
}

static void take_payload(const struct link *l,
			 const struct mosquitto_message *msg, bool too_many,
			 struct event *ev)
{
	struct span payload = span_of(msg->payload ? msg->payload : "",
				      (size_t)msg->payloadlen);

	ev->payload_bytes = payload.len;
	ev->oversize = too_many || msg->payloadlen > l->max_payload;
	if (ev->oversize)
		ev->content = event_content(ev->topic, payload);
	else
		ev->payload = payload;
}

/*
 * Its PUBACK is queued already.  What cannot be taken must not be answered:
 * the link ends, and with it all that it owes.
 */
void on_message(struct mosquitto *m UNUSED, void *arg,
		const struct mosquitto_message *msg,
		const mosquitto_property *props)
{
	struct link *l = arg;
	struct copies c = { 0 };
	struct event ev = {
		.topic = span_str(msg->topic),
		.qos = (uint8_t)msg->qos,
		.retain = msg->retain,
		.received_wall_ms = clock_wall_ms(),
		.received_sync = clock_is_synchronised(l),
	};

	if (!l->broken && !take_properties(l, props, &c, &ev))
		l->broken = MOSQ_ERR_NOMEM;
	if (!l->broken) {
		take_payload(l, msg, c.too_many, &ev);
		l->report.deliveries++;
		l->deliveries++;
		l->bytes += ev.topic.len + ev.payload.len +
			    ev.content_type.len + ev.correlation.len + c.bytes;
		l->ev->on_delivery(l->ev->arg, &ev);
	}
	give_back(l, &c);
	errno = 0;
}
