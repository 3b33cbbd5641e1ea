#include "core/lifecycle.h"

#include "base/defs.h"

static const char *const place_names[] = {
	[PLACE_NEW] = "new",
	[PLACE_PENDING] = "pending",
	[PLACE_DONE] = "done",
	[PLACE_DEAD] = "dead",
};

static const char *const dead_names[] = {
	[DEAD_PERMANENT] = "permanent",	  [DEAD_POISON] = "poison",
	[DEAD_CONFLICT] = "conflict",	  [DEAD_EXHAUSTED] = "exhausted",
	[DEAD_CRASH_LOOP] = "crash_loop",
};

_Static_assert(ARRAY_LEN(place_names) == PLACE_COUNT, "a place has no name");
_Static_assert(ARRAY_LEN(dead_names) == DEAD_KIND_COUNT, "a kind has no name");

/* clang-format off */
static const bool moves[PLACE_COUNT][PLACE_COUNT] = {
	[PLACE_NEW] = {
		[PLACE_PENDING]	= true,	/* transient, or not attempted yet */
		[PLACE_DONE]	= true,	/* effect and marker in one commit */
		[PLACE_DEAD]	= true,	/* permanent, poison, conflict */
	},
	[PLACE_PENDING] = {
		[PLACE_PENDING]	= true,	/* another wait */
		[PLACE_DONE]	= true,
		[PLACE_DEAD]	= true,	/* exhausted, or a replay that failed */
	},
	[PLACE_DEAD] = {
		[PLACE_PENDING]	= true,	/* replay */
	},
};
/* clang-format on */

const char *place_text(enum place p)
{
	return (unsigned)p < PLACE_COUNT ? place_names[p] : "?";
}

const char *dead_kind_text(enum dead_kind k)
{
	return (unsigned)k < DEAD_KIND_COUNT ? dead_names[k] : "?";
}

bool lifecycle_allows(enum place from, enum place to)
{
	return (unsigned)from < PLACE_COUNT && (unsigned)to < PLACE_COUNT &&
	       moves[from][to];
}
