/* Handlers of kind sql: a file of statements, run in the store's sandbox. */
#ifndef HANDLER_SQL_H
#define HANDLER_SQL_H

#include "base/defs.h"
#include "base/err.h"
#include "core/config.h"
#include "core/handler.h"

struct store;

/*
 * Reads and prepares the group's file.  ERR_INPUT: @why names file and line.
 * The handler's self is given: sql_handler_close(), before its store closes.
 */
MUST_CHECK enum err sql_handler_open(struct store *st,
				     const struct group_config *g,
				     struct handler *ret_h,
				     struct err_detail *why);
void sql_handler_close(struct handler *h);	/* safe on a zeroed one */

/*
 * Applies all files of a [store] schema pattern, in the order of their names;
 * a transaction of its own.  NULL: none.
 */
MUST_CHECK enum err sql_schema_apply(struct store *st, const char *pattern,
				     struct err_detail *why);

/* Only whether a file was edited after it was applied; a reader may ask. */
MUST_CHECK enum err sql_schema_check(struct store *st, const char *pattern,
				     struct err_detail *why);

#endif
