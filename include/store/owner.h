/*
 * The owner's lock: a file beside the store, locked while its owner lives.  It
 * also holds a few lines for those who look from outside, never synced: what
 * they say is worth nothing once the owner is gone.
 */
#ifndef STORE_OWNER_H
#define STORE_OWNER_H

#include <sys/types.h>

#include "base/defs.h"
#include "base/err.h"

struct store;

/* Replaces the lines below "pid N" by @text. */
void owner_say(struct store *st, const char *text);

/*
 * What the owner of the store at @path says, if one lives: *ret_pid is 0 if
 * none does.  @text gets its lines.
 */
void owner_look(const char *path, pid_t *ret_pid, char *text, size_t size);

#endif
