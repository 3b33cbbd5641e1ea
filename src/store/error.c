#include "database.h"

#include <errno.h>

enum err store_err_code(int rc)
{
	if (rc == SQLITE_IOERR_SHMSIZE)	/* the WAL's index needs room too */
		return ERR_FULL;
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return OK;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERR_BUSY;
	case SQLITE_NOMEM:
		return ERR_NOMEM;
	case SQLITE_FULL:
		return ERR_FULL;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return ERR_IO;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return ERR_PERM;
	case SQLITE_CORRUPT:
		return ERR_CORRUPT;
	case SQLITE_NOTADB:
		return ERR_SCHEMA;
	default:
		return ERR_BUG;
	}
}

/* Of a COMMIT that failed SQLite keeps the number with the WAL's file only. */
static int system_errno(sqlite3 *db)
{
	int op = SQLITE_FCNTL_JOURNAL_POINTER, n = sqlite3_system_errno(db);
	sqlite3_file *wal = NULL;

	if (n || !db)
		return n;
	if (!sqlite3_file_control(db, "main", op, &wal) && wal && wal->pMethods)
		(void)wal->pMethods->xFileControl(wal,
						  SQLITE_FCNTL_LAST_ERRNO, &n);
	return n;
}

/*
 * A quota that is used up, a file that may not grow: SQLite knows ENOSPC of a
 * write only.  After a failed sync it is too late to wait for room.
 */
static bool is_full(int rc, int err_no)
{
	if (rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC)
		return false;
	return err_no == ENOSPC || err_no == EDQUOT || err_no == EFBIG;
}

/* The library's words, but for those that could quote an operator's data. */
enum err store_err(struct store *st, int rc)
{
	enum err e = store_err_code(rc);
	int err_no;

	if (!e)
		return OK;
	/* Our statements are right: it is the file that does not fit them. */
	if (rc == SQLITE_ERROR)
		e = ERR_CORRUPT;
	/* An error of the system below says more than SQLite's own word. */
	err_no = e == ERR_IO ? system_errno(st->db) : 0;
	if (is_full(rc, err_no))
		e = ERR_FULL;
	st->io_failed |= e == ERR_IO || e == ERR_CORRUPT;
	/* It drops its cache then, which counts like another's write. */
	if (e == ERR_FULL || e == ERR_NOMEM || e == ERR_IO)
		st->data_version = 0;
	err_say(&st->detail, e, "%s (SQLite %d)", rc == SQLITE_ERROR
		? "the tables, or what is in them, are not as they were made"
		: sqlite3_errstr(rc), rc);
	if (err_no)
		err_say(&st->detail, e, "%s (SQLite %d, errno %d: %s)",
			sqlite3_errstr(rc), rc, err_no, err_system(err_no));
	return e;
}

const char *store_detail(const struct store *st)
{
	return st->detail.text;
}
