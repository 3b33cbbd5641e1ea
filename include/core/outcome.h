/* What an attempt came to, and the short word that says why. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

#include <stdbool.h>

#include "base/span.h"

enum outcome {
	OUTCOME_OK,
	OUTCOME_TRANSIENT, /* may go well later */
	OUTCOME_PERMANENT, /* will fail the same way each time */
	OUTCOME_POISON,	   /* cannot be read at all */
};

const char *outcome_text(enum outcome o);

/*
 * An error type: letters, digits and "._-", at most 63 of them.  From code or
 * from the handler's own call, never from the data.
 */
#define ERROR_TYPE_SIZE 64

struct error_type {
	char text[ERROR_TYPE_SIZE];
};

/* "handler.bad_type" when @s is not a word as above. */
struct error_type error_type_of(struct span s);

#endif
