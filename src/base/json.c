#include "base/json.h"

#include "base/parse.h"

struct reader {
	const char *p, *end;
};

static bool value(struct reader *r, unsigned depth);

static bool at_digit(const struct reader *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

static bool eat(struct reader *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static void skip_blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' ||
				 *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static bool word(struct reader *r, const char *w)
{
	size_t len = strlen(w);

	if ((size_t)(r->end - r->p) < len || memcmp(r->p, w, len) != 0)
		return false;
	r->p += len;
	return true;
}

static bool digits(struct reader *r)
{
	if (!at_digit(r))
		return false;
	while (at_digit(r))
		r->p++;
	return true;
}

static bool number(struct reader *r)
{
	(void)eat(r, '-'); /* a sign may be there or not */
	if (!eat(r, '0') && !digits(r))
		return false;
	if (eat(r, '.') && !digits(r))
		return false;
	if (!eat(r, 'e') && !eat(r, 'E'))
		return true;
	if (!eat(r, '+'))
		(void)eat(r, '-');
	return digits(r);
}

static bool hex4(struct reader *r)
{
	for (unsigned i = 0; i < 4; i++, r->p++)
		if (r->p == r->end || !((*r->p >= '0' && *r->p <= '9') ||
					(*r->p >= 'a' && *r->p <= 'f') ||
					(*r->p >= 'A' && *r->p <= 'F')))
			return false;
	return true;
}

static bool escape(struct reader *r)
{
	if (r->p == r->end || !*r->p || !strchr("\"\\/bfnrtu", *r->p))
		return false;
	return *r->p++ != 'u' || hex4(r);
}

static bool string(struct reader *r)
{
	if (!eat(r, '"'))
		return false;
	while (r->p < r->end) {
		unsigned char c = (unsigned char)*r->p++;

		if (c == '"')
			return true;
		if (c < ' ' || (c == '\\' && !escape(r)))
			return false;
	}
	return false;
}

static bool array(struct reader *r, unsigned depth)
{
	skip_blanks(r);
	if (eat(r, ']'))
		return true;
	do {
		if (!value(r, depth))
			return false;
	} while (eat(r, ','));
	return eat(r, ']');
}

static bool object(struct reader *r, unsigned depth)
{
	skip_blanks(r);
	if (eat(r, '}'))
		return true;
	do {
		skip_blanks(r);
		if (!string(r))
			return false;
		skip_blanks(r);
		if (!eat(r, ':') || !value(r, depth))
			return false;
	} while (eat(r, ','));
	return eat(r, '}');
}

static bool bare_value(struct reader *r, unsigned depth)
{
	if (r->p == r->end)
		return false;
	switch (*r->p) {
	case '{': return r->p++, depth && object(r, depth - 1);
	case '[': return r->p++, depth && array(r, depth - 1);
	case '"': return string(r);
	case 't': return word(r, "true");
	case 'f': return word(r, "false");
	case 'n': return word(r, "null");
	}
	return number(r);
}

/* @depth: how many more brackets may open. */
static bool value(struct reader *r, unsigned depth)
{
	skip_blanks(r);
	if (!bare_value(r, depth))
		return false;
	skip_blanks(r);
	return true;
}

bool json_valid(struct span text)
{
	struct reader r = { .p = text.data };

	if (!text.len)
		return false;
	r.end = text.data + text.len;
	return value(&r, JSON_MAX_DEPTH) && r.p == r.end && utf8_valid(text);
}
