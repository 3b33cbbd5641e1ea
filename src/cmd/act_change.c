/*
 * Dead letters: discard, restore, purge.
 *
 * The selection is a snapshot: what dies after the first page is not part of
 * it.  Each page is one transaction; every letter is moved by a guarded
 * statement, so that two who ask at once cannot move one twice.
 */
#include <stdio.h>
#include <string.h>

#include "act_letters.h"
#include "store/store.h"

typedef enum err change_fn(struct store *st, int64_t id, int64_t now_ms,
			   uid_t uid);

struct change {
	const char *from;	/* state that a letter must be in */
	const char *verb;	/* name of the count in the last row */
	change_fn *fn;
};

static enum err do_discard(struct store *st, int64_t id, int64_t now_ms,
			   uid_t uid)
{
	return letter_discard(st, id, now_ms, uid);
}

static enum err do_restore(struct store *st, int64_t id, int64_t now_ms,
			   uid_t uid)
{
	return letter_move(st, id, "discarded", "open", now_ms, uid);
}

static enum err do_purge(struct store *st, int64_t id, int64_t now_ms,
			 uid_t uid UNUSED)
{
	return letter_purge(st, id, now_ms);
}

static enum err move_slice(struct act *a, const struct act_context *c,
			   const struct change *ch, const struct letters_slice *s)
{
	int64_t now = store_now_ms(c->store, c->boot_ms);
	enum err e = store_begin(c->store);

	if (e)
		return e;
	for (unsigned i = 0; !e && i < s->len; i++)
		e = ch->fn(c->store, s->ids[i], now, c->uid);
	if (!e)
		e = act_audit(a, c, s->len);
	if (e) {
		store_rollback(c->store);
		return e;
	}
	return store_commit(c->store);
}

/* purge --count N: all or nothing, so it counts first. */
static enum err check_count(struct act *a, const struct act_context *c,
			    const struct change *ch, struct err_detail *why)
{
	struct act dry = { .spec = a->spec, .json = a->json };
	int64_t want = -1, have = 0;
	enum err e = act_int(a, "count", &want, why);
	bool more = true;

	if (e || want < 0)
		return e ? e : err_say(why, ERR_USAGE, "purge needs --count N, "
				       "how many letters you expect to go");
	while (!e && more) {
		struct letters_slice s = { .len = 0 };

		e = letters_select(&dry, c, ch->from, &s, &more, why);
		dry.step++;
		have += s.len;
	}
	if (!e && have != want)
		return err_say(why, ERR_NO, "%lld discarded letters match, not "
			       "%lld: nothing was purged", (long long)have,
			       (long long)want);
	return e;
}

static enum err change(struct act *a, const struct act_context *c,
		       const struct change *ch, struct rows *out,
		       bool *ret_more, struct err_detail *why)
{
	struct letters_slice s = { .len = 0 };
	bool dry = act_flag(a, "dry-run");
	enum err e = letters_select(a, c, ch->from, &s, ret_more, why);

	a->step++;
	if (!e && !dry && s.len)
		e = move_slice(a, c, ch, &s);
	if (e)
		return e;
	a->count += s.len;
	if (*ret_more)
		return OK;
	row_begin(out);
	row_int(out, dry ? "matched" : ch->verb, a->count);
	return row_end(out) ? OK : ERR_FULL;
}

enum err act_dead_discard(struct act *a, const struct act_context *c,
			  struct rows *out, bool *ret_more,
			  struct err_detail *why)
{
	static const struct change ch = { "open", "discarded", do_discard };

	return change(a, c, &ch, out, ret_more, why);
}

enum err act_dead_restore(struct act *a, const struct act_context *c,
			  struct rows *out, bool *ret_more,
			  struct err_detail *why)
{
	static const struct change ch = { "discarded", "restored", do_restore };

	return change(a, c, &ch, out, ret_more, why);
}

enum err act_dead_purge(struct act *a, const struct act_context *c,
			struct rows *out, bool *ret_more,
			struct err_detail *why)
{
	static const struct change ch = { "discarded", "purged", do_purge };

	if (!a->step && !act_flag(a, "dry-run")) {
		enum err e = check_count(a, c, &ch, why);

		if (e)
			return e;
	}
	return change(a, c, &ch, out, ret_more, why);
}
