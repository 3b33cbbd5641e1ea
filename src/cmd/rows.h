/* Rows on their way to whoever asked: JSON objects, one a line (NDJSON). */
#ifndef CMD_ROWS_H
#define CMD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/span.h"

/* A page under way.  A row that does not fit is left out as a whole. */
struct rows {
	char *buf;		/* borrowed */
	size_t room, len;
	size_t row_at;		/* where the row under way begins */
	bool first, full;
};

void rows_init(struct rows *r, char *buf, size_t room);

void row_begin(struct rows *r);
void row_text(struct rows *r, const char *name, struct span v); /* absent: null */
/* Only as much of it as a list shows. */
#define ROW_TEXT_SHOWN	((size_t)2048)
void row_text_cut(struct rows *r, const char *name, struct span v);
void row_int(struct rows *r, const char *name, int64_t v);
void row_bool(struct rows *r, const char *name, bool v);
void row_raw(struct rows *r, const char *name, struct span json);
void row_base64(struct rows *r, const char *name, struct span bytes);

/* False: it did not fit, nothing of it remains, and the page is full. */
MUST_CHECK bool row_end(struct rows *r);

#endif
