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

#define SLICE	500		/* letters of one transaction */

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
	return letter_move(st, id, "open", "discarded", now_ms, uid);
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

/* Letters of the slice, gathered before any is moved. */
struct slice {
	const struct letters_asked *q;
	int64_t ids[SLICE];
	unsigned len;
};

static enum err gather(void *arg, const struct letter *l)
{
	struct slice *s = arg;

	if (!letters_match(s->q, l))
		return OK;
	if (s->len == SLICE)
		return ERR_NO;
	s->ids[s->len++] = l->id;
	return OK;
}

static enum err move_slice(struct act *a, const struct act_context *c,
			   const struct change *ch, const struct slice *s)
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

/* "7,12,9": the next number; false behind the last one or what is none. */
static bool next_id(const char *list, int64_t *at, int64_t *ret_id)
{
	int n = 0;
	long long v;

	if (sscanf(list + *at, "%lld%n", &v, &n) != 1 || v <= 0)
		return false;
	*at += n;
	if (list[*at] == ',')
		++*at;
	*ret_id = v;
	return true;
}

/* The named ones: each must be there and in the right state. */
static enum err select_named(struct act *a, const struct act_context *c,
			     struct letters_asked *q, struct slice *s,
			     const char *ids, bool *ret_more,
			     struct err_detail *why)
{
	while (s->len < SLICE) {
		unsigned before = s->len;
		int64_t id = 0, from = INT64_MAX;
		enum err e;

		if (!next_id(ids, &a->cursor, &id)) {
			*ret_more = false;
			return ids[a->cursor] ? err_say(why, ERR_USAGE, "\"%s\" "
				"is no list of numbers", ids) : OK;
		}
		q->filter.id = id;
		e = letter_list(c->store, &q->filter, &from, 1, gather, s);
		if (!e && s->len == before)
			e = err_say(why, ERR_NO, "no letter %lld in state %.*s",
				    (long long)id, SPAN_FMT(q->filter.state));
		if (e)
			return e;
	}
	*ret_more = true;
	return OK;
}

static bool is_narrow(const struct act *a)
{
	static const char *const names[] = { "group", "tenant", "kind", "type",
					     "topic", "since", "until",
					     "event", "all" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (act_flag(a, names[i]))
			return true;
	return false;
}

static enum err select_slice(struct act *a, const struct act_context *c,
			     const struct change *ch, struct slice *s,
			     bool *ret_more, struct err_detail *why)
{
	static struct letters_asked q;	/* the slice refers to it */
	char ids[8192];
	bool named = act_option(a, "ids", ids, sizeof(ids)).data;
	enum err e = letters_asked(a, c, &q, why);

	if (e)
		return e;
	if (!named && !is_narrow(a))
		return err_say(why, ERR_USAGE, "name letters or a filter; "
			       "--all means all of them");
	q.filter.state = span_str(ch->from);
	s->q = &q;
	if (named)
		return select_named(a, c, &q, s, ids, ret_more, why);
	if (!a->step)
		a->cursor = INT64_MAX;
	e = letter_list(c->store, &q.filter, &a->cursor, SLICE, gather, s);
	*ret_more = a->cursor > 0;
	return e;
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
		struct slice s = { .len = 0 };

		e = select_slice(&dry, c, ch, &s, &more, why);
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
	struct slice s = { .len = 0 };
	bool dry = act_flag(a, "dry-run");
	enum err e = select_slice(a, c, ch, &s, ret_more, why);

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
