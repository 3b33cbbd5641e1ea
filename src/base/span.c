#include "base/span.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct span span_trim(struct span s)
{
	while (s.len && is_blank(s.data[0])) {
		s.data++;
		s.len--;
	}
	while (s.len && is_blank(s.data[s.len - 1]))
		s.len--;
	return s;
}

struct span span_cut(struct span s, char sep, struct span *rest)
{
	const char *at = s.len ? memchr(s.data, sep, s.len) : NULL;
	size_t head;

	if (!at) {
		*rest = (struct span){ 0 };
		return s;
	}
	head = (size_t)(at - s.data);
	*rest = span_of(at + 1, s.len - head - 1);
	return span_of(s.data, head);
}
