#include "flow/retry.h"

#include "base/log.h"

#define NOMEM_WAIT_MS	60000	/* what found no memory finds none at once */
/* Rows of a group that is not configured are looked at again after this. */
#define ORPHAN_WAIT_MS	((int64_t)3600 * 1000)

void retry_init(struct retry *r, const struct retry_options *o)
{
	*r = (struct retry){
		.batch = { .store = o->store, .groups = o->groups,
			   .groups_len = o->groups_len, .strays = o->strays },
	};
	r->batch.work = r->work;
	arena_init(&r->arena, 64 << 10, o->max_bytes);
}

void retry_fini(struct retry *r)
{
	arena_fini(&r->arena);
}

static struct group *find_group(const struct retry *r, int64_t group_no)
{
	for (unsigned i = 0; i < r->batch.groups_len; i++)
		if (r->batch.groups[i].record.group_no == group_no)
			return &r->batch.groups[i];
	return NULL;
}

static enum err put_off(struct retry *r, struct pending *p)
{
	p->due_ms = r->batch.now_ms + ORPHAN_WAIT_MS;
	return pending_wait(r->batch.store, p);
}

static enum err load_due(struct retry *r)
{
	struct batch *b = &r->batch;
	unsigned n = 0, orphans = 0;
	int64_t orphan_no = 0;
	enum err e = pending_due(b->store, b->now_ms, RETRY_ROWS, &r->arena,
				 r->rows, &n);

	for (unsigned i = 0; !e && i < n; i++) {
		struct group *g = find_group(r, r->rows[i].group_no);

		if (g) {
			r->work[b->len++] = (struct work){ .group = g,
							   .p = r->rows[i] };
		} else {
			e = put_off(r, &r->rows[i]);
			orphan_no = r->rows[i].group_no;
			orphans++;
		}
	}
	if (!e && orphans)
		log_warn("pending.orphan", "n=%u group_no=%lld action=keep "
			 "in_ms=%lld", orphans, (long long)orphan_no,
			 (long long)ORPHAN_WAIT_MS);
	return e;
}

enum err retry_refresh(struct retry *r)
{
	return pending_next_due(r->batch.store, &r->next_due_ms);
}

int64_t retry_wait_ms(const struct retry *r, int64_t boot_ms)
{
	int64_t now = store_now_ms(r->batch.store, boot_ms);

	if (r->next_due_ms == INT64_MAX)
		return -1;
	return r->next_due_ms > now ? r->next_due_ms - now : 0;
}

enum err retry_turn(struct retry *r, int64_t boot_ms)
{
	struct batch *b = &r->batch;
	enum err e;

	if (retry_wait_ms(r, boot_ms) != 0)
		return OK;
	arena_reset(&r->arena);
	b->len = 0;
	b->boot_ms = boot_ms;
	b->now_ms = store_now_ms(b->store, boot_ms);
	b->stop_boot_ms = boot_ms + RETRY_TURN_MS;
	e = store_begin(b->store);
	if (e)
		return e;
	e = load_due(r);
	if (e)
		store_rollback(b->store);
	else
		e = batch_run(b);
	if (e == ERR_NOMEM) {
		r->next_due_ms = b->now_ms + NOMEM_WAIT_MS;
		log_err("retry.memory", "action=wait in_ms=%d: raise [limits] "
			"memory", NOMEM_WAIT_MS);
	}
	return e ? e : retry_refresh(r);
}
