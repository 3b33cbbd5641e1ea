/*
 * Which letters a command is to change: the named ones, or those of a filter,
 * slice by slice.  What dies after the first slice is not part of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "act_letters.h"

static bool is_full(const struct letters_slice *s)
{
	return s->len == LETTERS_SLICE || s->bytes >= LETTERS_SLICE_BYTES;
}

static enum err gather(void *arg, const struct letter *l)
{
	struct letters_slice *s = arg;

	if (!letters_match(s->q, l))
		return OK;
	if (is_full(s))
		return ERR_NO;
	s->ids[s->len++] = l->id;
	s->bytes += l->event.payload_bytes;
	return OK;
}

/* "7,12,9": the next number; false behind the last one or what is none. */
static bool next_id(const char *list, int64_t *at, int64_t *ret_id)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(list + *at, &end, 10);
	if (errno || v <= 0)
		return false;
	*at = end - list;
	if (list[*at] == ',')
		++*at;
	*ret_id = v;
	return true;
}

/* The named ones: each must be there and in the right state. */
static enum err select_named(struct act *a, const struct act_context *c,
			     struct letters_asked *q, struct letters_slice *s,
			     const char *ids, bool *ret_more,
			     struct err_detail *why)
{
	while (!is_full(s)) {
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

enum err letters_select(struct act *a, const struct act_context *c,
			const char *state, struct letters_slice *s,
			bool *ret_more, struct err_detail *why)
{
	static struct letters_asked q;	/* the slice refers to it */
	char ids[8192];
	struct span named = { 0 };
	enum err e = letters_asked(a, c, &q, why);

	if (!e)
		e = act_text(a, "ids", ids, sizeof(ids), &named, why);
	if (e)
		return e;
	if (!named.data && !is_narrow(a))
		return err_say(why, ERR_USAGE, "name letters or a filter; "
			       "--all means all of them");
	q.filter.state = span_str(state);
	s->q = &q;
	if (named.data)
		return select_named(a, c, &q, s, ids, ret_more, why);
	if (!a->step)
		a->cursor = INT64_MAX;
	e = letter_list(c->store, &q.filter, &a->cursor, LETTERS_SLICE, gather, s);
	*ret_more = a->cursor > 0;
	return e;
}
