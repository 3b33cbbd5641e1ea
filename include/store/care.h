/* Looking after the file as a whole: checks, copies, and the end of one. */
#ifndef STORE_CARE_H
#define STORE_CARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"

struct store;

/* One thing that is wrong, in words. */
typedef void store_fault_fn(void *arg, const char *text);

/*
 * Whether the pages are sound and whatever a query can see holds; a reader may
 * ask.  Takes as long as reading the file does.  An error says that it could
 * not be looked at; faults are told of and counted in *ret_n.
 */
MUST_CHECK enum err store_verify(struct store *st, int64_t now_ms,
				 store_fault_fn *fn, void *arg,
				 unsigned *ret_n);

/*
 * Copies the store, as one moment saw it, to @file, which must not be there:
 * mode 0600, whole and synced or absent.  The copy knows when it was made
 * (store_options.accept_restored).  A reader may ask.
 */
MUST_CHECK enum err store_backup(struct store *st, const char *file,
				 int64_t wall_ms, struct err_detail *why);

/*
 * Moves the file at @path, its WAL and its index aside, to names with @stamp
 * in them, whatever is in them.  ERR_BUSY: it has an owner; ERR_NO: nothing
 * is there.  @ret_name gets the file's new name.
 */
MUST_CHECK enum err store_quarantine(const char *path, const char *stamp,
				     char *ret_name, size_t size,
				     struct err_detail *why);

#endif
