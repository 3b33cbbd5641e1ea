/*
 * Two filters and a topic, a line each.  The client library has a matcher of
 * its own: where both filters are in order the two must agree.
 */
#include "fuzz.h"

#include <mosquitto.h>
#include <string.h>

#include "core/topic.h"

static bool has_nul(struct span s)
{
	return memchr(s.data, '\0', s.len);
}

static void compare(struct span filter, struct span topic, bool ours)
{
	/* Though it is given lengths it looks for the NUL. */
	char *f = strndup(filter.data, filter.len);
	char *t = strndup(topic.data, topic.len);
	bool theirs = ours;

	/* It may refuse one of them. */
	(void)!mosquitto_topic_matches_sub2(f, filter.len, t, topic.len,
					    &theirs);
	free(f);
	free(t);
	if (ours == theirs)
		return;
	fprintf(stderr, "filter %.*s topic %.*s: %d against %d\n",
		SPAN_FMT(filter), SPAN_FMT(topic), ours, theirs);
	MUST(ours == theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = fuzz_span(data, size);
	struct span a = span_cut(rest, '\n', &rest);
	struct span b = span_cut(rest, '\n', &rest), topic = rest;
	bool in_a, in_b;

	if (!size || !topic.len || has_nul(topic) ||
	    memchr(topic.data, '+', topic.len) ||
	    memchr(topic.data, '#', topic.len))
		return 0;
	if (!topic_filter_valid(a) || !topic_filter_valid(b))
		return 0;
	a = topic_filter_plain(a);
	b = topic_filter_plain(b);
	in_a = topic_matches(a, topic);
	in_b = topic_matches(b, topic);
	compare(a, topic, in_a);
	compare(b, topic, in_b);
	if (in_a && in_b)
		MUST(topic_filters_overlap(a, b));
	MUST(topic_filters_overlap(a, b) == topic_filters_overlap(b, a));
	return 0;
}
