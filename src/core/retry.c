#include "core/retry.h"

static int64_t add_capped(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Stops at max_ms before it doubles, so that it cannot overflow. */
static int64_t next_wait_ms(const struct retry_policy *p, int64_t wait_ms)
{
	return wait_ms > p->max_ms / 2 ? p->max_ms : wait_ms * 2;
}

static int64_t nth_wait_ms(const struct retry_policy *p, unsigned attempts)
{
	int64_t wait_ms = p->initial_ms;

	for (unsigned i = 1; i < attempts && wait_ms < p->max_ms; i++)
		wait_ms = next_wait_ms(p, wait_ms);
	return wait_ms;
}

/* Twenty per cent either way: what failed together does not return together. */
static int64_t spread_ms(int64_t wait_ms, uint32_t jitter)
{
	int64_t fifth_ms = wait_ms / 5;

	return add_capped(wait_ms - fifth_ms,
			  (int64_t)(jitter % (2 * fifth_ms + 1)));
}

static struct verdict bury(enum dead_kind kind)
{
	return (struct verdict){ .kind = VERDICT_BURY, .dead = kind };
}

struct verdict retry_judge(const struct retry_policy *p, enum outcome outcome,
			   const struct retry_history *h, int64_t now_ms)
{
	int64_t end_ms = add_capped(h->window_start_ms, p->window_ms);
	int64_t due_ms;

	switch (outcome) {
	case OUTCOME_OK: return (struct verdict){ .kind = VERDICT_DONE };
	case OUTCOME_PERMANENT: return bury(DEAD_PERMANENT);
	case OUTCOME_POISON: return bury(DEAD_POISON);
	case OUTCOME_TRANSIENT: break;
	}

	if (h->attempts >= p->max_attempts || now_ms >= end_ms)
		return bury(DEAD_EXHAUSTED);

	due_ms = add_capped(now_ms,
			    spread_ms(nth_wait_ms(p, h->attempts), h->jitter));
	return (struct verdict){
		.kind = VERDICT_WAIT,
		.due_ms = due_ms < end_ms ? due_ms : end_ms,
	};
}

/*
 * By the policy that set it no wait ends behind its window, and none is longer
 * than max_ms and a fifth: one that does is an older policy's.
 */
struct verdict retry_recheck(const struct retry_policy *p,
			     const struct retry_history *h, int64_t due_ms,
			     int64_t now_ms)
{
	int64_t end_ms = add_capped(h->window_start_ms, p->window_ms);
	int64_t last_ms =
		add_capped(now_ms, add_capped(p->max_ms, p->max_ms / 5));

	if (h->attempts >= p->max_attempts)
		return bury(DEAD_EXHAUSTED);
	if (h->attempts && due_ms > end_ms) {
		if (now_ms >= end_ms)
			return bury(DEAD_EXHAUSTED);
		due_ms = end_ms;
	}
	if (due_ms > last_ms)
		due_ms = add_capped(now_ms, spread_ms(p->max_ms, h->jitter));
	return (struct verdict){ .kind = VERDICT_WAIT, .due_ms = due_ms };
}

int64_t retry_span_ms(const struct retry_policy *p)
{
	int64_t wait_ms = p->initial_ms, sum_ms = 0, rest_ms;
	unsigned i = 1;

	for (; i < p->max_attempts && wait_ms < p->max_ms; i++) {
		sum_ms = add_capped(sum_ms, wait_ms);
		wait_ms = next_wait_ms(p, wait_ms);
	}
	if (i >= p->max_attempts)
		return sum_ms;
	if (__builtin_mul_overflow(wait_ms, (int64_t)(p->max_attempts - i),
				   &rest_ms))
		return INT64_MAX;
	return add_capped(sum_ms, rest_ms);
}
