/* What the parts of the JSON reader share. */
#ifndef BASE_JSON_INTERNAL_H
#define BASE_JSON_INTERNAL_H

#include "base/span.h"

/*
 * Cuts the next character off a string's inside and writes it as UTF-8.
 * Returns its length, 0 at the end, -1 for half a surrogate or an escape that
 * JSON does not know.  Bytes that are no escape come one at a time.
 */
int json_take_char(struct span *raw, char ret_c[4]);

#endif
