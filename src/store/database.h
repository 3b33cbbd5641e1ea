/* The inside of the store, for src/store/ only. */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"
#include "core/handler.h"
#include "stmt.h"
#include "store/store.h"

#define STORE_APPLICATION_ID	0x6d714f31	/* "mqO1" */
#define STORE_PAGE_BYTES	4096

#define GENERATIONS		4
#define STORE_BESIDE		2	/* files: -wal, -shm */

struct generation {
	int no;			/* table once_marker_<no> */
	bool active, empty;
	int64_t opened_ms, closed_ms;
	int64_t position;
};

/* Who may do what on the connection right now; the authorizer reads it. */
enum sandbox_mode {
	SANDBOX_OFF,		/* our own statements */
	SANDBOX_SCRIPT,		/* a handler's statement is prepared or runs */
	SANDBOX_SCHEMA,		/* an operator's schema file */
};

struct sandbox {
	enum sandbox_mode mode;
	const char *denied;		/* what the authorizer refused, in words */
	const struct attempt *attempt;	/* under way; NULL outside */
	enum outcome asked;		/* by retry(), reject(), poison() */
	struct error_type asked_type;	/* empty: none of them was called */
	int64_t deadline_ns;		/* monotonic */
	int64_t steps_left;		/* of the progress handler */
	bool out_of_time;
	bool alters;			/* ALTER or DROP TABLE: this statement */
};

struct store {
	sqlite3 *db;
	enum store_role role;
	char *path;
	int lock_fd;		/* -1 for a reader */
	struct err_detail detail;

	bool owes_rollback;	/* it found no memory: before the next BEGIN */
	bool io_failed;		/* what the page cache says may be a lie */

	uint64_t seed;
	int64_t epoch;
	enum store_end last_end;
	unsigned barren_deaths;
	int64_t clock_store_ms, clock_boot_ms;	/* the same moment in both */
	int64_t copied_wall_ms;	/* of a backup that nobody accepted; else 0 */
	int64_t max_pages;
	int wal_frames;
	ino_t beside[STORE_BESIDE];	/* where an owner writes; 0: not known */
	uint32_t data_version;

	/* Whether there may be any: set with the first, never taken back. */
	bool has_letters, has_pending;
	bool letters_moved;	/* since letter_totals() were asked for */

	struct generation generation[GENERATIONS];	/* newest first */
	struct sandbox sandbox;
	struct stmt stmt[STMT_COUNT];
};

/* Translates; the one place that knows SQLite's result codes. */
enum err store_err(struct store *st, int rc);
enum err store_err_code(int rc);

/* owner.c */
enum err owner_lock(struct store *st, struct err_detail *why);

/* txn.c: the files beside the store are the ones that commits go to. */
void store_note_beside(struct store *st);

/* create.c: what is at st->path; a whole new store appears there, or nothing. */
enum err store_directory(struct store *st, struct err_detail *why);
enum err store_inspect(struct store *st, const struct store_options *o,
		       struct err_detail *why);

/* create.c: files under way, and the mark of a copy. */
enum err store_sync_directory(const char *path);
void store_remove_draft(const char *draft);
enum err store_mark_copy(struct store *st, int64_t wall_ms);

/* settings.c: what every connection has; @why on failure. */
enum err store_configure(struct store *st, const struct store_options *o,
			 struct err_detail *why);
enum err store_migrate(struct store *st, struct err_detail *why);
enum err store_exec(struct store *st, const char *sql);
enum err store_pragma_int(struct store *st, const char *sql, int64_t *ret_v);

/* sandbox.c.  Steps of the virtual machine that one run may take. */
#define SANDBOX_STEPS	((int64_t)100 * 1000 * 1000)
enum err sandbox_install(struct store *st);
void sandbox_enter(struct store *st, enum sandbox_mode mode,
		   const struct attempt *a, int64_t timeout_ms);
void sandbox_leave(struct store *st);

/* letter.c: a letter in @state goes, with what refers to it */
enum err letter_drop(struct store *st, int64_t id, const struct hash_key *key,
		     uint64_t fingerprint, const char *state);

/* record.c: which look-ups can be left out; at open */
enum err record_load(struct store *st);

/* generation state follows the tables: after open, rotation, draining */
enum err marker_load(struct store *st);

#endif
