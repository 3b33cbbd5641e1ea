/* Transactions, savepoints and the store clock. */
#include <sys/stat.h>
#include <stdio.h>

#include "database.h"

static enum err run(struct store *st, enum stmt_id id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, id);

	return stmt_exec(st, q);
}

enum err store_begin(struct store *st)
{
	if (st->owes_rollback)
		store_rollback(st);
	return st->owes_rollback ? ERR_NOMEM : run(st, STMT_BEGIN);
}

/* Of these SQLite itself does not know whether they are in their place. */
static const char *const beside[STORE_BESIDE] = { "-wal", "-shm" };

static ino_t inode_of(const struct store *st, const char *suffix)
{
	char name[4096];
	struct stat sb;

	snprintf(name, sizeof(name), "%s%s", st->path, suffix);
	return stat(name, &sb) ? 0 : sb.st_ino;
}

void store_note_beside(struct store *st)
{
	for (int i = 0; i < STORE_BESIDE; i++)
		st->beside[i] = inode_of(st, beside[i]);
}

/*
 * What is written to a file without a name is gone with this process; without
 * the WAL's index in its place another one would not see its locks.
 */
static enum err check_in_place(struct store *st)
{
	int moved = 0;

	(void)sqlite3_file_control(st->db, "main", SQLITE_FCNTL_HAS_MOVED,
				   &moved);
	for (int i = 0; i < STORE_BESIDE && !moved; i++)
		moved = st->beside[i] &&
			st->beside[i] != inode_of(st, beside[i]);
	if (moved)
		return err_say(&st->detail, ERR_IO, "the file, its -wal or its "
			       "-shm was removed or replaced while it was "
			       "open; bring it back, or start anew");
	return OK;
}

enum err store_commit(struct store *st)
{
	enum err e = check_in_place(st);

	if (!e)
		e = run(st, STMT_COMMIT);

	if (e)
		store_rollback(st);
	return e;
}

void store_rollback(struct store *st)
{
	st->owes_rollback = false;
	if (!st->db || !store_in_transaction(st))
		return;
	/* Fails when the transaction is gone already, or for want of memory. */
	(void)!run(st, STMT_ROLLBACK);
	st->owes_rollback = store_in_transaction(st);
}

bool store_in_transaction(const struct store *st)
{
	return !sqlite3_get_autocommit(st->db);
}

enum err store_event_begin(struct store *st)
{
	return run(st, STMT_EVENT_BEGIN);
}

enum err store_event_keep(struct store *st)
{
	return run(st, STMT_EVENT_KEEP);
}

enum err store_event_undo(struct store *st)
{
	enum err e = run(st, STMT_EVENT_UNDO);

	return e ? e : run(st, STMT_EVENT_KEEP);
}

uint64_t store_seed(const struct store *st)
{
	return st->seed;
}

int64_t store_epoch(const struct store *st)
{
	return st->epoch;
}

int64_t store_now_ms(const struct store *st, int64_t boot_ms)
{
	return st->clock_store_ms + (boot_ms - st->clock_boot_ms);
}

enum err store_clock_put(struct store *st, int64_t boot_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_META_CLOCK);

	bind_int(q, 1, store_now_ms(st, boot_ms));
	bind_int(q, 2, boot_ms);
	return stmt_exec_one(st, q);
}

enum store_end store_last_end(const struct store *st)
{
	return st->last_end;
}

unsigned store_barren_deaths(const struct store *st)
{
	return st->barren_deaths;
}

enum err store_fruitful_put(struct store *st)
{
	return run(st, STMT_META_FRUITFUL);
}

static enum err put_clean(struct store *st, int64_t boot_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_META_CLEAN);

	bind_int(q, 1, store_now_ms(st, boot_ms));
	bind_int(q, 2, boot_ms);
	return stmt_exec_one(st, q);
}

enum err store_clean_put(struct store *st, int64_t boot_ms)
{
	enum err e = store_begin(st);

	if (e)
		return e;
	e = put_clean(st, boot_ms);
	if (e)
		store_rollback(st);
	else
		e = store_commit(st);
	return e;
}

enum err store_foreign_writer(struct store *st, bool *ret_seen)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_DATA_VERSION);
	int64_t v = 0;
	enum err e = stmt_int(st, q, &v);

	if (e)
		return e;
	*ret_seen = st->data_version && st->data_version != (uint32_t)v;
	st->data_version = (uint32_t)v;
	return OK;
}

static int64_t file_bytes(const char *path, const char *suffix)
{
	char name[4096];
	struct stat sb;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return stat(name, &sb) ? 0 : sb.st_size;
}

void store_stats(struct store *st, struct store_stats *ret)
{
	ret->file_bytes = file_bytes(st->path, "");
	ret->wal_bytes = file_bytes(st->path, "-wal");
}
