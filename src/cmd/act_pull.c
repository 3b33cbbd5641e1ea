/*
 * Dead letters on their way into a file: first copied, then, when whoever asked
 * says that the file is whole and synced, marked as pulled.
 */
#include <stdio.h>

#include "act_letters.h"
#include "store/store.h"

#define CHUNK_BYTES	((size_t)24 << 10)	/* divides by three: base64 */

/* a->count: letters so far; a->taken: the one under way; a->skipped: its
   bytes so far; a->cursor: ids above are through. */

struct copy {
	struct act *a;
	struct rows *out;
	const struct letters_asked *q;
	bool fits;
};

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
	row_text(k->out, "topic", l->event.topic);
	row_text(k->out, "content_type", l->event.content_type);
	row_raw(k->out, "properties", l->properties_text);
	row_int(k->out, "payload_bytes", (int64_t)l->event.payload_bytes);
	k->fits = row_end(k->out);
	if (!k->fits)
		return ERR_NO;
	k->a->taken = l->id;
	k->a->skipped = 0;
	return OK;
}

static enum err next_chunk(void *arg, const struct letter *l)
{
	struct copy *k = arg;
	struct span p = l->event.payload;
	size_t at = (size_t)k->a->skipped;
	size_t n = at < p.len ? p.len - at : 0;

	if (n > CHUNK_BYTES)
		n = CHUNK_BYTES;
	row_begin(k->out);
	row_base64(k->out, "payload_base64", span_of(p.data + at, n));
	row_bool(k->out, "last", at + n == p.len);
	k->fits = row_end(k->out);
	if (!k->fits)
		return OK;
	k->a->skipped += (int64_t)n;
	if (at + n == p.len) {
		k->a->taken = 0;
		k->a->count++;
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
			e = letter_show(c->store, a->taken, next_chunk, &k);
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
