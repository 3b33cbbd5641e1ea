#include "props.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static char none[] = "[]";

void props_free(char **text)
{
	if (*text != none)
		free(*text);
}

/* An escaped byte takes six at most; quotes, comma and brackets five more. */
static size_t room_for(const struct event *ev)
{
	size_t n = 4;

	for (unsigned i = 0; i < ev->properties_len; i++)
		n += 6 * (ev->properties[i].name.len +
			  ev->properties[i].value.len) + 10;
	return n;
}

static void put(char *buf, size_t *len, const char *s)
{
	strcpy(buf + *len, s);
	*len += strlen(s);
}

enum err props_encode(const struct event *ev, char **ret_text)
{
	size_t size = room_for(ev), len = 0;
	char *buf;
	bool ok = true;

	if (!ev->properties_len) {
		*ret_text = none;
		return OK;
	}
	buf = malloc(size);
	if (!buf)
		return ERR_NOMEM;
	for (unsigned i = 0; i < ev->properties_len; i++) {
		put(buf, &len, i ? ",[" : "[[");
		ok &= json_put_string(buf, size, &len, ev->properties[i].name);
		put(buf, &len, ",");
		ok &= json_put_string(buf, size, &len, ev->properties[i].value);
		put(buf, &len, "]");
	}
	put(buf, &len, "]");
	if (!ok) {
		free(buf);
		return ERR_BUG;
	}
	*ret_text = buf;
	return OK;
}

static enum err take_string(struct json_value v, struct arena *a,
			    struct span *ret_s)
{
	char *p = arena_take(a, v.raw.len + 1);
	long n;

	if (!p)
		return ERR_NOMEM;
	n = v.kind == JSON_STRING ? json_unescape(v.raw, p, v.raw.len + 1) : -1;
	if (n < 0)
		return ERR_CORRUPT;
	*ret_s = span_of(p, (size_t)n);
	return OK;
}

static unsigned count(struct json_value list)
{
	struct json_value v;
	size_t pos = 0;
	unsigned n = 0;

	while (json_next(list, &pos, NULL, &v))
		n++;
	return n;
}

static enum err take_pair(struct json_value pair, struct arena *a,
			  struct property *p)
{
	struct json_value v;
	size_t pos = 0;
	enum err e;

	if (!json_next(pair, &pos, NULL, &v))
		return ERR_CORRUPT;
	e = take_string(v, a, &p->name);
	if (!e && !json_next(pair, &pos, NULL, &v))
		return ERR_CORRUPT;
	return e ? e : take_string(v, a, &p->value);
}

enum err props_decode(struct span text, struct arena *a, struct event *ev)
{
	struct json_value list, pair;
	struct property *p;
	size_t pos = 0;
	unsigned n;
	enum err e = OK;

	ev->properties = NULL;
	ev->properties_len = 0;
	if (span_is(text, none))
		return OK;
	if (!json_valid(text) || !json_find(text, span_str("$"), &list))
		return ERR_CORRUPT;
	n = count(list);
	p = arena_take(a, n * sizeof(*p));
	if (!p)
		return ERR_NOMEM;
	for (unsigned i = 0; !e && i < n; i++)
		e = json_next(list, &pos, NULL, &pair)
			    ? take_pair(pair, a, &p[i]) : ERR_CORRUPT;
	if (e)
		return e;
	ev->properties = p;
	ev->properties_len = n;
	return OK;
}
