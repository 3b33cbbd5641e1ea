/*
 * A disk that loses power.  A layer under SQLite, for one thread, that knows
 * what reached the files and what of it the last sync covers; at a chosen
 * operation it goes dead, and what the files then are is drawn from a seed.
 *
 * After a failed sync the page cache may lie (power_lies()): what was written
 * until then is there while the power lasts, and no later sync writes it.
 *
 * Nothing is ever synced for real: what counts is the model.  A sector of 512
 * bytes is written whole or not at all, but for the rare torn one; bytes that
 * a write did not cover stay as they were (SQLITE_IOCAP_POWERSAFE_OVERWRITE).
 * Names are made, changed and removed in the directory, which has to be synced
 * too; SQLite does it with the first sync of a new journal or WAL.
 */
#ifndef TESTS_POWER_H
#define TESTS_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../support/seeded.h"

enum power_op {
	POWER_OPEN,
	POWER_WRITE,
	POWER_TRUNCATE,
	POWER_SYNC,
	POWER_DELETE,
	POWER_SHM,
	POWER_OTHER, /* what the world outside the files has to do */
	POWER_OPS,
	POWER_ANY = POWER_OPS,
};

/* Becomes the default VFS; before anything else uses SQLite. */
void power_install(void);

/* All chance from now on: cuts, torn sectors, SQLite's own random bytes. */
void power_seed(uint64_t seed);

/* Only files whose path starts with @prefix are watched; forgets the others. */
void power_watch(const char *prefix);

/* The @nth operation from now (1: the next) is the last; 0: none is. */
void power_die_at(uint64_t nth);

/*
 * The @nth operation of kind @op from now answers @code and does nothing; with
 * @onwards all after it too.  One at a time; @code 0 takes it back.
 */
void power_fail(enum power_op op, uint64_t nth, int code, bool onwards);

/* Whether failed syncs are the kind that later ones hide. */
void power_lies(bool on);

bool power_is_dead(void);
uint64_t power_count(enum power_op op);
uint64_t power_failed(void);

/* The process is gone, the machine is not: all that was written stays. */
void power_kill(void);

/* The machine is gone: what was not synced is kept, lost or torn. */
void power_cut(void);

/*
 * For what reaches the files past SQLite.  False: it is dead, or has to fail;
 * the operation is not to be done.
 */
bool power_step(enum power_op op);
void power_made(const char *path);
void power_renamed(const char *from, const char *to);
int power_delete(const char *path); /* 0, or -1 with errno */
void power_writes(const char *path, int fd, int64_t at, size_t n);
void power_synced(const char *path, int fd, bool done);
void power_directory_synced(void);
uint64_t power_random(void);

#endif
