#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *a, size_t chunk_bytes, size_t max_bytes)
{
	*a = (struct arena){ .chunk_bytes = chunk_bytes,
			     .max_bytes = max_bytes };
}

static void free_chain(struct arena_chunk *c)
{
	while (c) {
		struct arena_chunk *next = c->next;

		free(c);
		c = next;
	}
}

void arena_fini(struct arena *a)
{
	free_chain(a->first);
	a->first = a->last = NULL;
}

void arena_reset(struct arena *a)
{
	a->used_bytes = 0;
	if (!a->first)
		return;
	free_chain(a->first->next);
	a->first->next = NULL;
	a->first->used = 0;
	a->last = a->first;
}

static struct arena_chunk *grow(struct arena *a, size_t bytes)
{
	size_t size = bytes > a->chunk_bytes ? bytes : a->chunk_bytes;
	struct arena_chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		return NULL;
	*c = (struct arena_chunk){ .size = size };
	if (a->last)
		a->last->next = c;
	else
		a->first = c;
	a->last = c;
	return c;
}

void *arena_take(struct arena *a, size_t bytes)
{
	struct arena_chunk *c = a->last;
	void *p;

	if (bytes > a->max_bytes)
		return NULL;
	bytes = (bytes + alignof(max_align_t) - 1) &
		~(alignof(max_align_t) - 1);
	if (a->used_bytes + bytes > a->max_bytes)
		return NULL;
	if (!c || c->size - c->used < bytes) {
		c = grow(a, bytes);
		if (!c)
			return NULL;
	}
	p = c->bytes + c->used;
	c->used += bytes;
	a->used_bytes += bytes;
	return p;
}

bool arena_copy(struct arena *a, struct span s, struct span *ret_copy)
{
	char *p;

	if (!s.data) {
		*ret_copy = s;
		return true;
	}
	p = arena_take(a, s.len + 1);
	if (!p)
		return false;
	memcpy(p, s.data, s.len);
	p[s.len] = '\0';
	*ret_copy = span_of(p, s.len);
	return true;
}
