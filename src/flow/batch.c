#include "flow/batch.h"

#include <string.h>

#include "base/crash.h"
#include "settle.h"
#include "store/letter.h"

/* A moment of store time may be lost at a power cut, not more. */
#define CLOCK_SAVE_MS	5000

#define THIN_ROWS	500	/* letters that lose their payload at once */

static void forget_changes(struct batch *b)
{
	for (unsigned i = 0; i < b->groups_len; i++)
		b->groups[i].change = (struct group_change){
			.breaker = b->groups[i].record.breaker };
	b->wrote = false;
}

static void add(struct counters *to, const struct counters *c)
{
#define ADD_(name) to->name += c->name;
	COUNTER_LIST(ADD_)
#undef ADD_
}

static bool any(const struct counters *c)
{
	static const struct counters none;

	return memcmp(c, &none, sizeof(none)) != 0;
}

/* Memory follows the commit. */
static void apply_changes(struct batch *b)
{
	for (unsigned i = 0; i < b->groups_len; i++) {
		struct group *g = &b->groups[i];

		if (b->wrote)
			g->unsaved = (struct counters){ 0 };
		else
			add(&g->unsaved, &g->change.counters);
		group_log_change(g);
		g->pending_rows += g->change.pending_rows;
		g->pending_bytes += g->change.pending_bytes;
		g->open_letters += g->change.open_letters;
		g->kept_letters += g->change.kept_letters;
		g->record.breaker = g->change.breaker;
	}
	if (b->wrote)
		*b->ungrouped = (struct counters){ 0 };
	forget_changes(b);
}

static enum err save_counters(struct batch *b)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < b->groups_len; i++) {
		struct group *g = &b->groups[i];
		struct counters sum = g->unsaved;

		add(&sum, &g->change.counters);
		if (any(&sum))
			e = counter_add(b->store, g->record.group_no, &sum);
	}
	if (!e && any(b->ungrouped))
		e = counter_add(b->store, COUNTER_NO_GROUP, b->ungrouped);
	return e;
}

/* Opening and closing is one row, with the batch that caused it. */
static enum err save_breakers(struct batch *b)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < b->groups_len; i++) {
		const struct group *g = &b->groups[i];
		const struct breaker *then = &g->record.breaker;
		const struct breaker *now = &g->change.breaker;

		if (now->open != then->open ||
		    now->open_total_ms != then->open_total_ms)
			e = group_breaker_put(b->store, g->record.group_no,
					      then, now);
	}
	return e;
}

static int64_t surplus(const struct group *g)
{
	int64_t n = g->kept_letters + g->change.kept_letters -
		    g->config->max_dead;

	return g->config->dead_limit == DEAD_LIMIT_THIN && n > 0 ? n : 0;
}

/* max_dead = N thin: the newest N letters keep their payload. */
static enum err thin_letters(struct batch *b)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < b->groups_len; i++) {
		struct group *g = &b->groups[i];
		int64_t n = surplus(g);
		unsigned gone = 0;

		if (!n)
			continue;
		e = letter_thin(b->store, g->record.group_no,
				n < THIN_ROWS ? (unsigned)n : THIN_ROWS, &gone);
		g->change.kept_letters -= gone;
		g->change.thinned += gone;
	}
	return e;
}

static enum err save_clock(struct batch *b)
{
	int64_t now = store_now_ms(b->store, b->boot_ms);
	enum err e;

	if (now - b->clock_saved_ms < CLOCK_SAVE_MS)
		return OK;
	e = store_clock_put(b->store, b->boot_ms);
	if (!e)
		b->clock_saved_ms = now;
	return e;
}

/* This owner got something done, whatever it may die of. */
static enum err save_fruit(struct batch *b)
{
	if (b->fruitful || !store_barren_deaths(b->store))
		return OK;
	return store_fruitful_put(b->store);
}

static enum err commit(struct batch *b)
{
	enum err e = OK;

	if (b->wrote && b->len)
		e = save_fruit(b);
	if (!e && b->wrote)
		e = thin_letters(b);
	if (!e && b->wrote)
		e = save_counters(b);
	if (!e && b->wrote)
		e = save_breakers(b);
	if (!e && b->wrote)
		e = save_clock(b);
	crash_point("commit.before");
	if (!e)
		e = store_commit(b->store);
	if (!e) {
		apply_changes(b);
		b->fruitful |= b->wrote && b->len;
	}
	crash_point("commit.after");
	return e;
}

/* Settles [from, to); *ret_end is where it had to stop, or @to. */
static enum err settle_range(struct batch *b, unsigned from, unsigned to,
			     unsigned *ret_end)
{
	enum settled how = SETTLED;
	enum err e = OK;
	unsigned i;

	for (i = from; !e && i < to; i++) {
		e = settle(b, &b->work[i], &how);
		if (how == SETTLED_NOT)
			break;
	}
	*ret_end = i;
	return e;
}

static enum err start_over(struct batch *b)
{
	store_rollback(b->store);
	forget_changes(b);
	return store_begin(b->store);
}

/*
 * [from, to) is what the open transaction is to hold.  When an event at @end
 * spoils it, the ones before are done again as one batch; with none before, it
 * goes alone.
 */
static enum err run(struct batch *b)
{
	unsigned from = 0, to = b->len, end;
	enum err e = OK;

	while (!e) {
		e = settle_range(b, from, to, &end);
		if (!e && end < to) {
			to = end > from ? end : from + 1;
			e = start_over(b);
			continue;
		}
		if (!e)
			e = commit(b);
		if (e || to == b->len)
			break;
		from = to;
		to = b->work[from].alone ? from + 1 : b->len;
		e = store_begin(b->store);
	}
	return e;
}

enum err batch_run(struct batch *b)
{
	enum err e;

	forget_changes(b);
	e = run(b);
	if (e) {
		store_rollback(b->store);
		forget_changes(b);
	}
	return e;
}

bool batch_owes_payloads(const struct batch *b)
{
	for (unsigned i = 0; i < b->groups_len; i++)
		if (surplus(&b->groups[i]))
			return true;
	return false;
}

static enum err save(struct batch *b)
{
	enum err e = store_begin(b->store);

	if (e)
		return e;
	forget_changes(b);
	b->wrote = true;
	e = commit(b);
	if (e) {
		store_rollback(b->store);
		forget_changes(b);
	}
	return e;
}

enum err batch_save(struct batch *b)
{
	bool dirty = any(b->ungrouped);

	for (unsigned i = 0; i < b->groups_len; i++)
		dirty |= any(&b->groups[i].unsaved);
	return dirty || batch_owes_payloads(b) ? save(b) : OK;
}

enum err batch_save_clock(struct batch *b)
{
	int64_t waiting = 0;

	for (unsigned i = 0; i < b->groups_len; i++)
		waiting += b->groups[i].pending_rows;
	return waiting ? save(b) : OK;
}
