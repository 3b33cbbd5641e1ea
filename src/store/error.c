#include "database.h"

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

/* The library's words, but for those that could quote an operator's data. */
enum err store_err(struct store *st, int rc)
{
	enum err e = store_err_code(rc);

	if (!e)
		return OK;
	st->io_failed |= e == ERR_IO || e == ERR_CORRUPT;
	/* It drops its cache then, which counts like another's write. */
	if (e == ERR_FULL || e == ERR_NOMEM || e == ERR_IO)
		st->data_version = 0;
	err_say(&st->detail, e, "%s (SQLite %d)", sqlite3_errstr(rc), rc);
	/* An error of the system below says more than SQLite's own word. */
	if (e == ERR_IO && sqlite3_system_errno(st->db))
		err_say(&st->detail, e, "%s (SQLite %d, errno %d: %s)",
			sqlite3_errstr(rc), rc, sqlite3_system_errno(st->db),
			err_system(sqlite3_system_errno(st->db)));
	return e;
}

const char *store_detail(const struct store *st)
{
	return st->detail.text;
}
