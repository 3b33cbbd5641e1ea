#include "base/json.h"
#include "base/parse.h"
#include "json_internal.h"

/*
 * Everything here reads text that json_valid() has passed; the bounds are
 * kept all the same, so that a caller's mistake reads nothing it should not.
 */

static size_t skip_blanks(struct span s, size_t i)
{
	while (i < s.len && (s.data[i] == ' ' || s.data[i] == '\t' ||
			     s.data[i] == '\n' || s.data[i] == '\r'))
		i++;
	return i;
}

/* Behind the closing quote of the string that starts at @i. */
static size_t skip_string(struct span s, size_t i)
{
	for (i++; i < s.len && s.data[i] != '"'; i++)
		if (s.data[i] == '\\')
			i++;
	return i < s.len ? i + 1 : s.len;
}

static size_t skip_nested(struct span s, size_t i)
{
	size_t depth = 0;

	while (i < s.len) {
		char c = s.data[i];

		if (c == '"') {
			i = skip_string(s, i);
			continue;
		}
		i++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && !--depth)
			break;
	}
	return i;
}

static size_t skip_word(struct span s, size_t i)
{
	static const char stops[] = { ',', ']', '}', ' ', '\t', '\n', '\r' };

	while (i < s.len && !memchr(stops, s.data[i], sizeof(stops)))
		i++;
	return i;
}

static enum json_kind kind_of(char c)
{
	switch (c) {
	case '{': return JSON_OBJECT;
	case '[': return JSON_ARRAY;
	case '"': return JSON_STRING;
	case 't':
	case 'f': return JSON_BOOL;
	case 'n': return JSON_NULL;
	}
	return JSON_NUMBER;
}

/* What stands between the quotes at @i and before @end. */
static struct span inside(struct span s, size_t i, size_t end)
{
	return span_of(s.data + i + 1, end - i < 2 ? 0 : end - i - 2);
}

/* Reads the value at @i; returns the place behind it. */
static size_t take_value(struct span s, size_t i, struct json_value *ret_v)
{
	enum json_kind kind = kind_of(s.data[i]);
	size_t end;

	if (kind == JSON_STRING) {
		end = skip_string(s, i);
		*ret_v = (struct json_value){ kind, inside(s, i, end) };
		return end;
	}
	end = kind == JSON_OBJECT || kind == JSON_ARRAY ? skip_nested(s, i)
							: skip_word(s, i);
	*ret_v = (struct json_value){ kind, span_of(s.data + i, end - i) };
	return end;
}

bool json_next(struct json_value v, size_t *pos, struct span *ret_name,
	       struct json_value *ret_v)
{
	struct json_value name = { .raw = { 0 } };
	size_t i;

	if (v.kind != JSON_OBJECT && v.kind != JSON_ARRAY)
		return false;
	/* A bracket at the start, a comma later on. */
	i = skip_blanks(v.raw, *pos) + 1;
	i = skip_blanks(v.raw, i);
	if (i + 1 >= v.raw.len)
		return false;
	if (v.kind == JSON_OBJECT) {
		i = skip_blanks(v.raw, take_value(v.raw, i, &name));
		i = skip_blanks(v.raw, i + 1);
		if (i >= v.raw.len)
			return false;
	}
	*pos = take_value(v.raw, i, ret_v);
	if (ret_name)
		*ret_name = name.raw;
	return true;
}

/* Names are equal as text, however they are escaped. */
static bool name_is(struct span raw, struct span name)
{
	char c[4];
	int n;

	while ((n = json_take_char(&raw, c)) > 0) {
		size_t len = (size_t)n;

		if (name.len < len || memcmp(name.data, c, len) != 0)
			return false;
		name = span_of(name.data + len, name.len - len);
	}
	return !n && !name.len;
}

struct step {
	bool is_index;
	struct span name;
	int64_t index;
};

static struct span after(struct span s, size_t n)
{
	return span_of(s.data + n, s.len - n);
}

static bool take_index(struct span *path, struct step *ret_step)
{
	const char *close = memchr(path->data, ']', path->len);
	size_t len = close ? (size_t)(close - path->data) : 0;

	ret_step->is_index = true;
	if (!close ||
	    parse_uint(span_of(path->data + 1, len - 1), &ret_step->index))
		return false;
	*path = after(*path, len + 1);
	return true;
}

static bool take_name(struct span *path, struct step *ret_step)
{
	size_t n = 0;

	*path = after(*path, 1);
	ret_step->is_index = false;
	if (path->len && path->data[0] == '"') {
		struct span rest;

		ret_step->name = span_cut(after(*path, 1), '"', &rest);
		*path = rest;
		return rest.data && (!rest.len || rest.data[0] == '.' ||
				     rest.data[0] == '[');
	}
	while (n < path->len && path->data[n] != '.' && path->data[n] != '[')
		n++;
	ret_step->name = span_of(path->data, n);
	*path = after(*path, n);
	return n > 0;
}

/* Cuts the first step off a path whose "$" is gone. */
static bool take_step(struct span *path, struct step *ret_step)
{
	switch (path->data[0]) {
	case '.': return take_name(path, ret_step);
	case '[': return take_index(path, ret_step);
	}
	return false;
}

static bool descend(const struct step *step, struct json_value *v)
{
	struct json_value child;
	struct span name;
	int64_t i = 0;

	if (v->kind != (step->is_index ? JSON_ARRAY : JSON_OBJECT))
		return false;
	for (size_t pos = 0; json_next(*v, &pos, &name, &child); i++) {
		if (step->is_index ? i != step->index
				   : !name_is(name, step->name))
			continue;
		*v = child;
		return true;
	}
	return false;
}

/* The text is valid: what begins with a bracket ends with the text. */
static void take_root(struct span text, size_t start, struct json_value *ret_v)
{
	char c = text.data[start];

	if (c != '{' && c != '[') {
		(void)take_value(text, start, ret_v);
		return;
	}
	while (strchr(" \t\r\n", text.data[text.len - 1]))
		text.len--;
	ret_v->kind = c == '{' ? JSON_OBJECT : JSON_ARRAY;
	ret_v->raw = span_of(text.data + start, text.len - start);
}

bool json_find(struct span text, struct span path, struct json_value *ret_v)
{
	size_t start = skip_blanks(text, 0);
	struct json_value v;
	struct step step;

	if (start >= text.len || !path.len || path.data[0] != '$')
		return false;
	take_root(text, start, &v);
	path = after(path, 1);
	while (path.len)
		if (!take_step(&path, &step) || !descend(&step, &v))
			return false;
	*ret_v = v;
	return true;
}

bool json_path_valid(struct span path)
{
	struct step step;

	if (!path.len || path.data[0] != '$' || !utf8_valid(path))
		return false;
	path = after(path, 1);
	while (path.len)
		if (!take_step(&path, &step))
			return false;
	return true;
}
