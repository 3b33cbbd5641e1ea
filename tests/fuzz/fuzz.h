/*
 * What a fuzz target is: libFuzzer calls it with bytes that get ever nastier,
 * main.c with those of the files that it is given.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold of any input. */
#define MUST(what)							\
	do {								\
		if (!(what)) {						\
			fprintf(stderr, "%s:%d: %s\n", __FILE__,	\
				__LINE__, #what);			\
			abort();					\
		}							\
	} while (0)

static inline struct span fuzz_span(const uint8_t *data, size_t size)
{
	return span_of((const char *)data, size);
}

#endif
