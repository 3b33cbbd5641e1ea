/* Dead letters: looking at them. */
#include <stdio.h>
#include <string.h>

#include "act_letters.h"
#include "base/clock.h"
#include "base/parse.h"
#include "store/attempt.h"
#include "store/store.h"

#define PAGE_ROWS	200
#define PROPERTIES_SHOWN ((size_t)16 << 10)
#define CHUNK_BYTES	((size_t)24 << 10)	/* of a payload, in one row */

/* "30m" ago, or milliseconds since 1970. */
static enum err take_time(const struct act *a, const char *name,
			  int64_t *ret_wall_ms, struct err_detail *why)
{
	char buf[48];
	struct span s = act_option(a, name, buf, sizeof(buf));
	int64_t ms;

	if (!s.data)
		return OK;
	if (parse_uint(s, ret_wall_ms) == OK)
		return OK;
	if (parse_duration_ms(s, &ms))
		return err_say(why, ERR_USAGE, "--%s wants how long ago, such "
			       "as 30m or 2d, not \"%s\"", name, buf);
	*ret_wall_ms = clock_wall_ms() - ms;
	return OK;
}

static enum err take_texts(const struct act *a, struct letters_asked *q,
			   struct err_detail *why)
{
	struct letter_filter *f = &q->filter;
	const struct {
		const char *name;
		char *buf;
		size_t size;
		struct span *to;
	} texts[] = {
		{ "tenant", q->tenant, sizeof(q->tenant), &f->tenant },
		{ "kind", q->kind, sizeof(q->kind), &f->kind },
		{ "type", q->type, sizeof(q->type), &f->type },
		{ "state", q->state, sizeof(q->state), &f->state },
		{ "event", q->event, sizeof(q->event), &f->event_id },
		{ "topic", q->topic_text, sizeof(q->topic_text), &q->topic },
	};
	enum err e = OK;

	for (size_t i = 0; !e && i < ARRAY_LEN(texts); i++)
		e = act_text(a, texts[i].name, texts[i].buf, texts[i].size,
			     texts[i].to, why);
	return e;
}

/* A word that is none would find nothing, which reads like good news. */
static enum err check_word(const char *option, struct span s,
			   const char *const *words, unsigned n,
			   struct err_detail *why)
{
	char list[80] = "";

	for (unsigned i = 0; i < n; i++) {
		size_t at = strlen(list);

		if (!s.data || span_is(s, words[i]))
			return OK;
		snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
			 words[i]);
	}
	return err_say(why, ERR_USAGE, "--%s is one of %s", option, list);
}

static enum err check_words(const struct letter_filter *f,
			    struct err_detail *why)
{
	static const char *const states[] = { "open", "replaying", "resolved",
					      "discarded" };
	const char *kinds[DEAD_KIND_COUNT];
	enum err e;

	for (int k = 0; k < DEAD_KIND_COUNT; k++)
		kinds[k] = dead_kind_text(k);
	e = check_word("kind", f->kind, kinds, DEAD_KIND_COUNT, why);
	return e ? e : check_word("state", f->state, states,
				  ARRAY_LEN(states), why);
}

enum err letters_asked(const struct act *a, const struct act_context *c,
		       struct letters_asked *ret_q, struct err_detail *why)
{
	struct letters_asked *q = ret_q;
	struct letter_filter *f = &q->filter;
	enum err e;

	memset(q, 0, sizeof(*q));
	e = act_group(a, c, &f->group_no, why);
	if (!e)
		e = take_texts(a, q, why);
	if (!e)
		e = check_words(f, why);
	if (!e)
		e = take_time(a, "since", &f->since_wall_ms, why);
	if (!e)
		e = take_time(a, "until", &f->until_wall_ms, why);
	if (!e && q->topic.data && !topic_filter_valid(q->topic))
		e = err_say(why, ERR_USAGE, "--topic wants a topic filter, not "
			    "\"%s\"", q->topic_text);
	return e;
}

bool letters_match(const struct letters_asked *q, const struct letter *l)
{
	return !q->topic.data || topic_matches(q->topic, l->event.topic);
}

struct listing {
	const struct letters_asked *q;
	const struct act_context *c;
	struct rows *out;
	int64_t left;		/* rows still wanted */
};

static void row_letter(struct rows *out, const struct letter *l,
		       const struct act_context *c)
{
	int64_t now = store_now_ms(c->store, c->boot_ms);

	row_begin(out);
	row_int(out, "id", l->id);
	row_text(out, "state", l->state);
	row_int(out, "age_ms", now - l->dead_ms);
	row_text(out, "group", l->group);
	row_text(out, "tenant", l->who.tenant);
	row_text(out, "event_id", l->who.event_id);
	row_text(out, "kind", span_str(dead_kind_text(l->kind)));
	row_text(out, "first_type", span_str(l->first_type.text));
	row_text(out, "last_type", span_str(l->last_type.text));
	row_int(out, "attempts", l->attempts);
	row_int(out, "replays", l->replays);
	row_int(out, "redeliveries", l->redeliveries);
	row_text_cut(out, "topic", l->event.topic);
	row_int(out, "payload_bytes", (int64_t)l->event.payload_bytes);
	row_int(out, "first_seen_wall_ms", l->first_seen_wall_ms);
	row_int(out, "dead_wall_ms", l->dead_wall_ms);
	row_bool(out, "clock_synchronised", l->dead_sync);
	row_text(out, "pulled_as", l->pulled_as);
}

static enum err list_row(void *arg, const struct letter *l)
{
	struct listing *li = arg;

	if (!li->left)
		return ERR_NO;
	if (!letters_match(li->q, l))
		return OK;
	row_letter(li->out, l, li->c);
	if (!row_end(li->out))
		return ERR_NO;		/* it comes with the next page */
	li->left--;
	return OK;
}

enum err act_dead_list(struct act *a, const struct act_context *c,
		       struct rows *out, bool *ret_more, struct err_detail *why)
{
	struct letters_asked q;
	struct listing li = { .q = &q, .c = c, .out = out };
	enum err e = letters_asked(a, c, &q, why);

	if (!e && !a->step++) {
		a->cursor = INT64_MAX;
		a->limit = INT64_MAX;
		e = act_int(a, "max", &a->limit, why);
	}
	li.left = a->limit;
	if (!e)
		e = letter_list(c->store, &q.filter, &a->cursor, PAGE_ROWS,
				list_row, &li);
	a->limit = li.left;
	*ret_more = a->cursor > 0 && a->limit > 0;
	return e;
}

struct counting {
	struct act *a;		/* a->taken: sorts of the window that are out */
	struct rows *out;
	int64_t n;
};

/* Windows are summed up by whoever asked: a sort may come more than once. */
static enum err count_row(void *arg, const struct letter_count *k)
{
	struct counting *s = arg;
	struct rows *out = s->out;

	if (s->n++ < s->a->taken)
		return OK;
	row_begin(out);
	row_text(out, "group", k->group);
	row_text(out, "kind", k->kind);
	row_text(out, "type", k->type);
	row_text(out, "state", k->state);
	row_int(out, "n", k->n);
	row_int(out, "oldest_wall_ms", k->oldest_wall_ms);
	row_int(out, "newest_wall_ms", k->newest_wall_ms);
	if (!row_end(out))
		return ERR_NO;		/* it comes with the next page */
	s->a->taken++;
	return OK;
}

enum err act_dead_summary(struct act *a, const struct act_context *c,
			  struct rows *out, bool *ret_more,
			  struct err_detail *why)
{
	struct counting s = { .a = a, .out = out };
	struct letters_asked q;
	enum err e = letters_asked(a, c, &q, why);

	if (e)
		return e;
	if (!a->step++)
		a->cursor = INT64_MAX;
	if (q.topic.data)
		e = err_say(why, ERR_USAGE, "dead summary has no --topic");
	if (!e)
		e = letter_summary(c->store, &q.filter, &a->cursor, count_row,
				   &s);
	if (!e)
		a->taken = 0;		/* the window is through */
	*ret_more = a->cursor > 0;
	return e == ERR_NO ? OK : e;
}

/* dead show: the letter, its history, and a payload in pieces if asked for */

static enum err attempt_row(void *arg, const struct attempt_record *r)
{
	struct rows *out = arg;

	row_begin(out);
	row_int(out, "attempt", r->n);
	row_int(out, "started_wall_ms", r->started_wall_ms);
	row_int(out, "took_ms", r->took_ms);
	row_text(out, "outcome", span_str(outcome_text(r->outcome)));
	row_text(out, "type", span_str(*r->type.text ? r->type.text : NULL));
	return row_end(out) ? OK : ERR_FULL;	/* twenty always fit */
}

struct showing {
	struct act *a;
	const struct act_context *c;
	struct rows *out;
	bool *more;
};

static enum err show_letter(void *arg, const struct letter *l)
{
	struct showing *s = arg;
	bool payload = act_flag(s->a, "payload");

	row_letter(s->out, l, s->c);
	row_text_cut(s->out, "content_type", l->event.content_type);
	if (payload && l->properties_text.len <= PROPERTIES_SHOWN)
		row_raw(s->out, "properties", l->properties_text);
	row_bool(s->out, "payload_kept", !l->event.oversize);
	if (!row_end(s->out))
		return ERR_FULL;
	*s->more = payload && !l->event.oversize;
	return attempt_list(s->c->store, &l->who.key, l->who.fingerprint,
			    attempt_row, s->out);
}

static enum err show_chunk(void *arg, const struct letter *l)
{
	struct showing *s = arg;
	struct span p = l->event.payload;
	size_t at = (size_t)s->a->cursor;
	size_t n = at < p.len ? p.len - at : 0;

	if (n > CHUNK_BYTES)
		n = CHUNK_BYTES;
	row_begin(s->out);
	row_int(s->out, "offset", s->a->cursor);
	row_base64(s->out, "payload_base64", span_of(p.data + at, n));
	if (!row_end(s->out))
		return ERR_FULL;
	s->a->cursor += (int64_t)n;
	*s->more = (size_t)s->a->cursor < p.len;
	return OK;
}

enum err act_dead_show(struct act *a, const struct act_context *c,
		       struct rows *out, bool *ret_more, struct err_detail *why)
{
	struct showing s = { a, c, out, ret_more };
	int64_t id = 0;
	enum err e = act_int(a, "ids", &id, why);

	*ret_more = false;
	if (e || !id)
		return e ? e : err_say(why, ERR_USAGE, "dead show needs the "
				       "number of a letter");
	if (!a->step && act_flag(a, "payload")) {
		e = act_audit_look(a, c, 1);
		if (e)
			return e;
	}
	e = letter_show(c->store, id, a->step++ ? show_chunk : show_letter, &s);
	if (e == ERR_NO)
		return err_say(why, e, "%s", store_detail(c->store));
	return e;
}
