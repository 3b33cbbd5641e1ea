/* A copy that is consistent, whole and knows that it is a copy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "database.h"
#include "store/care.h"

static enum err say(struct store *copy, const char *file, int rc,
		    struct err_detail *why)
{
	return err_say(why, store_err(copy, rc), "%s: %s; no copy was kept",
		       file, copy->detail.text);
}

/* One step: the snapshot of one read, however many events come meanwhile. */
static int copy_pages(sqlite3 *to, sqlite3 *from)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc;

	if (!b)
		return sqlite3_errcode(to);
	rc = sqlite3_backup_step(b, -1);
	return sqlite3_backup_finish(b) ? sqlite3_errcode(to)
	       : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static enum err fill(struct store *st, const char *draft, int64_t wall_ms,
		     struct err_detail *why)
{
	struct store copy = { .role = STORE_OWNER, .lock_fd = -1 };
	int rc = sqlite3_open_v2(draft, &copy.db, SQLITE_OPEN_READWRITE |
					 SQLITE_OPEN_NOMUTEX, NULL);
	enum err e = OK;

	if (!rc)
		rc = copy_pages(copy.db, st->db);
	if (!rc)
		e = store_mark_copy(&copy, wall_ms);
	if (e)
		e = err_say(why, e, "%s: %s", draft, copy.detail.text);
	if (!rc && !e)
		rc = sqlite3_wal_checkpoint_v2(copy.db, NULL,
					       SQLITE_CHECKPOINT_TRUNCATE,
					       NULL, NULL);
	if (rc)
		e = say(&copy, draft, rc, why);
	rc = sqlite3_close(copy.db);
	copy.db = NULL;
	return rc && !e ? say(&copy, draft, rc, why) : e;
}

static enum err sync_file(const char *file)
{
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);

	return fd < 0 || fsync(fd) ? ERR_IO : OK;
}

static enum err make_draft(const char *draft, struct err_detail *why)
{
	int fd;

	store_remove_draft(draft);
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_say(why, errno == EACCES ? ERR_PERM : ERR_CREATE,
			       "%s: %s", draft, err_system(errno));
	close(fd);
	return OK;
}

enum err store_backup(struct store *st, const char *file, int64_t wall_ms,
		      struct err_detail *why)
{
	char draft[4096];
	enum err e;

	if ((size_t)snprintf(draft, sizeof(draft), "%s.part", file) >=
	    sizeof(draft) - 16)
		return err_say(why, ERR_CREATE, "%s: path too long", file);
	if (access(file, F_OK) == 0)
		return err_say(why, ERR_CREATE, "%s is there already; name "
			       "another file", file);
	sqlite3_busy_timeout(st->db, 5000);
	e = make_draft(draft, why);
	if (e)
		return e;
	e = fill(st, draft, wall_ms, why);
	if (!e && (sync_file(draft) || rename(draft, file) ||
		   store_sync_directory(file)))
		e = err_say(why, ERR_IO, "%s: %s; no copy was kept", file,
			    err_system(errno));
	if (e)
		store_remove_draft(draft);
	return e;
}
