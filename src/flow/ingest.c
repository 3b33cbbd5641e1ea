#include "flow/ingest.h"

#include <stdlib.h>

#include "base/crash.h"
#include "base/log.h"
#include "core/topic.h"
#include "store/space.h"

void ingest_init(struct ingest *in, const struct ingest_options *o)
{
	size_t chunk = (size_t)o->limits->batch_bytes;

	*in = (struct ingest){
		.batch = { .store = o->store, .groups = o->groups,
			   .groups_len = o->groups_len, .ungrouped = o->ungrouped },
		.limits = o->limits,
		.client_id = o->client_id,
		.window = (unsigned)o->limits->batch,
		.careful = store_last_end(o->store) == STORE_DIED,
	};
	/* One read may bring far more than a batch: as much as memory holds. */
	arena_init(&in->arena, chunk, (size_t)o->limits->memory / 2);
}

void ingest_fini(struct ingest *in)
{
	link_free(in->link);
	in->link = NULL;
	arena_fini(&in->arena);
	free(in->work);
	in->work = NULL;
}

static bool copy_properties(struct arena *a, struct event *ev)
{
	struct property *p;

	if (!ev->properties_len)
		return true;
	p = arena_take(a, ev->properties_len * sizeof(*p));
	if (!p)
		return false;
	for (unsigned i = 0; i < ev->properties_len; i++)
		if (!arena_copy(a, ev->properties[i].name, &p[i].name) ||
		    !arena_copy(a, ev->properties[i].value, &p[i].value))
			return false;
	ev->properties = p;
	return true;
}

static bool copy_event(struct arena *a, struct event *ev)
{
	return arena_copy(a, ev->topic, &ev->topic) &&
	       arena_copy(a, ev->payload, &ev->payload) &&
	       arena_copy(a, ev->content_type, &ev->content_type) &&
	       arena_copy(a, ev->correlation, &ev->correlation) &&
	       copy_properties(a, ev);
}

static struct work *next_work(struct ingest *in)
{
	struct batch *b = &in->batch;

	if (b->len == in->work_size) {
		unsigned size = in->work_size ? in->work_size * 2 : 64;
		struct work *w = realloc(in->work, size * sizeof(*w));

		if (!w)
			return NULL;
		in->work = b->work = w;
		in->work_size = size;
	}
	b->work[b->len] = (struct work){ 0 };
	return &b->work[b->len++];
}

static bool add_work(struct ingest *in, struct group *g, const struct event *ev)
{
	uint64_t seed = store_seed(in->batch.store);
	struct work *w = next_work(in);

	if (!w)
		return false;
	w->group = g;
	w->p.group_no = g->record.group_no;
	w->p.recipe = g->record.recipe;
	w->p.event = *ev;
	if (!identity_of(g->config, g->record.group_no, seed, &w->p.event,
			 &in->arena, &w->p.who))
		return false;
	return order_of(g->config, g->record.group_no, seed, w->p.who.tenant,
			&w->p.event, &in->arena, &w->order);
}

/* Acknowledged, counted, told of once a topic: outside the promise. */
static void count_unmatched(struct ingest *in, const struct event *ev)
{
	struct hash h = hash_start(0);
	char topic[LOG_TOPIC_SIZE];
	uint64_t v;

	in->batch.ungrouped->unmatched++;
	in->batch.ungrouped->received++;
	hash_add(h, ev->topic);
	v = hash_end64(h);
	for (unsigned i = 0; i < in->unmatched_len; i++)
		if (in->unmatched_hash[i] == v)
			return;
	if (in->unmatched_len == INGEST_UNMATCHED)
		return;
	in->unmatched_hash[in->unmatched_len++] = v;
	log_warn("event.unmatched", "topic=%s action=acknowledge",
		 log_topic(topic, ev->topic));
}

void ingest_deliver(struct ingest *in, const struct event *delivered)
{
	struct batch *b = &in->batch;
	struct event ev = *delivered;
	bool wanted = false;

	in->deliveries++;
	if (topic_is_own(delivered->topic, in->client_id))
		return;		/* the daemon's own: for no group */
	for (unsigned i = 0; !in->overflow && i < b->groups_len; i++) {
		if (!group_wants(&b->groups[i], delivered->topic))
			continue;
		/* One copy serves all groups. */
		if (!wanted)
			in->overflow = !copy_event(&in->arena, &ev);
		wanted = true;
		if (!in->overflow)
			in->overflow = !add_work(in, &b->groups[i], &ev);
	}
	if (!wanted && !in->overflow)
		count_unmatched(in, delivered);
}

static void start(struct ingest *in, int64_t boot_ms)
{
	struct batch *b = &in->batch;

	arena_reset(&in->arena);
	in->overflow = false;
	b->len = 0;
	b->boot_ms = boot_ms;
	b->now_ms = store_now_ms(b->store, boot_ms);
	b->stop_boot_ms = boot_ms + INGEST_TURN_MS;
	b->careful = in->careful &&
		     in->deliveries < (uint64_t)in->limits->batch;
}

/* Nothing owed on this connection is ever sent. */
static enum err give_up(struct ingest *in, enum err e)
{
	store_rollback(in->batch.store);
	link_free(in->link);
	in->link = NULL;
	return e;
}

/* A broker that sends more than memory holds: ask for less the next time. */
static enum err too_much(struct ingest *in)
{
	in->window = in->window > 1 ? in->window / 2 : 1;
	log_err("ingest.memory", "limit=%lld action=reconnect window=%u",
		(long long)in->limits->memory, in->window);
	return give_up(in, ERR_NOMEM);
}

/* The promise, in its order: take the lock, read, commit, acknowledge. */
enum err ingest_turn(struct ingest *in, int64_t boot_ms)
{
	enum err e, read_err;

	start(in, boot_ms);
	e = store_begin(in->batch.store);	/* no lock, no read */
	if (e)
		return e == ERR_BUSY ? e : give_up(in, e);

	read_err = link_read(in->link, (unsigned)in->limits->batch,
			     (size_t)in->limits->batch_bytes);
	if (in->overflow)
		return too_much(in);
	crash_point("read.after");

	e = batch_run(&in->batch);
	if (e)
		return give_up(in, e);
	if (read_err)
		return read_err;
	e = link_flush(in->link);
	crash_point("flush.after");
	return e;
}

static enum ingest_block look_at_group(const struct ingest *in,
				       const struct group *g)
{
	if (g->pending_rows >= in->limits->pending_rows ||
	    g->pending_bytes >= in->limits->pending_bytes)
		return INGEST_PENDING_FULL;
	if (g->config->dead_limit == DEAD_LIMIT_STOP &&
	    g->open_letters >= g->config->max_dead)
		return INGEST_DEAD_FULL;
	return INGEST_OPEN;
}

enum err ingest_look(struct ingest *in, enum ingest_block *ret_why,
		     const struct group **ret_group)
{
	const struct batch *b = &in->batch;
	int64_t room = 0;
	enum err e = space_headroom(b->store, &room);

	if (e)
		return e;
	*ret_why = INGEST_OPEN;
	if (room < space_reserve(b->store))
		*ret_why = INGEST_NO_SPACE;
	for (unsigned i = 0; i < b->groups_len && !*ret_why; i++) {
		const struct group *g = &b->groups[i];

		*ret_why = look_at_group(in, g);
		if (*ret_why)
			*ret_group = g;
	}
	return OK;
}
