/* A borrowed run of bytes: valid only as long as its owner says so. */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *data; /* NULL: absent, which is not the same as empty */
	size_t len;	  /* bytes */
};

/* For "%.*s": SPAN_FMT(s) gives both arguments. */
#define SPAN_FMT(s) (int)(s).len, (s).data ? (s).data : ""

static inline struct span span_of(const void *data, size_t len)
{
	return (struct span){ .data = data, .len = len };
}

/* NULL gives an absent span. */
static inline struct span span_str(const char *s)
{
	return span_of(s, s ? strlen(s) : 0);
}

static inline bool span_equal(struct span a, struct span b)
{
	return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

static inline bool span_is(struct span a, const char *s)
{
	return span_equal(a, span_str(s));
}

/* Without the spaces and tabs at both ends. */
struct span span_trim(struct span s);

/*
 * Cuts @s at the first @sep: returns what stands before it and moves @rest
 * behind it.  Without one, returns all and leaves @rest absent.
 */
struct span span_cut(struct span s, char sep, struct span *rest);

#endif
