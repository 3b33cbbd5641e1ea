/* What stands at the store's path, and a new store where nothing does. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "database.h"
#include "migrations.h"

static enum err parent_of(const char *path, char *buf, size_t size)
{
	char copy[4096];

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return ERR_CREATE;
	return (size_t)snprintf(buf, size, "%s", dirname(copy)) < size
		       ? OK : ERR_CREATE;
}

enum err store_directory(struct store *st, struct err_detail *why)
{
	char dir[4096];

	if (parent_of(st->path, dir, sizeof(dir)))
		return err_say(why, ERR_CREATE, "%s: path too long", st->path);
	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_say(why, ERR_CREATE,
			       "%s: cannot create the store's directory: %s; "
			       "make its parent, or change [store] path",
			       dir, err_system(errno));
	return OK;
}

/* https://sqlite.org/fileformat2.html#the_database_header */
static uint32_t header_int(const uint8_t *h, size_t at)
{
	return (uint32_t)h[at] << 24 | (uint32_t)h[at + 1] << 16 |
	       (uint32_t)h[at + 2] << 8 | h[at + 3];
}

static enum err check_header(const struct store *st, const uint8_t h[100],
			     struct err_detail *why)
{
	static const uint8_t zeros[100];

	if (!memcmp(h, zeros, sizeof(zeros)))
		return err_say(why, ERR_CORRUPT,
			       "%s: the file is zeroed (a power cut, a bad "
			       "flash?); `mqonce store quarantine` moves it "
			       "aside whole", st->path);
	if (memcmp(h, "SQLite format 3", 16))
		return err_say(why, ERR_SCHEMA,
			       "%s: not an SQLite file, left untouched; set "
			       "[store] path to another file", st->path);
	if (header_int(h, 68) != STORE_APPLICATION_ID)
		return err_say(why, ERR_SCHEMA,
			       "%s: another program's SQLite file, left "
			       "untouched; set [store] path to another file",
			       st->path);
	if (header_int(h, 60) > migrations_len)
		return err_say(why, ERR_SCHEMA,
			       "%s: written by a newer mqonce (schema %u, this "
			       "one knows %u), left untouched; install that "
			       "version", st->path, header_int(h, 60),
			       migrations_len);
	return OK;
}

enum err store_sync_directory(const char *path)
{
	AUTO_CLOSE int fd = -1;
	char dir[4096];

	if (parent_of(path, dir, sizeof(dir)))
		return ERR_CREATE;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) ? ERR_IO : OK;
}

void store_remove_draft(const char *draft)
{
	static const char *const suffixes[] = { "", "-journal", "-wal",
						"-shm" };
	char name[4096];

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", draft, suffixes[i]);
		unlink(name);
	}
}

static void random_uuid(char buf[37], uint64_t *ret_seed)
{
	uint8_t r[24];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		abort();		/* cannot happen for 256 bytes or less */
	r[6] = (r[6] & 0x0f) | 0x40;	/* RFC 9562, version 4 */
	r[8] = (r[8] & 0x3f) | 0x80;
	snprintf(buf, 37,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9],
		 r[10], r[11], r[12], r[13], r[14], r[15]);
	memcpy(ret_seed, r + 16, sizeof(*ret_seed));
}

/* A copy of a copy is of the first one's time. */
enum err store_mark_copy(struct store *st, int64_t wall_ms)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "UPDATE once_meta SET copied_wall_ms ="
		 " coalesce(copied_wall_ms, %lld)", (long long)wall_ms);
	return store_exec(st, sql);
}

static enum err fill_draft(struct store *st, const struct store_options *o,
			   const char *uuid, uint64_t seed,
			   struct err_detail *why)
{
	sqlite3_stmt *q = NULL;
	char sql[96];
	int rc;
	enum err e;

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d;"
		 "PRAGMA journal_mode = WAL;", STORE_APPLICATION_ID);
	e = store_exec(st, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE;");
	if (!e)
		e = store_exec(st, sql);
	if (e)
		return err_say(why, e, "%s: %s", st->path, st->detail.text);
	e = store_configure(st, o, why);
	if (!e)
		e = store_migrate(st, why);
	if (e)
		return e;
	rc = sqlite3_prepare_v2(st->db,
		"INSERT INTO once_meta (one, uuid, hash_seed, epoch, boot_id,"
		" store_ms, clock_boot_ms, created_wall_ms)"
		" VALUES (1, ?1, ?2, 0, '', 0, 0, ?3)", -1, &q, NULL);
	if (!rc) {
		sqlite3_bind_text(q, 1, uuid, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 2, (int64_t)seed);
		sqlite3_bind_int64(q, 3, clock_wall_ms());
		sqlite3_step(q);
	}
	rc = sqlite3_finalize(q);
	return rc ? err_say(why, store_err(st, rc), "%s: %s", st->path,
			    st->detail.text) : OK;
}

static enum err write_draft(const char *draft, const struct store_options *o,
		     const char *uuid, uint64_t seed, struct err_detail *why)
{
	struct store st = { .role = STORE_OWNER, .lock_fd = -1 };
	int fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;
	enum err e;

	if (fd < 0)
		return err_say(why, errno == EACCES ? ERR_PERM : ERR_CREATE,
			       "%s: cannot create the store: %s", draft,
			       err_system(errno));
	close(fd);
	st.path = strdup(draft);
	rc = sqlite3_open_v2(draft, &st.db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	e = rc ? err_say(why, store_err(&st, rc), "%s: %s", draft,
			 st.detail.text)
	       : fill_draft(&st, o, uuid, seed, why);
	/* What the checkpoint cannot move must not be renamed without its WAL. */
	rc = sqlite3_wal_checkpoint_v2(st.db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
				       NULL, NULL);
	if (!e && rc)
		e = err_say(why, store_err(&st, rc), "%s: %s", draft,
			    st.detail.text);
	rc = sqlite3_close(st.db);
	if (!e && rc)
		e = err_say(why, store_err_code(rc), "%s: %s", draft,
			    sqlite3_errstr(rc));
	free(st.path);
	return e;
}

/*
 * The file grows under another name and is renamed when it is whole: a power
 * cut leaves a store or none.
 */
static enum err create(struct store *st, const struct store_options *o,
		       struct err_detail *why)
{
	char draft[4096], uuid[37];
	uint64_t seed;
	enum err e;

	if ((size_t)snprintf(draft, sizeof(draft), "%s.new", st->path) >=
	    sizeof(draft) - 16)
		return err_say(why, ERR_CREATE, "%s: path too long", st->path);
	store_remove_draft(draft);
	random_uuid(uuid, &seed);
	e = write_draft(draft, o, uuid, seed, why);
	if (!e && rename(draft, st->path))
		e = err_say(why, ERR_CREATE, "%s: %s", st->path,
			    err_system(errno));
	if (!e && store_sync_directory(st->path))
		e = err_say(why, ERR_IO, "%s: cannot sync its directory: %s",
			    st->path, err_system(errno));
	if (e)
		store_remove_draft(draft);
	return e;
}

static bool exists(const char *path, const char *suffix)
{
	char name[4096];

	return (size_t)snprintf(name, sizeof(name), "%s%s", path, suffix) <
		       sizeof(name) && access(name, F_OK) == 0;
}

static enum err cannot_open(const struct store *st, struct err_detail *why)
{
	switch (errno) {
	case EACCES:
		return err_say(why, ERR_PERM, "%s: %s; run this as the "
			       "daemon's user or as root", st->path,
			       err_system(errno));
	case ENOTDIR:
		return err_say(why, ERR_CREATE, "%s: %s; change [store] path",
			       st->path, err_system(errno));
	case EMFILE:
	case ENFILE:
		return err_say(why, ERR_IO, "%s: %s", st->path,
			       err_system(errno));
	default:
		return err_say(why, ERR_IO, "%s: %s; check the disk", st->path,
			       err_system(errno));
	}
}

/*
 * Looks at the raw bytes before SQLite does, so that a file which is not ours
 * is not even recovered.
 */
enum err store_inspect(struct store *st, const struct store_options *o,
		       struct err_detail *why)
{
	AUTO_CLOSE int fd = open(st->path, O_RDONLY | O_CLOEXEC);
	uint8_t h[100];
	ssize_t n;

	if (fd < 0 && errno != ENOENT)
		return cannot_open(st, why);
	if (fd < 0 && exists(st->path, "-wal"))
		return err_say(why, ERR_CORRUPT,
			       "%s-wal is there without %s: bring the file "
			       "back, or move the -wal file away too",
			       st->path, st->path);
	if (fd < 0 && st->role == STORE_READER)
		return err_say(why, ERR_NO, "%s: there is no store yet; "
			       "`mqonce run` makes it", st->path);
	if (fd < 0)
		return create(st, o, why);
	n = read(fd, h, sizeof(h));
	if (n < 0)
		return err_say(why, ERR_IO, "%s: %s", st->path,
			       err_system(errno));
	if (n < (ssize_t)sizeof(h))
		return err_say(why, ERR_CORRUPT,
			       "%s: the file is cut short (%d bytes); `mqonce "
			       "store quarantine` moves it aside whole",
			       st->path, (int)n);
	return check_header(st, h, why);
}
