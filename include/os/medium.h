/*
 * What a directory lies on, as far as a store cares: whether its files outlive
 * a power cut, and whether SQLite's WAL works there.  The kernel's list of
 * mounts decides, proc(5); an overlay is judged by its upper directory, where
 * what is written goes.
 */
#ifndef OS_MEDIUM_H
#define OS_MEDIUM_H

#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"

enum medium_kind {
	MEDIUM_DISK,	/* nothing is known against it */
	MEDIUM_MEMORY,	/* tmpfs, ramfs: gone with the power */
	MEDIUM_NETWORK, /* https://sqlite.org/wal.html: "does not work over" */
	MEDIUM_FUSE,	/* only its program knows what is synced */
	MEDIUM_FAT,	/* no journal */
	MEDIUM_UNSEEN,	/* an overlay whose upper directory is not in sight */
};

struct medium {
	enum medium_kind kind;
	char type[32];	 /* "ext4", as the kernel says it; "" if not known */
	char upper[512]; /* the upper directory it was judged by, or "" */
};

/*
 * @mountinfo as in /proc/self/mountinfo.  @mount_of tells the number of the
 * mount that a path lies in, the first of its fields; -1: it is not in sight,
 * as an overlay's upper directory in a jail.
 */
void medium_read(FILE *mountinfo, const char *path,
		 int (*mount_of)(const char *path), struct medium *ret);

/*
 * Whether the store @path can lie where it shall, or where its directory will
 * be made.  What is allowed but breaks the promise goes to @warn, one line
 * each.  ERR_CONFIG: no file can be mapped shared and writable there (JFFS2),
 * which the WAL needs.  What cannot be found out is passed over.
 */
MUST_CHECK enum err medium_check(const char *path,
				 void (*warn)(const char *text),
				 struct err_detail *why);

#endif
