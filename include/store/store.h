/*
 * The store: one SQLite file in WAL mode, and the lock that makes this process
 * its owner.
 *
 * Nothing outside src/store/ sees SQLite.  Calls do not log; after a failure
 * store_detail() has the words.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"

struct store;

enum store_role {
	STORE_OWNER,		/* the only writer; creates, migrates */
	STORE_READER,		/* looks, and never blocks the owner */
	STORE_SCRATCH,		/* a new one in memory, to check against */
};

struct store_options {
	const char *path;	/* of the file; its directory is made if absent */
	int64_t max_size;	/* bytes of the file; 0 for a reader */
	int64_t memory;		/* bytes SQLite may use; 0: no limit */
	bool secure_delete;
	bool accept_restored;	/* a backup becomes the store */
};

/*
 * ERR_BUSY: another owner; @why names its pid.  ERR_SCHEMA: the file is not a
 * store, or a newer program's; ERR_CORRUPT: damaged.  Both leave the file as
 * it was, byte for byte.  ERR_NO: there is no file (reader only).  ERR_CREATE,
 * ERR_PERM, ERR_FULL, ERR_IO as they say.
 *
 * A backup (store/care.h) opens for an owner only with accept_restored:
 * ERR_SCHEMA says of when it is.
 *
 * An owner's open completes a checkpoint and then commits the next epoch,
 * synced: what a process before it left unsynced must not be vouched for
 * (https://sqlite.org/wal.html; WAL recovery does not sync).
 * *ret_store is given: store_close().
 */
MUST_CHECK enum err store_open(const struct store_options *o,
			       enum store_role role, struct store **ret_store,
			       struct err_detail *why);

/* Safe on NULL.  Rolls back what is not committed. */
void store_close(struct store *st);

/* Text for the latest failure; borrowed until the next call on @st. */
const char *store_detail(const struct store *st);

/* Returns @e; when that is ERR_CORRUPT, @why gets what to do about it. */
enum err store_advise(enum err e, struct err_detail *why);

/* Seed of all keys and fingerprints in this store. */
uint64_t store_seed(const struct store *st);

/* Number of this ownership. */
int64_t store_epoch(const struct store *st);

/* How the ownership before this one ended. */
enum store_end {
	STORE_STOPPED,		/* in order, or there was none */
	STORE_DIED,		/* the process, in this boot of the machine */
	STORE_POWERED_OFF,	/* with the machine */
};

enum store_end store_last_end(const struct store *st);

/*
 * The last commit of an ownership that stops in order.  One that ran nothing
 * after another that died leaves it to the next to be careful: no call.
 */
MUST_CHECK enum err store_clean_put(struct store *st, int64_t boot_ms);

/*
 * The store clock at @boot_ms (CLOCK_BOOTTIME): never goes back, never jumps,
 * does not count time without power.
 */
int64_t store_now_ms(const struct store *st, int64_t boot_ms);

/* Writes the clock down; part of a transaction under way. */
MUST_CHECK enum err store_clock_put(struct store *st, int64_t boot_ms);

/*
 * Owners in a row that died, within this boot and without a commit of events:
 * something kills the process that comes again at each start.
 */
unsigned store_barren_deaths(const struct store *st);
/* This owner is none of them; part of a transaction under way. */
MUST_CHECK enum err store_fruitful_put(struct store *st);

/*
 * Takes the write lock at once or not at all: ERR_BUSY.  Transactions do not
 * nest.
 */
MUST_CHECK enum err store_begin(struct store *st);

/* OK: it is on the flash.  On failure nothing of the transaction remains. */
MUST_CHECK enum err store_commit(struct store *st);

void store_rollback(struct store *st);

/*
 * False when something inside took the whole transaction down: an interrupted
 * write, OR ROLLBACK, RAISE(ROLLBACK), a full disk
 * (https://sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction).
 */
bool store_in_transaction(const struct store *st);

/* A savepoint for one event: set, then either keep or undo what came after. */
MUST_CHECK enum err store_event_begin(struct store *st);
MUST_CHECK enum err store_event_keep(struct store *st);
MUST_CHECK enum err store_event_undo(struct store *st);

/* Whether another connection wrote to the file since the last look. */
MUST_CHECK enum err store_foreign_writer(struct store *st, bool *ret_seen);

/* Sizes of the files, in bytes; 0 for one that is not there. */
struct store_stats {
	int64_t file_bytes, wal_bytes;
};
void store_stats(struct store *st, struct store_stats *ret);

/* "3.40.1", of the library that runs. */
const char *store_library_version(void);

/* "THREADSAFE=0", the @i-th option it was built with; NULL: there is none. */
const char *store_library_option(int i);

#endif
