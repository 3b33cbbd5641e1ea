/* Opening and closing; what an owner does before it takes its first event. */
#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/pending.h"
#include "store/space.h"

static enum err load_meta(struct store *st, char boot_id[CLOCK_BOOT_ID_SIZE])
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_META_GET);
	bool row;
	enum err e = stmt_row(st, q, &row);

	if (e)
		return e;
	if (!row)
		return err_say(&st->detail, ERR_CORRUPT,
			       "table once_meta is empty");
	st->seed = (uint64_t)col_int(q, 0);
	st->epoch = col_int(q, 1);
	snprintf(boot_id, CLOCK_BOOT_ID_SIZE, "%.*s", SPAN_FMT(col_text(q, 2)));
	st->clock_store_ms = col_int(q, 3);
	st->clock_boot_ms = col_int(q, 4);
	st->last_end = col_int(q, 5) ? STORE_STOPPED : STORE_POWERED_OFF;
	st->copied_wall_ms = col_int(q, 6);
	st->barren_deaths = (unsigned)col_int(q, 7);
	return OK;
}

/*
 * Within one boot the store clock went on while nobody looked; a new boot
 * continues where the last one was written down.
 */
static void continue_clock(struct store *st, bool same_boot)
{
	int64_t now = clock_boot_ms();

	if (same_boot && now >= st->clock_boot_ms)
		st->clock_store_ms += now - st->clock_boot_ms;
	st->clock_boot_ms = now;
}

/* Identity and clock of the store; *ret_boot_id is the present boot. */
static enum err get_to_know(struct store *st,
			    char ret_boot_id[CLOCK_BOOT_ID_SIZE])
{
	char then[CLOCK_BOOT_ID_SIZE];
	bool same_boot;
	enum err e = load_meta(st, then);

	if (e)
		return e;
	clock_boot_id(ret_boot_id);
	same_boot = *ret_boot_id && !strcmp(then, ret_boot_id);
	if (same_boot && st->last_end == STORE_POWERED_OFF)
		st->last_end = STORE_DIED;
	/* A power cut is nobody's fault, an orderly end is none. */
	st->barren_deaths = st->last_end == STORE_DIED ? st->barren_deaths + 1
						       : 0;
	continue_clock(st, same_boot);
	return OK;
}

/* The epoch's own commit ends the claims of whoever was the owner before. */
static enum err put_epoch(struct store *st, const char *boot_id)
{
	enum err e = pending_release(st, st->last_end == STORE_DIED);

	if (!e) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_META_EPOCH);

		bind_text(q, 1, span_str(boot_id));
		bind_int(q, 2, st->clock_store_ms);
		bind_int(q, 3, st->clock_boot_ms);
		bind_int(q, 4, st->barren_deaths);
		e = stmt_exec_one(st, q);
	}
	return e;
}

/* What came after the copy was made is not in it: nobody may overlook that. */
static enum err check_restored(struct store *st, bool accept)
{
	char iso[CLOCK_ISO_SIZE];

	if (!st->copied_wall_ms || accept)
		return OK;
	return err_say(&st->detail, ERR_SCHEMA, "this is a backup of %s: what "
		       "was acknowledged since is not in it, and copies of "
		       "events since may run again; to go on with it: `mqonce "
		       "run --accept-restored`",
		       clock_iso(iso, st->copied_wall_ms, false));
}

/* https://sqlite.org/fileformat2.html#the_write_ahead_log: the frames in use. */
static bool rewrite_frames(int fd)
{
	uint8_t buf[24 + STORE_PAGE_BYTES], salt[8] = { 0 };
	size_t n = 32;			/* the header, then frames */

	for (off_t at = 0; pread(fd, buf, n, at) == (ssize_t)n;
	     at += (off_t)n, n = sizeof(buf)) {
		if (!at)
			memcpy(salt, buf + 16, sizeof(salt));
		else if (memcmp(buf + 8, salt, sizeof(salt)))
			break;
		if (pwrite(fd, buf, n, at) != (ssize_t)n)
			return false;
	}
	return fsync(fd) == 0;
}

/*
 * After a failed sync Linux takes what was written for clean: it is read back
 * while the machine runs, and no later sync writes it.  A checkpoint from such
 * a WAL would be beyond repair at a power cut: written again it is dirty.
 */
static enum err rewrite_wal(struct store *st)
{
	AUTO_CLOSE int fd = -1;
	char path[4096];

	snprintf(path, sizeof(path), "%s-wal", st->path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 ? rewrite_frames(fd) : errno == ENOENT)
		return OK;
	return err_say(&st->detail, errno == ENOSPC ? ERR_FULL : ERR_IO,
		       "%s: %s", path, err_system(errno));
}

static enum err checkpoint(struct store *st)
{
	enum err e = store_begin(st);	/* nobody else writes meanwhile */

	if (e)
		return e;
	e = rewrite_wal(st);
	store_rollback(st);
	return e ? e : store_err(st, sqlite3_wal_checkpoint_v2(st->db, NULL,
				SQLITE_CHECKPOINT_RESTART, NULL, NULL));
}

/* Everything a process before us wrote is synced, then our epoch is. */
static enum err take_over(struct store *st, bool accept_restored)
{
	char boot_id[CLOCK_BOOT_ID_SIZE];
	enum err e = checkpoint(st);

	if (e == ERR_BUSY)
		return err_say(&st->detail, e, "another process reads the "
			       "store for seconds; end it and try again");
	if (!e)
		e = get_to_know(st, boot_id);
	if (!e)
		e = check_restored(st, accept_restored);
	if (!e)
		e = store_begin(st);
	if (!e)
		e = put_epoch(st, boot_id);
	if (!e)
		e = store_commit(st);
	if (e)
		return e;
	st->epoch++;
	store_note_beside(st);
	sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	return OK;
}

/* Called after each commit that wrote. */
static int on_commit(void *arg, sqlite3 *db UNUSED, const char *schema UNUSED,
		     int frames)
{
	struct store *st = arg;

	st->wal_frames = frames;
	return SQLITE_OK;
}

static enum err open_database(struct store *st, const struct store_options *o,
			      struct err_detail *why)
{
	int flags = st->role == STORE_READER ? SQLITE_OPEN_READONLY
					     : SQLITE_OPEN_READWRITE;
	bool scratch = st->role == STORE_SCRATCH;
	char boot_id[CLOCK_BOOT_ID_SIZE];
	int rc = sqlite3_open_v2(scratch ? ":memory:" : st->path, &st->db,
				 flags | SQLITE_OPEN_NOMUTEX, NULL);
	enum err e;

	if (rc)
		return err_say(why, store_err(st, rc), "%s: %s", st->path,
			       st->detail.text);
	/* Not before the WAL is known to be on the disk; a reader never. */
	sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	e = store_configure(st, o, why);
	if (!e)
		e = store_migrate(st, why);
	if (e)
		return e;
	sqlite3_wal_hook(st->db, on_commit, st);
	if (st->role != STORE_READER)
		e = sandbox_install(st);
	if (!e)
		e = stmt_prepare_all(st);
	if (!e && st->role == STORE_OWNER)
		e = take_over(st, o->accept_restored);
	if (!e && st->role == STORE_READER)
		e = get_to_know(st, boot_id);
	if (!e)
		e = marker_load(st);
	if (!e)
		e = record_load(st);
	if (e)
		return err_say(why, e, "%s: %s", st->path, st->detail.text);
	sqlite3_busy_timeout(st->db, 0);
	return OK;
}

/* Never replaced silently, never made worse. */
enum err store_advise(enum err e, struct err_detail *why)
{
	size_t n = strlen(why->text);

	if (e == ERR_CORRUPT && !strstr(why->text, "move"))
		snprintf(why->text + n, sizeof(why->text) - n,
			 "; `mqonce store quarantine` moves it aside whole");
	return e;
}

/* Before the library is used at all: no temp files, memory counted, no locks. */
static void library_init(int64_t memory)
{
	static bool done;

	if (!done) {
		sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
		sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1);
		sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
		done = true;
	}
	if (memory)
		sqlite3_hard_heap_limit64(memory);
}

static void close_database(struct store *st)
{
	store_rollback(st);
	stmt_finalize_all(st);
	memset(st->stmt, 0, sizeof(st->stmt));
	if (st->db && st->io_failed)
		sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
				  NULL);
	sqlite3_close_v2(st->db);
	st->db = NULL;
}

enum err store_open(const struct store_options *o, enum store_role role,
		    struct store **ret_store, struct err_detail *why)
{
	struct store *st = calloc(1, sizeof(*st));
	enum err e;

	if (!st)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	st->role = role;
	st->lock_fd = -1;
	st->path = strdup(o->path);
	library_init(o->memory);
	e = st->path ? OK : ERR_NOMEM;
	if (!e && role == STORE_OWNER)
		e = store_directory(st, why);
	if (!e && role == STORE_OWNER)
		e = owner_lock(st, why);
	if (!e && role != STORE_SCRATCH)
		e = store_inspect(st, o, why);
	if (!e)
		e = open_database(st, o, why);
	/* A full disk: whoever means to mend that must get in. */
	if (e == ERR_FULL && role != STORE_SCRATCH && space_ballast_drop(st)) {
		close_database(st);
		e = open_database(st, o, why);
	}
	if (e) {
		store_close(st);
		return store_advise(e, why);
	}
	*ret_store = st;
	return OK;
}

void store_close(struct store *st)
{
	if (!st)
		return;
	close_database(st);
	if (st->lock_fd >= 0)
		close(st->lock_fd);
	free(st->path);
	free(st);
}

const char *store_library_version(void)
{
	return sqlite3_libversion();
}

const char *store_library_option(int i)
{
	return sqlite3_compileoption_get(i);
}
