#include "core/topic.h"

#include "base/parse.h"

#define TOPIC_MAX_BYTES 65535

static const char share[] = "$share/";

static bool is_shared(struct span filter)
{
	size_t len = sizeof(share) - 1;

	return filter.len >= len && !memcmp(filter.data, share, len);
}

static bool has_char(struct span s, char c)
{
	return s.len && memchr(s.data, c, s.len);
}

struct span topic_filter_plain(struct span filter)
{
	struct span rest = filter;

	if (!is_shared(filter))
		return filter;
	(void)span_cut(rest, '/', &rest); /* "$share" */
	(void)span_cut(rest, '/', &rest); /* the share's name */
	return rest;
}

static bool share_name_valid(struct span filter)
{
	struct span rest = filter, name;

	(void)span_cut(rest, '/', &rest); /* "$share" */
	name = span_cut(rest, '/', &rest);
	return name.len && !has_char(name, '+') && !has_char(name, '#');
}

/* Wildcards fill a level, and '#' is the last one [MQTT-4.7.1-1, -2]. */
static bool levels_valid(struct span filter)
{
	struct span rest = filter;

	while (rest.data) {
		struct span level = span_cut(rest, '/', &rest);

		if (has_char(level, '#') && (level.len > 1 || rest.data))
			return false;
		if (has_char(level, '+') && level.len > 1)
			return false;
	}
	return true;
}

bool topic_filter_valid(struct span filter)
{
	struct span plain = topic_filter_plain(filter);

	if (filter.len > TOPIC_MAX_BYTES || !plain.len)
		return false;
	if (!utf8_valid(filter) || has_char(filter, '\0'))
		return false;
	return (!is_shared(filter) || share_name_valid(filter)) &&
	       levels_valid(plain);
}

/* A '$' topic is for those who name its first level [MQTT-4.7.2-1]. */
static bool hidden_from(struct span filter, struct span topic)
{
	return topic.len && topic.data[0] == '$' && filter.len &&
	       (filter.data[0] == '+' || filter.data[0] == '#');
}

/* Whether the rest of a filter lets a topic end here. */
static bool may_end(struct span rest)
{
	return !rest.data || span_is(rest, "#");
}

bool topic_matches(struct span filter, struct span topic)
{
	struct span f = filter, t = topic;

	if (!f.len || !t.len || hidden_from(f, t))
		return false;
	while (f.data && t.data) {
		struct span level = span_cut(f, '/', &f);
		struct span name = span_cut(t, '/', &t);

		if (span_is(level, "#"))
			return true;
		if (!span_is(level, "+") && !span_equal(level, name))
			return false;
	}
	/* "a/#" also matches its parent "a". */
	return !t.data && may_end(f);
}

bool topic_filters_overlap(struct span a, struct span b)
{
	struct span x = topic_filter_plain(a), y = topic_filter_plain(b);
	bool named = false; /* a topic has at least one byte */

	if (!x.len || !y.len || hidden_from(x, y) || hidden_from(y, x))
		return false;
	while (x.data && y.data) {
		struct span l = span_cut(x, '/', &x);
		struct span m = span_cut(y, '/', &y);

		if (span_is(l, "#") || span_is(m, "#"))
			return true;
		if (!span_is(l, "+") && !span_is(m, "+") && !span_equal(l, m))
			return false;
		if ((l.len && m.len) || (x.data && y.data))
			named = true;
	}
	return named && may_end(x) && may_end(y);
}

bool topic_is_own(struct span topic, const char *client_id)
{
	struct span rest, first = span_cut(topic, '/', &rest);

	return rest.data && span_is(first, "mqonce") &&
	       span_is(span_cut(rest, '/', &rest), client_id);
}
