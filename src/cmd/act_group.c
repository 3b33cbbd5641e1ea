/* Groups under another name, and groups that are gone for good. */
#include <stdio.h>

#include "act_letters.h"
#include "store/group.h"
#include "store/pending.h"
#include "store/store.h"

#define SLICE	200	/* letters of one transaction */

struct named {
	struct group_record record;
	char text[160];		/* as asked for: "OLD,NEW" or "NAME" */
	struct span name, other;
};

/* What is configured is written under its name at every start. */
static enum err find(const struct act *a, const struct act_context *c,
		     struct named *n, struct err_detail *why)
{
	char name[72];
	enum err e;

	n->name = span_cut(act_option(a, "names", n->text, sizeof(n->text)),
			   ',', &n->other);
	if (!n->name.len)
		return err_say(why, ERR_USAGE, "name the group");
	snprintf(name, sizeof(name), "%.*s", SPAN_FMT(n->name));
	e = group_find(c->store, name, &n->record);
	if (e == ERR_NO)
		return err_say(why, e, "no group \"%s\"; `mqonce group list` "
			       "shows them", name);
	if (!e && config_group(c->config, n->name))
		return err_say(why, ERR_NO, "group %s is configured; stop the "
			       "daemon, take the name out of the "
			       "configuration, then ask again", name);
	return e;
}

static enum err finish(const struct act *a, const struct act_context *c,
		       enum err e, int64_t n)
{
	if (!e)
		e = act_audit(a, c, n);
	if (!e)
		return store_commit(c->store);
	store_rollback(c->store);
	return e;
}

/*
 * A name that was configured too early has a row, and no records yet: that row
 * makes way (*ret_row), unless a daemon works with it.
 */
static enum err check_new(const struct act_context *c, const struct named *n,
			  int64_t *ret_row, struct err_detail *why)
{
	struct group_record other;
	bool records = false;
	char name[72];
	enum err e;

	*ret_row = 0;
	snprintf(name, sizeof(name), "%.*s", SPAN_FMT(n->other));
	if (!config_is_group_name(n->other))
		return err_say(why, ERR_USAGE, "\"%s\" cannot be a group's "
			       "name: letters, digits, _ and -, 64 at most",
			       name);
	e = group_find(c->store, name, &other);
	if (e)
		return e == ERR_NO ? OK : e;
	e = group_has_records(c->store, other.group_no, &records);
	if (e)
		return e;
	if (records || other.group_no == n->record.group_no)
		return err_say(why, ERR_NO, "group %s is there already, with "
			       "records of its own", name);
	if (c->daemon && config_group(c->config, n->other))
		return err_say(why, ERR_NO, "the daemon works with group %s; "
			       "stop it, then ask again", name);
	*ret_row = other.group_no;
	return OK;
}

static enum err rename_to(const struct act_context *c, const struct named *n,
			  int64_t empty_row)
{
	enum err e = empty_row ? group_drop(c->store, empty_row) : OK;

	return e ? e : group_rename(c->store, n->record.group_no, n->other);
}

enum err act_group_rename(struct act *a, const struct act_context *c,
			  struct rows *out, bool *ret_more,
			  struct err_detail *why)
{
	struct named n;
	int64_t empty_row = 0;
	enum err e = find(a, c, &n, why);

	*ret_more = false;
	if (!e)
		e = check_new(c, &n, &empty_row, why);
	if (!e)
		e = store_begin(c->store);
	if (e)
		return e;
	e = finish(a, c, rename_to(c, &n, empty_row), 1);
	if (e)
		return e;
	row_begin(out);
	row_text(out, "group", n.other);
	row_text(out, "was", n.name);
	return row_end(out) ? OK : ERR_FULL;
}

/* Nothing that waits for somebody may go; looks at a part at a time. */
static enum err check_unused(struct act *a, const struct act_context *c,
			     const struct named *n, struct err_detail *why)
{
	int64_t rows = 0, bytes = 0, id = 0;
	enum err e = pending_totals(c->store, n->record.group_no, &rows,
				    &bytes);

	if (!e && rows)
		return err_say(why, ERR_NO, "%lld events of group %.*s wait; "
			       "they need the group", (long long)rows,
			       SPAN_FMT(n->name));
	if (!e)
		e = letter_unresolved(c->store, n->record.group_no, &a->cursor,
				      &id);
	if (!e && id)
		return err_say(why, ERR_NO, "letter %lld of group %.*s is not "
			       "resolved; discard and purge what is of no use",
			       (long long)id, SPAN_FMT(n->name));
	return e;
}

/* A slice of its letters and, behind the last one, the group. */
static enum err drop_slice(struct act *a, const struct act_context *c,
			   const struct named *n, bool *ret_more)
{
	unsigned letters = 0;
	enum err e = store_begin(c->store);

	if (e)
		return e;
	e = letter_drop_of_group(c->store, n->record.group_no, SLICE, &letters);
	*ret_more = !e && letters == SLICE;
	if (!e && !*ret_more)
		e = group_drop(c->store, n->record.group_no);
	a->count += letters;
	if (!e && *ret_more)
		return store_commit(c->store);
	return finish(a, c, e, a->count);
}

enum err act_group_drop(struct act *a, const struct act_context *c,
			struct rows *out, bool *ret_more,
			struct err_detail *why)
{
	struct named n;
	enum err e = find(a, c, &n, why);

	*ret_more = true;
	if (!e && !a->step) {
		e = check_unused(a, c, &n, why);
		a->step = !a->cursor;
		return e;
	}
	if (!e)
		e = drop_slice(a, c, &n, ret_more);
	if (e || *ret_more)
		return e;
	row_begin(out);
	row_text(out, "dropped", n.name);
	row_int(out, "letters", a->count);
	return row_end(out) ? OK : ERR_FULL;
}
