/* What nobody needs any more: told of, or taken away slice by slice. */
#include "act.h"
#include "flow/maintain.h"
#include "store/attempt.h"
#include "store/group.h"
#include "store/letter.h"
#include "store/marker.h"
#include "store/store.h"

static enum err count_row(struct rows *out, const char *what, int64_t no,
			  int64_t n)
{
	row_begin(out);
	row_text(out, "what", span_str(what));
	if (no >= 0)
		row_int(out, "generation", no);
	else
		row_text(out, "generation", (struct span){ 0 });
	row_int(out, "n", n);
	return row_end(out) ? OK : ERR_FULL;	/* a handful always fits */
}

static enum err generation_row(void *arg, int no, int64_t n)
{
	return count_row(arg, "markers", no, n);
}

/* Counts whole tables: for a process that nobody waits for. */
static enum err tell(const struct act_context *c, int64_t now, int64_t ttl_ms,
		     struct rows *out)
{
	int64_t attempts = 0, letters = 0;
	enum err e = marker_expired(c->store, now, ttl_ms, generation_row, out);

	if (!e)
		e = attempt_count_old(c->store, now - ttl_ms, &attempts);
	if (!e)
		e = letter_count_old(c->store, now - ttl_ms, &letters);
	if (!e)
		e = count_row(out, "attempts", -1, attempts);
	return e ? e : count_row(out, "resolved letters", -1, letters);
}

static enum err finish(const struct act *a, const struct act_context *c)
{
	enum err e = store_begin(c->store);

	if (e)
		return e;
	e = act_audit(a, c, a->count + a->taken + a->skipped);
	if (!e)
		return store_commit(c->store);
	store_rollback(c->store);
	return e;
}

/* a->count: markers; a->taken: attempts; a->skipped: letters. */
enum err act_store_sweep(struct act *a, const struct act_context *c,
			 struct rows *out, bool *ret_more,
			 struct err_detail *why UNUSED)
{
	int64_t now = store_now_ms(c->store, c->boot_ms), ttl_ms = 0;
	struct swept n = { 0 };
	enum err e = group_longest_ttl(c->store, &ttl_ms);

	*ret_more = false;
	if (e || act_flag(a, "dry-run"))
		return e ? e : tell(c, now, ttl_ms, out);
	e = maintain_slice(c->store, now, ttl_ms, &n);
	a->count += n.markers;
	a->taken += n.attempts;
	a->skipped += n.letters;
	*ret_more = !e && n.more;
	if (!e && !n.more)
		e = finish(a, c);
	if (e || n.more)
		return e;
	e = count_row(out, "markers", -1, a->count);
	if (!e)
		e = count_row(out, "attempts", -1, a->taken);
	return e ? e : count_row(out, "resolved letters", -1, a->skipped);
}
