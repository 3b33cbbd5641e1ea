/* User properties as the store keeps them: JSON, [["name","value"],...]. */
#ifndef STORE_PROPS_H
#define STORE_PROPS_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "core/event.h"

/*
 * *ret_text is "[]" or malloc'ed memory of the caller, NUL-terminated:
 * props_free().
 */
MUST_CHECK enum err props_encode(const struct event *ev, char **ret_text);
void props_free(char **text);

#define AUTO_PROPS	__attribute__((cleanup(props_free)))

/* Fills the properties of @ev from @text; spans lie in @a. */
MUST_CHECK enum err props_decode(struct span text, struct arena *a,
				 struct event *ev);

#endif
