/* A file that cannot be used goes aside, whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database.h"
#include "store/care.h"

/* The file first: without its WAL it would be a store that forgot. */
static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };

static bool there(const char *path, const char *suffix)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return access(name, F_OK) == 0;
}

static bool any_there(const char *path)
{
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		any |= there(path, suffixes[i]);
	return any;
}

static enum err move_all(const char *from, const char *to,
			 struct err_detail *why)
{
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		char a[4096], b[4096];

		snprintf(a, sizeof(a), "%s%s", from, suffixes[i]);
		snprintf(b, sizeof(b), "%s%s", to, suffixes[i]);
		if (rename(a, b) && errno != ENOENT)
			return err_say(why, errno == EACCES ? ERR_PERM : ERR_IO,
				       "%s: %s; ask again to move the rest", a,
				       err_system(errno));
	}
	if (store_sync_directory(from))
		return err_say(why, ERR_IO, "%s: cannot sync its directory: %s",
			       from, err_system(errno));
	return OK;
}

static enum err move(const char *path, const char *stamp, char *ret_name,
		     size_t size, struct err_detail *why)
{
	for (unsigned n = 0; n < 100; n++) {
		if ((size_t)snprintf(ret_name, size, n ? "%s.%s.%u" : "%s.%s",
				     path, stamp, n) >= size)
			break;
		if (!any_there(ret_name))
			return move_all(path, ret_name, why);
	}
	return err_say(why, ERR_CREATE, "%s.%s: no free name", path, stamp);
}

enum err store_quarantine(const char *path, const char *stamp, char *ret_name,
			  size_t size, struct err_detail *why)
{
	struct store st = { .role = STORE_OWNER, .lock_fd = -1 };
	enum err e = OK;

	if (!any_there(path))
		return errno == EACCES
			       ? err_say(why, ERR_PERM, "%s: %s; run this as "
					 "the daemon's user or as root", path,
					 err_system(errno))
			       : err_say(why, ERR_NO, "%s: there is no store",
					 path);
	st.path = strdup(path);
	if (!st.path)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	e = owner_lock(&st, why);
	if (!e)
		e = move(path, stamp, ret_name, size, why);
	if (st.lock_fd >= 0)
		close(st.lock_fd);
	free(st.path);
	return e;
}
