/* Opening: settings, migrations, the owner's first commit. */
#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "migrations.h"

/* A reader or a slow checkpoint of the last owner; afterwards never a wait. */
#define OPEN_BUSY_MS	5000

static enum err exec(struct store *st, const char *sql)
{
	return store_err(st, sqlite3_exec(st->db, sql, NULL, NULL, NULL));
}

enum err store_pragma_int(struct store *st, const char *sql, int64_t *ret_v)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(st->db, sql, -1, &q, NULL);

	if (!rc)
		rc = sqlite3_step(q);
	if (rc == SQLITE_ROW)
		*ret_v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return rc == SQLITE_ROW ? OK : store_err(st, rc ? rc : SQLITE_ERROR);
}

/* The switches of https://sqlite.org/security.html that apply to us. */
static enum err harden(struct store *st)
{
	static const struct {
		int op, on;
	} switches[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FKEY, 1 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};
	int rc = sqlite3_extended_result_codes(st->db, 1);

	for (size_t i = 0; !rc && i < ARRAY_LEN(switches); i++)
		rc = sqlite3_db_config(st->db, switches[i].op, switches[i].on,
				       NULL);
	return store_err(st, rc);
}

/* synchronous = NORMAL loses acknowledged events at a power cut: read back. */
static enum err check_synchronous(struct store *st)
{
	int64_t v = 0;
	enum err e = store_pragma_int(st, "PRAGMA synchronous", &v);

	if (!e && v != 2)
		return err_say(&st->detail, ERR_BUG,
			       "synchronous is %d, not FULL", (int)v);
	return e;
}

static enum err set_budget(struct store *st, int64_t max_size)
{
	char sql[64];
	int64_t got = 0;
	enum err e;

	if (!max_size)
		return OK;
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %lld",
		 (long long)(max_size / STORE_PAGE_BYTES));
	e = store_pragma_int(st, sql, &got);
	st->max_pages = got;	/* never below what the file has */
	return e;
}

enum err store_configure(struct store *st, const struct store_options *o,
			 struct err_detail *why)
{
	enum err e = harden(st);

	sqlite3_busy_timeout(st->db, OPEN_BUSY_MS);
	if (!e)
		e = exec(st, "PRAGMA synchronous = FULL;"
			     "PRAGMA foreign_keys = ON;"
			     "PRAGMA cell_size_check = ON;"
			     "PRAGMA mmap_size = 0;"
			     "PRAGMA temp_store = MEMORY;"
			     "PRAGMA wal_autocheckpoint = 0;");
	if (!e)
		e = exec(st, o->secure_delete ? "PRAGMA secure_delete = ON"
					      : "PRAGMA secure_delete = OFF");
	if (!e)
		e = check_synchronous(st);
	if (!e)
		e = set_budget(st, o->max_size);
	if (e)
		return err_say(why, e, "%s: %s", st->path, st->detail.text);
	return OK;
}

static enum err migrate_one(struct store *st, unsigned from)
{
	char sql[64];
	enum err e = exec(st, "BEGIN IMMEDIATE");

	if (e)
		return e;
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %u", from + 1);
	e = exec(st, migrations[from].sql);
	if (!e)
		e = exec(st, sql);
	if (!e)
		e = exec(st, "COMMIT");
	if (e && !sqlite3_get_autocommit(st->db))
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	return e;
}

enum err store_migrate(struct store *st, struct err_detail *why)
{
	int64_t version = 0;
	enum err e = store_pragma_int(st, "PRAGMA user_version", &version);

	if (!e && version > migrations_len)
		return err_say(why, ERR_SCHEMA,
			       "%s: written by a newer mqonce (schema %d, this "
			       "one knows %u); install that version", st->path,
			       (int)version, migrations_len);
	if (!e && st->role == STORE_READER && version < migrations_len)
		return err_say(why, ERR_SCHEMA,
			       "%s: written by an older mqonce; start "
			       "`mqonce run` once to bring it up to date",
			       st->path);
	for (unsigned i = (unsigned)version; !e && i < migrations_len; i++)
		e = migrate_one(st, i);
	if (e)
		return err_say(why, e, "%s: %s", st->path, st->detail.text);
	return OK;
}

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
	return OK;
}

/*
 * Within one boot the store clock went on while nobody looked; a new boot
 * continues where the last one was written down.
 */
static void continue_clock(struct store *st, const char *then_boot_id,
			   const char *boot_id)
{
	int64_t now = clock_boot_ms();

	if (*boot_id && !strcmp(then_boot_id, boot_id) &&
	    now >= st->clock_boot_ms)
		st->clock_store_ms += now - st->clock_boot_ms;
	st->clock_boot_ms = now;
}

/* Identity and clock of the store; *ret_boot_id is the present boot. */
static enum err get_to_know(struct store *st,
			    char ret_boot_id[CLOCK_BOOT_ID_SIZE])
{
	char then[CLOCK_BOOT_ID_SIZE];
	enum err e = load_meta(st, then);

	if (e)
		return e;
	clock_boot_id(ret_boot_id);
	continue_clock(st, then, ret_boot_id);
	return OK;
}

/* Everything a process before us wrote is synced, then our epoch is. */
static enum err take_over(struct store *st)
{
	char boot_id[CLOCK_BOOT_ID_SIZE];
	int rc = sqlite3_wal_checkpoint_v2(st->db, NULL,
					   SQLITE_CHECKPOINT_RESTART, NULL,
					   NULL);
	enum err e = store_err(st, rc);

	if (e == ERR_BUSY)
		return err_say(&st->detail, e, "another process reads the "
			       "store for seconds; end it and try again");
	if (!e)
		e = get_to_know(st, boot_id);
	if (!e)
		e = store_begin(st);
	if (!e) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_META_EPOCH);

		bind_text(q, 1, span_str(boot_id));
		bind_int(q, 2, st->clock_store_ms);
		bind_int(q, 3, st->clock_boot_ms);
		e = stmt_exec_one(st, q);
	}
	if (!e)
		e = store_commit(st);
	if (!e)
		st->epoch++;
	return e;
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
		return err_say(why, store_err_code(rc), "%s: %s", st->path,
			       sqlite3_errstr(rc));
	if (st->role == STORE_READER)
		sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
				  NULL);
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
		e = take_over(st);
	if (!e && st->role == STORE_READER)
		e = get_to_know(st, boot_id);
	if (!e)
		e = marker_load(st);
	if (e)
		return err_say(why, e, "%s: %s", st->path, st->detail.text);
	sqlite3_busy_timeout(st->db, 0);
	return OK;
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
	e = exec(st, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE;");
	if (!e)
		e = exec(st, sql);
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

enum err store_draft(const char *draft, const struct store_options *o,
		     const char *uuid, uint64_t seed, struct err_detail *why)
{
	struct store st = { .role = STORE_OWNER, .lock_fd = -1 };
	int fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;
	enum err e;

	if (fd < 0)
		return err_say(why, errno == EACCES ? ERR_PERM : ERR_CREATE,
			       "%s: cannot create the store: %s", draft,
			       strerror(errno));
	close(fd);
	st.path = strdup(draft);
	rc = sqlite3_open_v2(draft, &st.db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	e = rc ? err_say(why, store_err_code(rc), "%s: %s", draft,
			 sqlite3_errstr(rc))
	       : fill_draft(&st, o, uuid, seed, why);
	/* What the checkpoint cannot move must not be renamed without its WAL. */
	rc = sqlite3_wal_checkpoint_v2(st.db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
				       NULL, NULL);
	if (!e && rc)
		e = err_say(why, store_err_code(rc), "%s: %s", draft,
			    sqlite3_errstr(rc));
	rc = sqlite3_close(st.db);
	if (!e && rc)
		e = err_say(why, store_err_code(rc), "%s: %s", draft,
			    sqlite3_errstr(rc));
	free(st.path);
	return e;
}

/* Never replaced silently, never made worse. */
static void add_advice(struct err_detail *why)
{
	size_t n = strlen(why->text);

	if (!strstr(why->text, "move"))
		snprintf(why->text + n, sizeof(why->text) - n,
			 "; move it aside with its -wal and start anew, or "
			 "restore a backup");
}

/* Before the library is used at all: no temp files, memory is counted. */
static void library_init(int64_t memory)
{
	static bool done;

	if (!done) {
		sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
		sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1);
		done = true;
	}
	if (memory)
		sqlite3_hard_heap_limit64(memory);
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
	if (e == ERR_CORRUPT)
		add_advice(why);
	if (e) {
		store_close(st);
		return e;
	}
	*ret_store = st;
	return OK;
}

void store_close(struct store *st)
{
	if (!st)
		return;
	store_rollback(st);
	stmt_finalize_all(st);
	if (st->db && st->io_failed)
		sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
				  NULL);
	sqlite3_close_v2(st->db);
	if (st->lock_fd >= 0)
		close(st->lock_fd);
	free(st->path);
	free(st);
}

const char *store_library_version(void)
{
	return sqlite3_libversion();
}
