#include "flow/group.h"

#include "base/log.h"
#include "core/topic.h"

static void log_dead(const struct group *g, const struct counters *c)
{
	log_warn("event.dead", "group=%s permanent=%lld poison=%lld "
		 "conflict=%lld exhausted=%lld crash_loop=%lld last_type=%s "
		 "action=%s",
		 g->config->name, (long long)c->dead_permanent,
		 (long long)c->dead_poison, (long long)c->dead_conflict,
		 (long long)c->dead_exhausted,
		 (long long)c->dead_crash_loop, g->change.last_type.text,
		 g->config->dead_letter ? "keep_letter" : "drop");
}

static void log_breaker(const struct group *g)
{
	const struct breaker *then = &g->record.breaker;
	const struct breaker *now = &g->change.breaker;

	if (now->open && !then->open)
		log_err("breaker.open", "group=%s last_type=%s action=probe "
			"every_ms=%d", g->config->name,
			g->change.last_type.text, BREAKER_PROBE_MS);
	if (!now->open && then->open)
		log_info("breaker.close", "group=%s open_ms=%lld action=retry",
			 g->config->name,
			 (long long)(now->open_total_ms - then->open_total_ms));
}

void group_log_change(const struct group *g)
{
	const struct counters *c = &g->change.counters;

	if (g->change.waits)
		log_info("event.wait", "group=%s n=%lld last_type=%s "
			 "action=retry in_ms=%lld", g->config->name,
			 (long long)g->change.waits, g->change.last_type.text,
			 (long long)g->change.wait_ms);
	if (c->dead_permanent || c->dead_poison || c->dead_conflict ||
	    c->dead_exhausted || c->dead_crash_loop)
		log_dead(g, c);
	if (g->change.thinned)
		log_warn("letter.thin", "group=%s n=%lld max_dead=%lld "
			 "action=drop_payload", g->config->name,
			 (long long)g->change.thinned,
			 (long long)g->config->max_dead);
	log_breaker(g);
}

bool group_wants(const struct group *g, struct span topic)
{
	for (unsigned i = 0; i < g->config->filters_len; i++) {
		struct span f = span_str(g->config->filters[i]);

		if (topic_matches(topic_filter_plain(f), topic))
			return true;
	}
	return false;
}
