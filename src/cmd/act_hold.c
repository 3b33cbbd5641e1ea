/* A group held back, or let go again. */
#include "act.h"
#include "daemon.h"
#include "store/group.h"
#include "store/store.h"

/* Memory follows the commit. */
static void tell_daemon(const struct act_context *c, int64_t group_no,
			bool paused)
{
	struct daemon *d = c->daemon;

	for (unsigned i = 0; d && i < d->config->groups_len; i++)
		if (d->groups[i].record.group_no == group_no)
			d->groups[i].record.paused = paused;
}

static enum err set(struct act *a, const struct act_context *c, bool paused,
		    int64_t group_no)
{
	enum err e = store_begin(c->store);

	if (e)
		return e;
	e = group_pause(c->store, group_no, paused);
	if (!e)
		e = act_audit(a, c, 1);
	if (e) {
		store_rollback(c->store);
		return e;
	}
	e = store_commit(c->store);
	if (!e)
		tell_daemon(c, group_no, paused);
	return e;
}

static enum err hold(struct act *a, const struct act_context *c, bool paused,
		     struct rows *out, bool *ret_more, struct err_detail *why)
{
	int64_t group_no = 0;
	enum err e = act_group(a, c, &group_no, why);

	*ret_more = false;
	if (!e && !group_no)
		e = err_say(why, ERR_USAGE, "name a group; `mqonce group list` "
			    "shows them");
	if (!e)
		e = set(a, c, paused, group_no);
	if (e == ERR_GONE)
		return err_say(why, ERR_NO, "the group is %s already",
			       paused ? "paused" : "running");
	if (e)
		return e;
	if (c->daemon)
		e = retry_refresh(&c->daemon->retry);
	row_begin(out);
	row_bool(out, "paused", paused);
	return row_end(out) ? e : ERR_FULL;
}

enum err act_group_pause(struct act *a, const struct act_context *c,
			 struct rows *out, bool *ret_more,
			 struct err_detail *why)
{
	return hold(a, c, true, out, ret_more, why);
}

enum err act_group_resume(struct act *a, const struct act_context *c,
			  struct rows *out, bool *ret_more,
			  struct err_detail *why)
{
	return hold(a, c, false, out, ret_more, why);
}
