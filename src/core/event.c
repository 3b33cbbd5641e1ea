#include "core/event.h"

struct hash_key event_content(struct span topic, struct span payload)
{
	struct hash h = hash_start(0);

	hash_add(h, topic);
	/* Adapters may hand out "no bytes" without a pointer. */
	hash_add(h, payload.data ? payload : span_str(""));
	return hash_end128(h);
}

struct hash_key event_content_of(const struct event *ev)
{
	return ev->oversize ? ev->content
			    : event_content(ev->topic, ev->payload);
}

struct span event_property(const struct event *ev, struct span name)
{
	for (unsigned i = 0; i < ev->properties_len; i++)
		if (span_equal(ev->properties[i].name, name))
			return ev->properties[i].value;
	return (struct span){ 0 };
}

struct span event_topic_level(const struct event *ev, unsigned n)
{
	struct span rest = ev->topic;
	struct span level = { 0 };

	for (unsigned i = 0; i < n; i++) {
		if (!rest.data)
			return rest;
		level = span_cut(rest, '/', &rest);
	}
	return level;
}
