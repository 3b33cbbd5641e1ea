#include "flow/group.h"

#include "core/topic.h"

bool group_wants(const struct group *g, struct span topic)
{
	for (unsigned i = 0; i < g->config->filters_len; i++) {
		struct span f = span_str(g->config->filters[i]);

		if (topic_matches(topic_filter_plain(f), topic))
			return true;
	}
	return false;
}
