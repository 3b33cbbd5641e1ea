/*
 * Rows for people: on a terminal they fit its width, with ~ where the middle
 * of something is left out; elsewhere nothing is cut, for grep and awk.
 */
#ifndef CMD_TABLE_H
#define CMD_TABLE_H

#include <stdbool.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"

struct table_column {
	const char *name;
	unsigned min; /* may be cut down to that many characters; 0: never */
	bool right;   /* numbers */
	bool spare;   /* left out when there is no room for it */
};

struct table;

/* @columns is kept; *ret_t is given: table_free(). */
MUST_CHECK enum err table_new(const struct table_column *columns, unsigned n,
			      struct table **ret_t);
void table_free(struct table *t);

/* The next cell, from left to right, row after row. */
void table_cell(struct table *t, struct span s);

/* Prints what has come, under a header at first, and forgets it. */
void table_print(struct table *t);

#endif
