/* Small parsers for what people write, and checks for what machines send. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"

/*
 * A whole number with a unit: ms, s, m, h, d (86,400 s).  The unit is
 * required, but for a plain 0.  ERR_INPUT on anything else or on overflow.
 */
MUST_CHECK enum err parse_duration_ms(struct span s, int64_t *ret_ms);

/* A whole number of bytes with a unit K, M or G (powers of 1024), or none. */
MUST_CHECK enum err parse_size(struct span s, int64_t *ret_bytes);

/* Decimal digits only, no sign. */
MUST_CHECK enum err parse_uint(struct span s, int64_t *ret_v);

/* The largest unit that shows the value exactly: "30m", "90s", "64K". */
#define PARSE_TEXT_SIZE 24
const char *duration_text(char buf[PARSE_TEXT_SIZE], int64_t ms);
const char *size_text(char buf[PARSE_TEXT_SIZE], int64_t bytes);

/*
 * Well-formed UTF-8 as RFC 3629 has it: no surrogates, no overlong forms.
 * U+0000 is well-formed here.
 */
bool utf8_valid(struct span s);

/* The first @max bytes of @s at most, cut between characters. */
struct span utf8_cut(struct span s, size_t max);

/*
 * The entry of @words most like @s by edit distance, or NULL when none is
 * near enough to be what was meant.
 */
const char *nearest_word(struct span s, const char *const *words, size_t n);

#endif
