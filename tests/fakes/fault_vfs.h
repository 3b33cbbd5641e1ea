/*
 * A layer under SQLite in a test process: counts what reaches the files, lets
 * a test look on around each sync, and fails the Nth operation on demand.
 * Thread-safe; one per process.
 */
#ifndef TESTS_FAULT_VFS_H
#define TESTS_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_op {
	FAULT_OPEN,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_TRUNCATE,
	FAULT_SYNC,
	FAULT_DELETE,
	FAULT_SHM,  /* a page of the WAL's index is mapped */
	FAULT_LOCK, /* on the WAL's index; letting go never fails */
	FAULT_OPS,
	FAULT_ANY = FAULT_OPS
};

enum fault_moment { FAULT_BEFORE_SYNC, FAULT_AFTER_SYNC };

/* @name is the file's path; the hook runs on the thread that syncs. */
typedef void fault_hook_fn(void *arg, enum fault_moment when, const char *name);

/* Becomes the default VFS of every connection opened from now on. */
void fault_vfs_install(void);

/* No hook, no failure, all counts 0. */
void fault_vfs_reset(void);

void fault_vfs_hook(fault_hook_fn *hook, void *arg);

/*
 * The @nth @op from now (1: the next) answers @code (SQLITE_IOERR_FSYNC,
 * SQLITE_FULL, ...) and does nothing; with @onwards all after it too.
 * @code 0 takes it back.
 */
void fault_vfs_fail(enum fault_op op, uint64_t nth, int code, bool onwards);

/*
 * The same with the code that SQLite's own layer makes of @err_no, which it
 * then knows too.
 */
void fault_vfs_fail_errno(enum fault_op op, uint64_t nth, int err_no,
			  bool onwards);

uint64_t fault_vfs_count(enum fault_op op);

/* How many operations were made to fail. */
uint64_t fault_vfs_failed(void);

#endif
