#include "rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/parse.h"

void rows_init(struct rows *r, char *buf, size_t room)
{
	*r = (struct rows){ .buf = buf, .room = room };
}

static void put(struct rows *r, const char *s, size_t n)
{
	if (r->len + n > r->room)
		r->full = true;
	if (r->full)
		return;
	memcpy(r->buf + r->len, s, n);
	r->len += n;
}

void row_begin(struct rows *r)
{
	r->row_at = r->len;
	r->first = true;
	put(r, "{", 1);
}

static void name_it(struct rows *r, const char *name)
{
	if (!r->first)
		put(r, ",", 1);
	r->first = false;
	put(r, "\"", 1);
	put(r, name, strlen(name));
	put(r, "\":", 2);
}

void row_text(struct rows *r, const char *name, struct span v)
{
	name_it(r, name);
	if (!v.data)
		put(r, "null", 4);
	else if (!r->full &&
		 !json_put_string(r->buf, r->room, &r->len, v))
		r->full = true;
}

void row_text_cut(struct rows *r, const char *name, struct span v)
{
	row_text(r, name, utf8_cut(v, ROW_TEXT_SHOWN));
}

void row_int(struct rows *r, const char *name, int64_t v)
{
	char buf[24];
	int n = snprintf(buf, sizeof(buf), "%" PRId64, v);

	name_it(r, name);
	put(r, buf, (size_t)n);
}

void row_bool(struct rows *r, const char *name, bool v)
{
	name_it(r, name);
	put(r, v ? "true" : "false", v ? 4 : 5);
}

void row_raw(struct rows *r, const char *name, struct span json)
{
	name_it(r, name);
	put(r, json.data, json.len);
}

void row_base64(struct rows *r, const char *name, struct span bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)bytes.data;

	name_it(r, name);
	put(r, "\"", 1);
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t v = (uint32_t)p[i] << 16 |
			     (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (left > 2 ? p[i + 2] : 0);
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63],
				 left > 1 ? digits[v >> 6 & 63] : '=',
				 left > 2 ? digits[v & 63] : '=' };

		put(r, four, 4);
	}
	put(r, "\"", 1);
}

bool row_end(struct rows *r)
{
	put(r, "}\n", 2);
	if (!r->full)
		return true;
	r->len = r->row_at;
	return false;
}
