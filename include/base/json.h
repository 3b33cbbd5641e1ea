/*
 * A strict reader of JSON texts (RFC 8259) that allocates nothing and keeps
 * numbers as they were written.  It looks, it does not build a tree.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/defs.h"
#include "base/span.h"

/* Deeper nesting is refused; SQLite's own reader stops at 1,000. */
#define JSON_MAX_DEPTH 200

/*
 * Whether @text is exactly one well-formed JSON value in valid UTF-8, with
 * nothing but white space around it, nested at most JSON_MAX_DEPTH deep.
 */
bool json_valid(struct span text);

enum json_kind {
	JSON_STRING, /* raw spans the inside of the quotes, still escaped */
	JSON_NUMBER, /* raw is the number's exact text */
	JSON_BOOL,
	JSON_NULL,
	JSON_OBJECT, /* raw spans the value with its brackets */
	JSON_ARRAY,
};

struct json_value {
	enum json_kind kind;
	struct span raw;
};

/*
 * Finds the value at @path, written as SQLite writes it: "$", "$.a.b",
 * "$.a[3].b", '$."odd name".b'.  @text must be json_valid().  Of repeated
 * names the first counts, as in SQLite.  False when there is no such value.
 */
bool json_find(struct span text, struct span path, struct json_value *ret_v);

/* Whether json_find() can follow @path at all. */
bool json_path_valid(struct span path);

/*
 * Undoes the escapes of a string's inside into @buf of @size bytes.
 * Returns the length, or -1 when it does not fit or holds half a surrogate.
 */
long json_unescape(struct span raw, char *buf, size_t size);

/*
 * Walks the elements of the array or object @v: start with *pos = 0.
 * For objects *ret_name (may be NULL) is the name's inside, still escaped.
 */
bool json_next(struct json_value v, size_t *pos, struct span *ret_name,
	       struct json_value *ret_v);

/*
 * Appends @s as a JSON string with quotes to @buf at *len, keeping a NUL
 * behind it.  False, with nothing changed, when it does not fit.  Bytes that
 * are not UTF-8 become U+FFFD.
 */
bool json_put_string(char *buf, size_t size, size_t *len, struct span s);

#endif
