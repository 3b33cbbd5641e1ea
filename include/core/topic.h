/* Topic names and topic filters (MQTT 5, section 4.7). */
#ifndef CORE_TOPIC_H
#define CORE_TOPIC_H

#include <stdbool.h>

#include "base/span.h"

/* Well-formed, 1 to 65,535 bytes; "$share/NAME/FILTER" is a filter too. */
bool topic_filter_valid(struct span filter);

/* The filter without "$share/NAME/". */
struct span topic_filter_plain(struct span filter);

/*
 * Whether @topic matches @filter (given plain).  A filter that starts with a
 * wildcard does not match a topic that starts with '$' [MQTT-4.7.2-1].
 */
bool topic_matches(struct span filter, struct span topic);

/* Whether some topic matches both. */
bool topic_filters_overlap(struct span a, struct span b);

/*
 * Whether @topic, or a plain filter, is at or below mqonce/@client_id, where
 * the daemon itself speaks: no group is given such an event.
 */
bool topic_is_own(struct span topic, const char *client_id);

#endif
