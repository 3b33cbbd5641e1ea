#include "core/selector.h"

#include <stdio.h>

#include "base/json.h"
#include "base/parse.h"

static const char *const sources[] = {
	[SELECT_PAYLOAD] = "payload",
	[SELECT_PROPERTY] = "property",
	[SELECT_CORRELATION] = "correlation",
	[SELECT_TOPIC] = "topic",
	[SELECT_CONST] = "const",
	[SELECT_HASH] = "hash",
};

/* span_cut() that leaves the quoted names of JSON paths whole. */
static struct span cut_outside_quotes(struct span s, char sep,
				      struct span *rest)
{
	bool quoted = false;

	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] == '"')
			quoted = !quoted;
		if (quoted || s.data[i] != sep)
			continue;
		*rest = span_of(s.data + i + 1, s.len - i - 1);
		return span_of(s.data, i);
	}
	*rest = (struct span){ 0 };
	return s;
}

static enum err unknown_source(struct span name, struct err_detail *why)
{
	const char *near = nearest_word(name, sources, ARRAY_LEN(sources));

	if (near)
		return err_say(
			why, ERR_CONFIG,
			"unknown selector \"%.*s\"; did you mean \"%s\"?",
			SPAN_FMT(name), near);
	return err_say(why, ERR_CONFIG,
		       "unknown selector \"%.*s\"; write payload:$.PATH, "
		       "property:NAME, correlation, topic:N, const:TEXT or "
		       "hash",
		       SPAN_FMT(name));
}

static enum err check_level(struct selector_part *p, struct err_detail *why)
{
	int64_t n;

	if (parse_uint(p->arg, &n) || n < 1 || n > 65535)
		return err_say(why, ERR_CONFIG,
			       "topic:N needs the number of a topic level, "
			       "counted from 1");
	p->level = (unsigned)n;
	return OK;
}

static enum err check_arg(struct selector_part *p, struct err_detail *why)
{
	const char *name = sources[p->source];

	switch (p->source) {
	case SELECT_PAYLOAD:
		if (json_path_valid(p->arg))
			return OK;
		return err_say(why, ERR_CONFIG,
			       "\"%.*s\" is not a JSON path; write it like "
			       "payload:$.order.id or payload:$.items[0].id",
			       SPAN_FMT(p->arg));
	case SELECT_TOPIC: return check_level(p, why);
	case SELECT_PROPERTY:
	case SELECT_CONST:
		if (p->arg.len && utf8_valid(p->arg) &&
		    !memchr(p->arg.data, '"', p->arg.len))
			return OK;
		return err_say(why, ERR_CONFIG,
			       "%s: needs text without quotes behind the colon",
			       name);
	case SELECT_CORRELATION:
	case SELECT_HASH:
		if (!p->arg.data)
			return OK;
		return err_say(why, ERR_CONFIG, "%s takes nothing behind it",
			       name);
	}
	return ERR_BUG;
}

static enum err parse_part(struct span text, struct selector_part *ret_part,
			   struct err_detail *why)
{
	struct span arg, name = span_trim(span_cut(text, ':', &arg));

	if (!name.len)
		return err_say(why, ERR_CONFIG,
			       "a selector is missing beside a comma or &");
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		if (!span_is(name, sources[i]))
			continue;
		*ret_part = (struct selector_part){
			.source = (enum selector_source)i,
			.arg = span_trim(arg),
		};
		return check_arg(ret_part, why);
	}
	return unknown_source(name, why);
}

static enum err parse_alternative(struct span text, struct selector *sel,
				  struct err_detail *why)
{
	unsigned len = 0;
	enum err e;

	if (sel->len == SELECTOR_ALTERNATIVES)
		return err_say(why, ERR_CONFIG,
			       "more than %d selectors with a comma between",
			       SELECTOR_ALTERNATIVES);
	for (struct span rest = text; rest.data; len++) {
		struct span part = cut_outside_quotes(rest, '&', &rest);

		if (len == SELECTOR_PARTS)
			return err_say(why, ERR_CONFIG,
				       "more than %d selectors with & between",
				       SELECTOR_PARTS);
		e = parse_part(part, &sel->alt[sel->len].part[len], why);
		if (e)
			return e;
	}
	sel->alt[sel->len++].len = len;
	return OK;
}

enum err selector_parse(struct span text, struct selector *ret_sel,
			struct err_detail *why)
{
	struct selector sel = { .len = 0 };
	struct span rest = text.data ? text : span_str("");

	while (rest.data) {
		struct span alt = cut_outside_quotes(rest, ',', &rest);
		enum err e = parse_alternative(alt, &sel, why);

		if (e)
			return e;
	}
	*ret_sel = sel;
	return OK;
}

bool selector_reads(const struct selector *sel, enum selector_source source)
{
	for (unsigned i = 0; i < sel->len; i++)
		for (unsigned j = 0; j < sel->alt[i].len; j++)
			if (sel->alt[i].part[j].source == source)
				return true;
	return false;
}

/*
 * A string that holds half a surrogate is no text: it comes out as a byte
 * that is not UTF-8, so that the caller finds a value, and not a valid one.
 */
static bool unescaped(struct span raw, struct arena *scratch,
		      struct span *ret_value)
{
	char *buf;
	long len;

	if (!raw.len || !memchr(raw.data, '\\', raw.len)) {
		*ret_value = raw;
		return true;
	}
	buf = arena_take(scratch, raw.len);
	if (!buf)
		return false;
	len = json_unescape(raw, buf, raw.len);
	*ret_value = len < 0 ? span_str("\xff") : span_of(buf, (size_t)len);
	return true;
}

static bool payload_value(const struct event *ev, struct span path,
			  struct arena *scratch, struct span *ret_value)
{
	struct json_value v;

	*ret_value = (struct span){ 0 };
	if (!json_find(ev->payload, path, &v))
		return true;
	if (v.kind == JSON_STRING)
		return unescaped(v.raw, scratch, ret_value);
	if (v.kind == JSON_NUMBER)
		*ret_value = v.raw;
	return true;
}

static bool hash_value(const struct event *ev, struct arena *scratch,
		       struct span *ret_value)
{
	struct hash_key key = event_content_of(ev);
	char *hex = arena_take(scratch, 2 * HASH_KEY_BYTES + 1);

	if (!hex)
		return false;
	for (unsigned i = 0; i < HASH_KEY_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", key.bytes[i]);
	*ret_value = span_of(hex, 2 * HASH_KEY_BYTES);
	return true;
}

static bool part_value(const struct selector_part *p, const struct event *ev,
		       bool json_ok, struct arena *scratch,
		       struct span *ret_value)
{
	*ret_value = (struct span){ 0 };
	switch (p->source) {
	case SELECT_PAYLOAD:
		return !json_ok ||
		       payload_value(ev, p->arg, scratch, ret_value);
	case SELECT_PROPERTY:
		*ret_value = event_property(ev, p->arg);
		return true;
	case SELECT_CORRELATION: *ret_value = ev->correlation; return true;
	case SELECT_TOPIC:
		*ret_value = event_topic_level(ev, p->level);
		return true;
	case SELECT_CONST: *ret_value = p->arg; return true;
	case SELECT_HASH: return hash_value(ev, scratch, ret_value);
	}
	return true;
}

#define LENGTH_DIGITS 20 /* of the largest size_t */

/* "3:abc2:xy": no two lists of parts give the same text. */
static bool join(const struct span *parts, unsigned n, struct arena *scratch,
		 struct span *ret_value)
{
	size_t size = 1, len = 0;
	char *buf;

	for (unsigned i = 0; i < n; i++)
		size += LENGTH_DIGITS + 1 + parts[i].len;
	buf = arena_take(scratch, size);
	if (!buf)
		return false;
	for (unsigned i = 0; i < n; i++) {
		len += (size_t)snprintf(buf + len, size - len,
					"%zu:", parts[i].len);
		if (parts[i].len)
			memcpy(buf + len, parts[i].data, parts[i].len);
		len += parts[i].len;
	}
	*ret_value = span_of(buf, len);
	return true;
}

bool selector_value(const struct selector *sel, const struct event *ev,
		    bool json_ok, struct arena *scratch, struct span *ret_value)
{
	struct span part[SELECTOR_PARTS];

	for (unsigned i = 0; i < sel->len; i++) {
		unsigned n = sel->alt[i].len, got = 0;

		for (; got < n; got++) {
			if (!part_value(&sel->alt[i].part[got], ev, json_ok,
					scratch, &part[got]))
				return false;
			if (!part[got].data)
				break;
		}
		if (got < n || (n == 1 && !part[0].len))
			continue;
		if (n > 1)
			return join(part, n, scratch, ret_value);
		*ret_value = part[0];
		return true;
	}
	*ret_value = (struct span){ 0 };
	return true;
}
