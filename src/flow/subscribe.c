#include "subscribe.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/filter.h"

static int find(const struct session *s, struct span filter)
{
	for (unsigned i = 0; i < s->filters_len; i++)
		if (span_is(filter, s->filters[i]))
			return (int)i;
	return -1;
}

/* A filter of several groups is asked for once; one that wants retained wins. */
static void add(struct session *s, const char *filter, enum retained retained)
{
	int i = find(s, span_str(filter));

	if (i < 0) {
		s->filters[s->filters_len] = filter;
		s->retained[s->filters_len++] = retained;
	} else if (retained == RETAINED_HANDLE) {
		s->retained[i] = retained;
	}
}

void subscribe_collect(struct session *s)
{
	const struct config *c = s->config;

	for (unsigned i = 0; i < c->groups_len; i++)
		for (unsigned f = 0; f < c->groups[i].filters_len; f++)
			add(s, c->groups[i].filters[f], c->groups[i].retained);
}

static struct filter_owner owner_of(const struct session *s)
{
	return (struct filter_owner){ s->config->broker.url,
				      s->config->broker.client_id };
}

/* What the store remembers, held against what is wanted. */
struct remembered {
	const struct session *s;
	bool wanted[SESSION_FILTERS];	/* remembered and wanted */
	char *stale[SESSION_FILTERS];	/* remembered, not wanted: malloc'ed */
	unsigned stale_len, total;
};

static enum err on_row(void *arg, struct span filter)
{
	struct remembered *r = arg;
	int i = find(r->s, filter);

	r->total++;
	if (i >= 0) {
		r->wanted[i] = true;
		return OK;
	}
	if (r->stale_len == SESSION_FILTERS)
		return OK;		/* the rest at the next connection */
	r->stale[r->stale_len] = strndup(filter.data, filter.len);
	return r->stale[r->stale_len++] ? OK : ERR_NOMEM;
}

static void forget(struct remembered *r)
{
	for (unsigned i = 0; i < r->stale_len; i++)
		free(r->stale[i]);
}

enum err subscribe_known(struct session *s, bool *ret_known)
{
	struct filter_owner o = owner_of(s);
	struct remembered r = { .s = s };
	enum err e = filter_list(s->ingest->batch.store, &o, on_row, &r);

	forget(&r);
	*ret_known = r.total > 0;
	return e;
}

/* Before SUBSCRIBE leaves, the store knows; after UNSUBSCRIBE left, it forgets. */
static enum err remember(struct session *s, const struct remembered *r)
{
	struct store *st = s->ingest->batch.store;
	struct filter_owner o = owner_of(s);
	bool change = r->stale_len > 0;
	enum err e;

	for (unsigned i = 0; i < s->filters_len; i++)
		change |= !r->wanted[i];
	if (!change)
		return OK;
	e = store_begin(st);
	for (unsigned i = 0; !e && i < s->filters_len; i++)
		if (!r->wanted[i])
			e = filter_put(st, &o, s->filters[i], clock_wall_ms());
	for (unsigned i = 0; !e && i < r->stale_len; i++)
		e = filter_drop(st, &o, r->stale[i]);
	if (e)
		store_rollback(st);
	else
		e = store_commit(st);
	return e;
}

static enum err unsubscribe_stale(struct session *s, struct remembered *r)
{
	const char *list[SESSION_FILTERS];
	char topic[LOG_TOPIC_SIZE];
	enum err e;

	if (!r->stale_len)
		return OK;
	for (unsigned i = 0; i < r->stale_len; i++) {
		list[i] = r->stale[i];
		log_info("link.unsubscribe", "filter=%s",
			 log_topic(topic, span_str(list[i])));
	}
	e = link_unsubscribe(s->ingest->link, list, r->stale_len);
	return e ? e : link_flush(s->ingest->link);
}

enum err subscribe_all(struct session *s)
{
	struct filter_owner o = owner_of(s);
	struct remembered r = { .s = s };
	enum err e = filter_list(s->ingest->batch.store, &o, on_row, &r);

	s->refused = false;
	if (!e)
		e = unsubscribe_stale(s, &r);
	if (!e)
		e = remember(s, &r);
	if (!e)
		e = link_subscribe(s->ingest->link, s->filters, s->retained,
				   s->filters_len);
	if (!e)
		e = link_flush(s->ingest->link);
	forget(&r);
	return e;
}

void subscribe_on_suback(void *session, unsigned index, int code)
{
	struct session *s = session;
	char topic[LOG_TOPIC_SIZE];

	if (code == 1 || code == 2 || index >= s->filters_len)
		return;
	s->refused = true;
	log_err("link.refused", "filter=%s code=%d why=\"%s\"",
		log_topic(topic, span_str(s->filters[index])), code,
		code ? "the broker does not let this client subscribe to it; "
		       "check its access rules"
		     : "granted at QoS 0 only, which is not acknowledged; the "
		       "broker's limit on QoS must be 1 or more");
}
