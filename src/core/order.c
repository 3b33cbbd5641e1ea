#include "core/order.h"

#include "base/json.h"
#include "core/config.h"
#include "core/identity.h"

/* Apart from the domains of identity.c; stored, so never renumber. */
#define KEY_OF_ORDER 3

#define EXPONENT_DIGITS 18

/* 0.d1d2d3... times ten to the magnitude; d1 is not 0. */
struct number {
	bool zero, negative;
	const char *at, *end; /* from d1 on, a point may stand between */
	int64_t magnitude;
};

static bool is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
	while (is_digit(p, end))
		p++;
	return p;
}

/* From behind the 'e'; false if that is no exponent, or too long a one. */
static bool read_exponent(const char *p, const char *end, int64_t *ret_v)
{
	bool negative = p < end && *p == '-';
	int64_t v = 0;

	p += p < end && (*p == '-' || *p == '+');
	if (!is_digit(p, end) || skip_digits(p, end) != end)
		return false;
	while (p < end && *p == '0')
		p++;
	if (end - p > EXPONENT_DIGITS)
		return false;
	for (; p < end; p++)
		v = v * 10 + (*p - '0');
	*ret_v = negative ? -v : v;
	return true;
}

static bool read_number(struct span s, struct number *n)
{
	const char *p = s.data, *end = p + s.len, *whole;
	int64_t exponent = 0;

	*n = (struct number){ .negative = p < end && *p == '-' };
	p += p < end && (*p == '-' || *p == '+');
	n->at = p;
	whole = skip_digits(p, end);
	n->end = whole;
	if (whole == p)
		return false;
	if (whole < end && *whole == '.') {
		n->end = skip_digits(whole + 1, end);
		if (n->end == whole + 1)
			return false;
	}
	if (n->end < end && ((*n->end | 32) != 'e' ||
			     !read_exponent(n->end + 1, end, &exponent)))
		return false;
	while (n->at < n->end && (*n->at == '0' || *n->at == '.'))
		n->at++;
	n->zero = n->at == n->end;
	n->magnitude = exponent + (whole - n->at) + (n->at > whole);
	return true;
}

/* Behind the last digit stand zeros. */
static char next_digit(const char **p, const char *end)
{
	if (*p < end && **p == '.')
		++*p;
	return *p < end ? *(*p)++ : '0';
}

static int compare_sizes(const struct number *a, const struct number *b)
{
	const char *p = a->at, *q = b->at;

	if (a->magnitude != b->magnitude)
		return a->magnitude < b->magnitude ? -1 : 1;
	while (p < a->end || q < b->end) {
		char x = next_digit(&p, a->end), y = next_digit(&q, b->end);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

static int sign(const struct number *n)
{
	return n->zero ? 0 : n->negative ? -1 : 1;
}

static int compare_numbers(const struct number *a, const struct number *b)
{
	if (sign(a) != sign(b))
		return sign(a) < sign(b) ? -1 : 1;
	if (a->zero)
		return 0;
	return a->negative ? compare_sizes(b, a) : compare_sizes(a, b);
}

static int compare_text(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = memcmp(a.data, b.data, n);

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

int order_compare(struct span a, struct span b)
{
	struct number x, y;

	if (read_number(a, &x) && read_number(b, &y))
		return compare_numbers(&x, &y);
	return compare_text(a, b);
}

static void blame(struct order *o, struct span value)
{
	const char *type = !value.data ? "order.missing" : "order.invalid";

	if (!*o->poison.text && !identity_name_valid(value))
		o->poison = error_type_of(span_str(type));
}

bool order_of(const struct group_config *g, int64_t group_no, uint64_t seed,
	      struct span tenant, const struct event *ev, struct arena *scratch,
	      struct order *ret_o)
{
	struct order o = { .key = { 0 } };
	bool json_ok;
	struct hash h;

	*ret_o = o;
	if (!g->order_key.len || ev->oversize)
		return true;
	json_ok = g->format == FORMAT_JSON && json_valid(ev->payload);
	if (!selector_value(&g->order_key, ev, json_ok, scratch, &o.key) ||
	    !selector_value(&g->order_by, ev, json_ok, scratch, &o.by))
		return false;
	blame(&o, o.key);
	blame(&o, o.by);
	h = hash_start(seed);
	hash_add_int(h, KEY_OF_ORDER);
	hash_add_int(h, (uint64_t)group_no);
	hash_add(h, tenant.data ? tenant : span_str(""));
	hash_add(h, o.key);
	o.hash = hash_end128(h);
	*ret_o = o;
	return true;
}
