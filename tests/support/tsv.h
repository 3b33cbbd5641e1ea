/*
 * Cases from a file: one per line, fields with tabs between.  Empty lines and
 * lines that start with '#' are left out.  In fields, \n \t \\ and \xHH stand
 * for what they stand for in C.
 */
#ifndef TESTS_TSV_H
#define TESTS_TSV_H

#include <stdio.h>

#include "base/span.h"

#define TSV_FIELDS 8

struct tsv {
	FILE *file;
	const char *path;
	int line; /* of the case read last, from 1 */
	char text[32768];
	struct span field[TSV_FIELDS]; /* absent behind the last; each ends
					  with a NUL that is not counted */
};

/* Ends the test if @path cannot be read. */
void tsv_open(struct tsv *t, const char *path);

/* False at the end of the file, which is closed then. */
bool tsv_next(struct tsv *t);

/* Says which case failed. */
void tsv_blame(const struct tsv *t);

#endif
