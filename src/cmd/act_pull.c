/*
 * Dead letters on their way into a file: first copied, then, when whoever asked
 * says that the file is whole and synced, marked as pulled.
 */
#include <stdio.h>

#include "act_letters.h"
#include "base/parse.h"
#include "store/store.h"

#define CHUNK_BYTES	((size_t)24 << 10)	/* divides by three: base64 */
#define TEXT_BYTES	((size_t)8 << 10)	/* six times that fits a page */
#define SHORT_BYTES	((size_t)2 << 10)	/* goes with the letter's row */

/* a->count: letters so far; a->taken: the one under way; a->part: its member
   under way; a->skipped: bytes of that; a->cursor: ids above are through. */

struct copy {
	struct act *a;
	struct rows *out;
	const struct letters_asked *q;
	bool fits;
};

/* What may be longer than a page; the payload comes last. */
enum part { TOPIC, CONTENT_TYPE, PROPERTIES, PAYLOAD };

static struct span text_of(const struct letter *l, enum part p)
{
	switch (p) {
	case TOPIC:		return l->event.topic;
	case CONTENT_TYPE:	return l->event.content_type;
	case PROPERTIES:	return l->properties_text;
	case PAYLOAD:		break;
	}
	return l->event.payload;
}

static const char *const names[] = { "topic", "content_type", "properties" };

static void put_short_parts(struct rows *out, const struct letter *l)
{
	for (int p = TOPIC; p < PAYLOAD; p++) {
		struct span s = text_of(l, p);

		if (s.len > SHORT_BYTES)
			continue;
		if (p == PROPERTIES)
			row_raw(out, names[p], s);
		else
			row_text(out, names[p], s);
	}
}

static void next_part(struct act *a, const struct letter *l)
{
	a->skipped = 0;
	do
		a->part++;
	while (a->part < PAYLOAD &&
	       text_of(l, (enum part)a->part).len <= SHORT_BYTES);
}

static enum err begin_letter(void *arg, const struct letter *l)
{
	struct copy *k = arg;

	if (!letters_match(k->q, l) || l->pulled_as.data)
		return OK;
	row_begin(k->out);
	row_int(k->out, "id", l->id);
	row_text(k->out, "group", l->group);
	row_text(k->out, "tenant", l->who.tenant);
	row_text(k->out, "event_id", l->who.event_id);
	row_text(k->out, "kind", span_str(dead_kind_text(l->kind)));
	row_text(k->out, "first_type", span_str(l->first_type.text));
	row_text(k->out, "last_type", span_str(l->last_type.text));
	row_int(k->out, "attempts", l->attempts);
	row_int(k->out, "dead_wall_ms", l->dead_wall_ms);
	row_int(k->out, "payload_bytes", (int64_t)l->event.payload_bytes);
	put_short_parts(k->out, l);
	k->fits = row_end(k->out);
	if (!k->fits)
		return ERR_NO;
	k->a->taken = l->id;
	k->a->part = TOPIC - 1;
	next_part(k->a, l);
	return OK;
}

/* The rest of the member, as far as a row holds it. */
static struct span piece(const struct act *a, struct span s)
{
	size_t at = (size_t)a->skipped;

	s = at < s.len ? span_of(s.data + at, s.len - at) : span_of(s.data, 0);
	if (a->part == PAYLOAD)
		return span_of(s.data, s.len < CHUNK_BYTES ? s.len
							   : CHUNK_BYTES);
	return utf8_cut(s, TEXT_BYTES);
}

static enum err next_piece(void *arg, const struct letter *l)
{
	struct copy *k = arg;
	struct act *a = k->a;
	struct span all = text_of(l, (enum part)a->part), s = piece(a, all);
	bool last = (size_t)a->skipped + s.len >= all.len;

	row_begin(k->out);
	if (a->part == PAYLOAD) {
		row_base64(k->out, "payload_base64", s);
		row_bool(k->out, "last", last);
	} else {
		row_text(k->out, "member", span_str(names[a->part]));
		row_text(k->out, "text", s);
	}
	k->fits = row_end(k->out);
	if (!k->fits)
		return OK;
	a->skipped += (int64_t)s.len;
	if (last && a->part == PAYLOAD) {
		a->taken = 0;
		a->count++;
	} else if (last) {
		next_part(a, l);
	}
	return OK;
}

static enum err copy_some(struct act *a, const struct act_context *c,
			  struct letters_asked *q, struct rows *out,
			  bool *ret_more)
{
	struct copy k = { a, out, q, true };
	enum err e = OK;

	*ret_more = true;
	for (int i = 0; !e && k.fits && i < 100; i++) {
		if (a->taken)
			e = letter_show(c->store, a->taken, next_piece, &k);
		else if (a->cursor > 0 && a->count < a->limit)
			e = letter_list(c->store, &q->filter, &a->cursor, 1,
					begin_letter, &k);
		else
			break;
	}
	*ret_more = a->taken || (a->cursor > 0 && a->count < a->limit);
	return e;
}

enum err act_dead_pull(struct act *a, const struct act_context *c,
		       struct rows *out, bool *ret_more, struct err_detail *why)
{
	struct letters_asked q;
	enum err e = letters_asked(a, c, &q, why);

	if (!e && !a->step++) {
		a->cursor = INT64_MAX;
		a->limit = -1;
		e = act_int(a, "max", &a->limit, why);
		if (!e && a->limit <= 0)
			e = err_say(why, ERR_USAGE, "dead pull needs --max N, "
				    "how many letters to take at most");
		if (!e)
			e = act_audit_look(a, c, a->limit);
	}
	if (e)
		return e;
	q.filter.state = span_str("open");
	return copy_some(a, c, &q, out, ret_more);
}

enum err act_dead_pulled(struct act *a, const struct act_context *c,
			 struct rows *out, bool *ret_more,
			 struct err_detail *why)
{
	struct letters_slice s = { .len = 0 };
	char file[512];
	struct span as = act_option(a, "out", file, sizeof(file));
	enum err e = letters_select(a, c, "open", &s, ret_more, why);

	*ret_more = false;
	if (!e)
		e = store_begin(c->store);
	if (e)
		return e;
	for (unsigned i = 0; !e && i < s.len; i++)
		e = letter_pulled(c->store, s.ids[i], as,
				  store_now_ms(c->store, c->boot_ms), c->uid);
	if (!e)
		e = act_audit(a, c, s.len);
	if (e)
		store_rollback(c->store);
	else
		e = store_commit(c->store);
	if (e)
		return e;
	row_begin(out);
	row_int(out, "pulled", s.len);
	return row_end(out) ? OK : ERR_FULL;
}
