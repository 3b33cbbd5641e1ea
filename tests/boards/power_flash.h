/*
 * The machine's data disk, as qemu's NBD client sees it: like flash behind a
 * cache.  What is written is lost in a power cut until it has been flushed,
 * wholly or in part, by sectors.
 */
#ifndef TESTS_POWER_FLASH_H
#define TESTS_POWER_FLASH_H

#include "../support/seeded.h"

struct flash;

/* What a power cut found in the cache, in sectors, and what it took of that. */
struct flash_loss {
	unsigned cached, lost;
};

/*
 * Serves the file @image on the Unix socket @path, to one client at a time; its
 * thread ends with the program.  The file has what is flushed, and no more.
 * @seed decides what of the rest survives a cut.
 */
struct flash *flash_start(const char *image, const char *path, uint64_t seed);

/*
 * The power comes, and goes: now, or at the so many'th write or flush from now
 * on, before its answer.  Then nothing is answered any more.
 */
void flash_power(struct flash *f);
struct flash_loss flash_cut(struct flash *f);
void flash_cut_at(struct flash *f, unsigned requests);
bool flash_is_cut(struct flash *f);

#endif
