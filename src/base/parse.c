#include "base/parse.h"

#include <inttypes.h>
#include <stdio.h>

struct unit {
	const char *name;
	int64_t factor;
};

/* Smallest first; both printers walk them backwards. */
/* clang-format off */
static const struct unit time_units[] = {
	{ "ms", 1 },
	{ "s", 1000 },
	{ "m", 60 * 1000 },
	{ "h", 3600 * 1000 },
	{ "d", 86400 * 1000 },
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "K", 1 << 10 },
	{ "M", 1 << 20 },
	{ "G", 1 << 30 },
};
/* clang-format on */

/* Cuts the digits off *s; false if there are none, or too many for int64_t. */
static bool take_digits(struct span *s, int64_t *ret_v)
{
	int64_t v = 0;
	size_t n = 0;

	for (; n < s->len && s->data[n] >= '0' && s->data[n] <= '9'; n++)
		if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
		    __builtin_add_overflow(v, (int64_t)(s->data[n] - '0'), &v))
			return false;
	if (!n)
		return false;
	*s = span_of(s->data + n, s->len - n);
	*ret_v = v;
	return true;
}

static enum err with_unit(struct span s, const struct unit *units, size_t n,
			  int64_t *ret_v)
{
	int64_t v;

	if (!take_digits(&s, &v))
		return ERR_INPUT;
	for (size_t i = 0; i < n; i++) {
		if (!span_is(s, units[i].name))
			continue;
		if (__builtin_mul_overflow(v, units[i].factor, &v))
			return ERR_INPUT;
		*ret_v = v;
		return OK;
	}
	return ERR_INPUT;
}

enum err parse_duration_ms(struct span s, int64_t *ret_ms)
{
	if (span_is(s, "0")) {
		*ret_ms = 0;
		return OK;
	}
	return with_unit(s, time_units, ARRAY_LEN(time_units), ret_ms);
}

enum err parse_size(struct span s, int64_t *ret_bytes)
{
	return with_unit(s, size_units, ARRAY_LEN(size_units), ret_bytes);
}

enum err parse_uint(struct span s, int64_t *ret_v)
{
	int64_t v;

	if (!take_digits(&s, &v) || s.len)
		return ERR_INPUT;
	*ret_v = v;
	return OK;
}

static const char *unit_text(char buf[PARSE_TEXT_SIZE], int64_t v,
			     const struct unit *units, size_t n)
{
	size_t i = n - 1;

	while (i && v % units[i].factor)
		i--;
	snprintf(buf, PARSE_TEXT_SIZE, "%" PRId64 "%s", v / units[i].factor,
		 units[i].name);
	return buf;
}

const char *duration_text(char buf[PARSE_TEXT_SIZE], int64_t ms)
{
	if (!ms)
		return strcpy(buf, "0");
	return unit_text(buf, ms, time_units, ARRAY_LEN(time_units));
}

const char *size_text(char buf[PARSE_TEXT_SIZE], int64_t bytes)
{
	if (!bytes)
		return strcpy(buf, "0");
	return unit_text(buf, bytes, size_units, ARRAY_LEN(size_units));
}

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/*
 * Bytes of the character at @p, or 0.  The second byte's range carries the
 * rules against overlong forms, surrogates and values above U+10FFFF
 * (RFC 3629, section 4).
 */
static size_t utf8_char(const unsigned char *p, size_t left)
{
	unsigned char c = p[0], low = 0x80, high = 0xbf;
	size_t n;

	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if (left < n)
		return 0;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (!is_tail(p[i]))
			return 0;
	return n;
}

/* Most payloads are ASCII: eight bytes at a time. */
static size_t ascii_run(const unsigned char *p, size_t left)
{
	size_t n = 0;
	uint64_t word;

	for (; left - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, p + n, sizeof(word));
		if (word & 0x8080808080808080u)
			break;
	}
	return n;
}

bool utf8_valid(struct span s)
{
	const unsigned char *p = (const unsigned char *)s.data;
	size_t i = 0;

	while (i < s.len) {
		size_t n = ascii_run(p + i, s.len - i);

		if (!n)
			n = utf8_char(p + i, s.len - i);
		if (!n)
			return false;
		i += n;
	}
	return true;
}

struct span utf8_cut(struct span s, size_t max)
{
	if (s.len <= max)
		return s;
	s.len = max;
	while (s.len && max - s.len < 3 &&
	       ((unsigned char)s.data[s.len] & 0xc0) == 0x80)
		s.len--;
	return s;
}

#define WORD_MAX 63

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance; one row of the table is enough. */
static size_t edit_distance(struct span s, const char *word, size_t len)
{
	size_t row[WORD_MAX + 1];

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; i < s.len; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t swap = diagonal + (s.data[i] != word[j]);

			diagonal = row[j + 1];
			row[j + 1] = min_of(swap, 1 + min_of(row[j], diagonal));
		}
	}
	return row[len];
}

const char *nearest_word(struct span s, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t best_distance = s.len / 3 + 2;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(words[i]), d;

		if (len > WORD_MAX || s.len > WORD_MAX)
			continue;
		d = edit_distance(s, words[i], len);
		if (d < best_distance && d < len) {
			best = words[i];
			best_distance = d;
		}
	}
	return best;
}
