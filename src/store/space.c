#include "store/space.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"

/* What a checkpoint that starts the WAL anew may need, and a slice of work. */
#define BALLAST_BYTES	((off_t)(SPACE_RESTART_FRAMES + 256) * STORE_PAGE_BYTES)
#define RESERVE_MIN	((int64_t)1 << 20)

static enum err get_int(struct store *st, enum stmt_id id, int64_t *ret_v)
{
	struct stmt *q AUTO_RESET = stmt_use(st, id);

	return stmt_int(st, q, ret_v);
}

/* Frames that a reader keeps from being used again lie on the disk too. */
static int64_t stuck_frames(const struct store *st)
{
	return st->wal_frames > 2 * SPACE_RESTART_FRAMES
		       ? st->wal_frames - 2 * SPACE_RESTART_FRAMES : 0;
}

enum err space_headroom(struct store *st, int64_t *ret_bytes)
{
	int64_t pages = 0, unused = 0;
	enum err e = get_int(st, STMT_PAGE_COUNT, &pages);

	if (!e)
		e = get_int(st, STMT_FREE_COUNT, &unused);
	if (!e)
		*ret_bytes = (st->max_pages - pages + unused -
			      stuck_frames(st)) * STORE_PAGE_BYTES;
	return e;
}

int64_t space_reserve(const struct store *st)
{
	int64_t r = st->max_pages * STORE_PAGE_BYTES / 16;

	return r > RESERVE_MIN ? r : RESERVE_MIN;
}

bool space_disk_takes(struct store *st)
{
	enum err e = store_begin(st);

	if (e)
		return false;
	{
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_PROBE);

		e = stmt_exec(st, q);
	}
	if (e)
		store_rollback(st);
	else
		e = store_commit(st);
	return !e;
}

static void ballast_path(const struct store *st, char *buf, size_t size)
{
	snprintf(buf, size, "%s.ballast", st->path);
}

bool space_ballast_put(struct store *st)
{
	char path[4096];
	AUTO_CLOSE int fd = -1;
	struct stat sb;

	ballast_path(st, path, sizeof(path));
	/* A shorter one is of somebody who died while it was made. */
	if (!stat(path, &sb) && sb.st_size >= BALLAST_BYTES)
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	/* Where it does not fit, nothing can be held back. */
	if (!posix_fallocate(fd, 0, BALLAST_BYTES))
		return true;
	unlink(path);
	return false;
}

bool space_ballast_drop(struct store *st)
{
	char path[4096];

	ballast_path(st, path, sizeof(path));
	return unlink(path) == 0;
}

enum err space_checkpoint(struct store *st, int min_frames)
{
	int mode = st->wal_frames > SPACE_RESTART_FRAMES
			   ? SQLITE_CHECKPOINT_RESTART
			   : SQLITE_CHECKPOINT_PASSIVE;
	int rc, log = 0, moved = 0;

	if (st->wal_frames < min_frames || !st->wal_frames)
		return OK;
	rc = sqlite3_wal_checkpoint_v2(st->db, NULL, mode, &log, &moved);
	if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
		return OK;		/* a reader: next time */
	if (!rc && log == moved)
		st->wal_frames = 0;	/* the next commit starts it anew */
	return store_err(st, rc);
}
