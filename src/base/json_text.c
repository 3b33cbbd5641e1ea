#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/parse.h"
#include "json_internal.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void drop(struct span *s, size_t n)
{
	*s = span_of(s->data + n, s->len - n);
}

/* The number behind "\u" at the start of @s, or -1. */
static long code_unit(struct span s)
{
	long v = 0;

	if (s.len < 6 || s.data[0] != '\\' || s.data[1] != 'u')
		return -1;
	for (unsigned i = 2; i < 6; i++) {
		int d = hex_digit(s.data[i]);

		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

static int put_utf8(uint32_t c, char ret_c[4])
{
	if (c < 0x80) {
		ret_c[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		ret_c[0] = (char)(0xc0 | c >> 6);
		ret_c[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		ret_c[0] = (char)(0xe0 | c >> 12);
		ret_c[1] = (char)(0x80 | (c >> 6 & 0x3f));
		ret_c[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	ret_c[0] = (char)(0xf0 | c >> 18);
	ret_c[1] = (char)(0x80 | (c >> 12 & 0x3f));
	ret_c[2] = (char)(0x80 | (c >> 6 & 0x3f));
	ret_c[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Above U+FFFF, JSON writes two escapes: a high and a low surrogate. */
static int take_unicode(struct span *raw, char ret_c[4])
{
	long c = code_unit(*raw), low;

	if (c < 0)
		return -1;
	drop(raw, 6);
	if (c < 0xd800 || c > 0xdfff)
		return put_utf8((uint32_t)c, ret_c);
	low = code_unit(*raw);
	if (c > 0xdbff || low < 0xdc00 || low > 0xdfff)
		return -1;
	drop(raw, 6);
	return put_utf8(
		(uint32_t)(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00)),
		ret_c);
}

static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";

int json_take_char(struct span *raw, char ret_c[4])
{
	if (!raw->len)
		return 0;
	if (raw->data[0] != '\\') {
		ret_c[0] = raw->data[0];
		drop(raw, 1);
		return 1;
	}
	if (raw->len < 2)
		return -1;
	for (const char *e = escapes; *e; e += 2) {
		if (raw->data[1] != e[0])
			continue;
		ret_c[0] = e[1];
		drop(raw, 2);
		return 1;
	}
	return take_unicode(raw, ret_c);
}

long json_unescape(struct span raw, char *buf, size_t size)
{
	size_t len = 0;
	char c[4];
	int n;

	while ((n = json_take_char(&raw, c)) > 0) {
		if ((size_t)n > size - len)
			return -1;
		memcpy(buf + len, c, (size_t)n);
		len += (size_t)n;
	}
	return n ? -1 : (long)len;
}

/* Bytes of the well-formed UTF-8 character at the start of @s, or 0. */
static size_t char_len(struct span s)
{
	for (size_t n = 1; n <= 4 && n <= s.len; n++)
		if (utf8_valid(span_of(s.data, n)))
			return n;
	return 0;
}

/* What stands for the character at the start of *s, which is cut off. */
static struct span take_escaped(struct span *s, char buf[8])
{
	unsigned char c = (unsigned char)s->data[0];
	struct span out = span_of(s->data, char_len(*s));

	if (!out.len) {
		drop(s, 1);
		return span_str("\xef\xbf\xbd"); /* U+FFFD */
	}
	drop(s, out.len);
	if (c >= ' ' && c != '"' && c != '\\')
		return out;
	for (const char *e = escapes; *e; e += 2)
		if (c == (unsigned char)e[1]) {
			buf[0] = '\\';
			buf[1] = e[0];
			return span_of(buf, 2);
		}
	snprintf(buf, 8, "\\u%04x", c);
	return span_str(buf);
}

static bool append(char *buf, size_t size, size_t *len, struct span s)
{
	if (s.len >= size - *len) /* one byte more for the NUL */
		return false;
	memcpy(buf + *len, s.data, s.len);
	*len += s.len;
	return true;
}

bool json_put_string(char *buf, size_t size, size_t *len, struct span s)
{
	struct span quote = span_str("\"");
	char escaped[8];
	size_t at = *len;
	bool ok = at < size && append(buf, size, &at, quote);

	while (ok && s.len)
		ok = append(buf, size, &at, take_escaped(&s, escaped));
	ok = ok && append(buf, size, &at, quote);
	if (ok)
		*len = at;
	if (*len < size)
		buf[*len] = '\0';
	return ok;
}
