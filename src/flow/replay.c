#include "flow/replay.h"

#include "base/log.h"
#include "store/job.h"

#define LOOK_MS	50	/* while letters are in flight */

void replay_init(struct replay *r, struct store *st)
{
	*r = (struct replay){ .store = st };
}

void replay_wake(struct replay *r)
{
	r->idle = false;
	r->next_boot_ms = 0;
}

void replay_defer(struct replay *r, int64_t boot_ms)
{
	if (r->next_boot_ms < boot_ms)
		r->next_boot_ms = boot_ms;
}

static enum err start_items(struct replay *r, const struct job *j, unsigned max,
			    int64_t now_ms, unsigned *ret_n)
{
	int64_t ids[REPLAY_IN_FLIGHT];
	enum err e = job_waiting(r->store, j->id, max, ids, ret_n);

	for (unsigned i = 0; !e && i < *ret_n; i++)
		e = job_start_item(r->store, j->id, ids[i], now_ms);
	return e;
}

static enum err end_or_go_on(struct replay *r, const struct job *j,
			     int64_t now_ms)
{
	bool done = false;
	enum err e = job_finish(r->store, j->id, now_ms, &done);

	if (!e && done)
		log_info("job.done", "job=%lld", (long long)j->id);
	return e;
}

/* Never so many in flight that more could fail than stop the job. */
static unsigned room(const struct job *j)
{
	int64_t most = REPLAY_IN_FLIGHT;

	if (j->stop_after && j->stop_after - j->failed < most)
		most = j->stop_after - j->failed;
	if (j->running >= most)
		return 0;
	return j->rate ? 1 : (unsigned)(most - j->running);
}

/* Those that started are run at once, and then come the next. */
static int64_t pause_ms(const struct job *j, unsigned started)
{
	if (j->rate)
		return 1000 / j->rate;
	return started ? 0 : LOOK_MS;
}

enum err replay_turn(struct replay *r, int64_t boot_ms, bool *ret_started)
{
	struct job j = { 0 };
	unsigned n = 0;
	enum err e;

	*ret_started = false;
	if (r->idle || boot_ms < r->next_boot_ms)
		return OK;
	e = job_current(r->store, REPLAY_IN_FLIGHT, &j);
	r->idle = !e && !j.id;
	if (e || r->idle)
		return e;
	e = store_begin(r->store);
	if (e)
		return e;
	if (room(&j))
		e = start_items(r, &j, room(&j),
				store_now_ms(r->store, boot_ms), &n);
	if (!e && !n && !j.running)
		e = end_or_go_on(r, &j, store_now_ms(r->store, boot_ms));
	if (e) {
		store_rollback(r->store);
		return e;
	}
	r->next_boot_ms = boot_ms + pause_ms(&j, n);
	*ret_started = n > 0;
	return store_commit(r->store);
}

int64_t replay_wait_ms(const struct replay *r, int64_t boot_ms)
{
	if (r->idle)
		return -1;
	return r->next_boot_ms > boot_ms ? r->next_boot_ms - boot_ms : 0;
}
