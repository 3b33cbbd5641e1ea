/*
 * What a consumer asks of the disk, counted by counter.so in a file that the
 * benchmark maps as well.  Only one thread of the consumer touches its store.
 */
#ifndef TESTS_BENCH_COUNTS_H
#define TESTS_BENCH_COUNTS_H

#include <stdint.h>

#define COUNTS_ENV "BENCH_COUNTS" /* names the file */

struct counts {
	uint64_t wal_syncs, file_syncs, other_syncs;
	uint64_t wal_bytes, file_bytes;
	uint64_t commits; /* frames of the WAL that end a transaction */
};

#endif
