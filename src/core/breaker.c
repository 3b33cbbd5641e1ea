#include "core/breaker.h"

#include <string.h>

static void reset(struct breaker *b)
{
	b->failures = 0;
	b->events_len = 0;
}

static void remember(struct breaker *b, const struct hash_key *event)
{
	for (unsigned i = 0; i < b->events_len; i++)
		if (!memcmp(&b->events[i], event, sizeof(*event)))
			return;
	if (b->events_len < BREAKER_EVENTS)
		b->events[b->events_len++] = *event;
}

/* A power cut may put the store clock back by seconds, not time itself. */
static int64_t open_for(const struct breaker *b, int64_t now_ms)
{
	return now_ms > b->open_since_ms ? now_ms - b->open_since_ms : 0;
}

static void close_it(struct breaker *b, int64_t now_ms)
{
	b->open_total_ms += open_for(b, now_ms);
	b->open = false;
}

static void open_it(struct breaker *b, int64_t now_ms)
{
	reset(b);
	b->open = true;
	b->open_since_ms = now_ms;
	b->probe_ms = now_ms + BREAKER_PROBE_MS;
}

void breaker_note(struct breaker *b, enum outcome outcome,
		  const struct hash_key *event, int64_t now_ms)
{
	if (outcome != OUTCOME_TRANSIENT) {
		reset(b);
		if (b->open)
			close_it(b, now_ms);
		return;
	}
	if (b->open) {
		b->probe_ms = now_ms + BREAKER_PROBE_MS;
		return;
	}
	b->failures++;
	remember(b, event);
	if (b->failures >= BREAKER_FAILURES && b->events_len >= BREAKER_EVENTS)
		open_it(b, now_ms);
}

int64_t breaker_group_ms(const struct breaker *b, int64_t now_ms)
{
	return (b->open ? b->open_since_ms : now_ms) - b->open_total_ms;
}
