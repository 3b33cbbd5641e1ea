#include "flow/maintain.h"

#include "base/log.h"
#include "store/attempt.h"
#include "store/group.h"
#include "store/letter.h"
#include "store/marker.h"
#include "store/order.h"
#include "store/space.h"

#define SWEEP_MS	1000
#define SWEEP_AGAIN_MS	50	/* a slice was full: there is more */
#define SAVE_MS		60000
/* What a boot that ends at once takes from what waits: a tenth at most. */
#define CLOCK_MS	10000
#define CLOCK_YOUNG_MS	5000
#define YOUNG_MS	100000
#define IDLE_MS		5000

enum err maintain_init(struct maintain *m, struct batch *b)
{
	struct hash h = hash_start(store_seed(b->store));

	/* Each start goes on elsewhere: short lives get round as well. */
	hash_add_int(h, (uint64_t)store_epoch(b->store));
	*m = (struct maintain){ .batch = b, .order_cursor = hash_end128(h) };
	return group_longest_ttl(b->store, &m->longest_ttl_ms);
}

static enum err sweep_events(struct store *st, int64_t before_ms,
			     struct swept *n)
{
	enum err e = store_begin(st);

	if (e)
		return e;
	e = attempt_sweep(st, before_ms, MAINTAIN_EVENTS, &n->attempts);
	if (!e)
		e = letter_sweep(st, before_ms, MAINTAIN_EVENTS, &n->letters);
	if (e)
		store_rollback(st);
	else
		e = store_commit(st);
	return e;
}

enum err maintain_slice(struct store *st, int64_t now_ms,
			int64_t longest_ttl_ms, struct swept *ret_n)
{
	bool more = false;
	enum err e = marker_drain(st, now_ms, longest_ttl_ms, MAINTAIN_ROWS,
				  &ret_n->markers, &more);

	if (!e)
		e = sweep_events(st, now_ms - longest_ttl_ms, ret_n);
	ret_n->more = more ||
		      ret_n->attempts >= MAINTAIN_EVENTS ||
		      ret_n->letters == MAINTAIN_EVENTS;
	return e;
}

/* Order keys that nothing refers to any more. */
static enum err sweep_order(struct maintain *m, int64_t now_ms)
{
	struct store *st = m->batch->store;
	struct hash_key cursor = m->order_cursor;
	unsigned n;
	enum err e = store_begin(st);

	if (e)
		return e;
	e = order_sweep(st, &cursor, now_ms - m->longest_ttl_ms, MAINTAIN_ROWS,
			&n);
	if (e)
		store_rollback(st);
	else
		e = store_commit(st);
	if (!e)
		m->order_cursor = cursor;
	return e;
}

/* What operators and replays moved is counted again. */
static enum err count_letters(struct maintain *m)
{
	struct batch *b = m->batch;
	enum err e = OK;

	if (!letter_were_moved(b->store))
		return OK;
	for (unsigned i = 0; !e && i < b->groups_len; i++)
		e = letter_totals(b->store, b->groups[i].record.group_no,
				  b->groups[i].config->dead_limit ==
					  DEAD_LIMIT_THIN,
				  &b->groups[i].open_letters,
				  &b->groups[i].kept_letters);
	return e;
}

static enum err sweep(struct maintain *m, int64_t boot_ms)
{
	struct store *st = m->batch->store;
	int64_t now = store_now_ms(st, boot_ms);
	struct swept n = { 0 };
	bool rotated = false;
	enum err e = maintain_slice(st, now, m->longest_ttl_ms, &n);

	if (!e)
		e = marker_rotate(st, now, m->longest_ttl_ms, &rotated);
	if (!e)
		e = sweep_order(m, now);
	if (rotated)
		log_info("marker.rotate", "longest_ttl_ms=%lld",
			 (long long)m->longest_ttl_ms);
	m->sweep_boot_ms = boot_ms + (n.more ? SWEEP_AGAIN_MS : SWEEP_MS);
	return e;
}

/* Idle: what is in the WAL goes into the file, once. */
static enum err checkpoint(struct maintain *m, uint64_t deliveries,
			   int64_t boot_ms)
{
	struct store *st = m->batch->store;
	bool idle;

	if (deliveries != m->last_deliveries) {
		m->last_deliveries = deliveries;
		m->last_event_boot_ms = boot_ms;
	}
	idle = boot_ms - m->last_event_boot_ms >= IDLE_MS;
	return space_checkpoint(st, idle ? 1 : SPACE_CHECKPOINT_FRAMES);
}

static enum err watch(struct maintain *m)
{
	struct store *st = m->batch->store;
	struct store_stats s;
	bool foreign = false;
	enum err e = store_foreign_writer(st, &foreign);

	if (foreign)
		log_err("store.foreign_writer", "another program wrote to the "
			"store; action=continue: only mqonce may write to it");
	store_stats(st, &s);
	if (s.wal_bytes > MAINTAIN_WAL_ALARM_BYTES && !m->wal_alarm)
		log_err("store.wal", "bytes=%lld: a reader keeps the WAL from "
			"being reused; end it", (long long)s.wal_bytes);
	m->wal_alarm = s.wal_bytes > MAINTAIN_WAL_ALARM_BYTES;
	return e;
}

static enum err save_clock(struct maintain *m, int64_t boot_ms)
{
	bool due = m->clock_boot_ms && boot_ms >= m->clock_boot_ms;

	if (!m->clock_boot_ms)
		m->first_boot_ms = boot_ms;
	if (due || !m->clock_boot_ms)
		m->clock_boot_ms = boot_ms +
			(boot_ms - m->first_boot_ms < YOUNG_MS ? CLOCK_YOUNG_MS
							       : CLOCK_MS);
	return due ? batch_save_clock(m->batch) : OK;
}

enum err maintain_turn(struct maintain *m, uint64_t deliveries,
		       int64_t boot_ms)
{
	bool sweep_due = boot_ms >= m->sweep_boot_ms;
	enum err e = checkpoint(m, deliveries, boot_ms);

	m->batch->boot_ms = boot_ms;
	if (!e && sweep_due)
		e = count_letters(m);
	if (!e && (boot_ms >= m->save_boot_ms ||
		   (sweep_due && batch_owes_payloads(m->batch)))) {
		m->save_boot_ms = boot_ms + SAVE_MS;
		e = batch_save(m->batch);
	}
	if (!e)
		e = save_clock(m, boot_ms);
	if (!e && sweep_due) {
		e = sweep(m, boot_ms);
		if (!e)
			e = watch(m);
	}
	return e;
}
