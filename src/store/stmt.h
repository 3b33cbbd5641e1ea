/* Every statement the store can run, prepared once at open. */
#ifndef STORE_STMT_H
#define STORE_STMT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/span.h"
#include "core/outcome.h"

struct store;

enum stmt_id {
	STMT_BEGIN,
	STMT_COMMIT,
	STMT_ROLLBACK,
	STMT_EVENT_BEGIN,
	STMT_EVENT_KEEP,
	STMT_EVENT_UNDO,
	STMT_DATA_VERSION,
	STMT_PAGE_COUNT,
	STMT_FREE_COUNT,
	STMT_META_GET,
	STMT_META_EPOCH,
	STMT_META_CLOCK,
	STMT_META_CLEAN,
	STMT_META_FRUITFUL,
	STMT_PROBE,
	STMT_GROUP_GET,
	STMT_GROUP_NEW,
	STMT_GROUP_SET,
	STMT_GROUP_PAUSE,
	STMT_GROUP_BREAKER,
	STMT_GROUP_HAS_RECORDS,
	STMT_GROUP_LONGEST_TTL,
	STMT_GROUP_RENAME,
	STMT_GROUP_DROP,
	STMT_MARKER_FIND_0,
	STMT_MARKER_FIND_1,
	STMT_MARKER_FIND_2,
	STMT_MARKER_FIND_3,
	STMT_MARKER_PUT_0,
	STMT_MARKER_PUT_1,
	STMT_MARKER_PUT_2,
	STMT_MARKER_PUT_3,
	STMT_MARKER_COUNT_0,
	STMT_MARKER_COUNT_1,
	STMT_MARKER_COUNT_2,
	STMT_MARKER_COUNT_3,
	STMT_MARKER_DRAIN_0,
	STMT_MARKER_DRAIN_1,
	STMT_MARKER_DRAIN_2,
	STMT_MARKER_DRAIN_3,
	STMT_MARKER_FORGET_0,
	STMT_MARKER_FORGET_1,
	STMT_MARKER_FORGET_2,
	STMT_MARKER_FORGET_3,
	STMT_GENERATIONS,
	STMT_GENERATION_CLOSE,
	STMT_GENERATION_OPEN,
	STMT_GENERATION_EMPTY,
	STMT_RECORDS_EXIST,
	STMT_LETTER_OF,
	STMT_PENDING_OF,
	STMT_PENDING_PUT,
	STMT_PENDING_WAIT,
	STMT_PENDING_ADVANCE,
	STMT_PENDING_CLAIM,
	STMT_PENDING_RELEASE,
	STMT_PENDING_DROP,
	STMT_PENDING_DUE,
	STMT_PENDING_AFTER,
	STMT_PENDING_LOAD,
	STMT_PENDING_SCAN,
	STMT_PENDING_NEXT,
	STMT_PENDING_TOTALS,
	STMT_ATTEMPT_PUT,
	STMT_ATTEMPT_TRIM,
	STMT_ATTEMPT_SWEEP,
	STMT_ATTEMPT_COUNT_OLD,
	STMT_ATTEMPT_LIST,
	STMT_LETTER_PUT,
	STMT_LETTER_COPY,
	STMT_LETTER_TOTALS,
	STMT_LETTER_THIN,
	STMT_LETTER_LIST,
	STMT_LETTER_SUMMARY,
	STMT_LETTER_RANGE,
	STMT_LETTER_OPEN,
	STMT_LETTER_MOVE,
	STMT_LETTER_PULLED,
	STMT_LETTER_WITHDRAW,
	STMT_LETTER_REPLAYED,
	STMT_LETTER_IS_CONFLICT,
	STMT_LETTER_SCOPE,
	STMT_LETTER_DROP,
	STMT_LETTER_OLD,
	STMT_LETTER_COUNT_OLD,
	STMT_LETTER_OF_GROUP,
	STMT_LETTER_UNRESOLVED,
	STMT_LETTER_ITEMS_DROP,
	STMT_LETTER_SHOW,
	STMT_ORDER_GET,
	STMT_ORDER_PUT,
	STMT_ORDER_SLICE,
	STMT_ORDER_SWEEP,
	STMT_PENDING_LIST,
	STMT_PENDING_OF_KEY,
	STMT_PENDING_HURRY,
	STMT_JOB_PUT,
	STMT_JOB_ADD,
	STMT_JOB_HAS,
	STMT_JOB_ITEM_MOVE,
	STMT_JOB_PENDING_PUT,
	STMT_JOB_COUNT,
	STMT_JOB_STOP,
	STMT_JOB_MOVE,
	STMT_JOB_FINISH,
	STMT_JOB_CANCEL_LETTERS,
	STMT_JOB_CANCEL_PENDING,
	STMT_JOB_CANCEL_ITEMS,
	STMT_JOB_CURRENT,
	STMT_JOB_WAITING,
	STMT_JOB_LIST,
	STMT_GROUP_LIST,
	STMT_AUDIT_PUT,
	STMT_AUDIT_TRIM,
	STMT_AUDIT_LIST,
	STMT_COUNTER_ADD,
	STMT_COUNTER_GET,
	STMT_COUNTER_FOLD,
	STMT_COUNTER_DROP,
	STMT_FILTER_PUT,
	STMT_FILTER_DROP,
	STMT_FILTER_LIST,
	STMT_SCHEMA_GET,
	STMT_SCHEMA_PUT,
	STMT_SCHEMA_FOREIGN,
	STMT_SCHEMA_OURS,
	STMT_TABLE_NEXT,
	STMT_QUICK_CHECK,
	STMT_JSON_TABLES,
	STMT_COUNT
};

struct stmt {
	sqlite3_stmt *raw;
	int rc;			/* first error since stmt_use(), else SQLITE_OK */
};

/*
 * Borrow a statement for one use.  Hold it in an AUTO_RESET variable: leaving
 * the scope resets it and drops its bindings.
 */
struct stmt *stmt_use(struct store *st, enum stmt_id id);

#define AUTO_RESET	__attribute__((cleanup(stmt_reset_)))
void stmt_reset_(struct stmt **q);

/*
 * Errors stick to the statement, so callers check once, at the end.  Bytes are
 * not copied: they must stay until the statement is reset.  An absent span
 * binds NULL.
 */
void bind_int(struct stmt *q, int pos, int64_t v);
void bind_text(struct stmt *q, int pos, struct span v);
void bind_blob(struct stmt *q, int pos, struct span v);
void bind_key(struct stmt *q, int pos, const struct hash_key *key);
void bind_type(struct stmt *q, int pos, const struct error_type *t);

/* No rows wanted. */
MUST_CHECK enum err stmt_exec(struct store *st, struct stmt *q);

/* No rows wanted; ERR_GONE unless exactly one row changed. */
MUST_CHECK enum err stmt_exec_one(struct store *st, struct stmt *q);

/* Steps to the next row; *ret_row is false behind the last one. */
MUST_CHECK enum err stmt_row(struct store *st, struct stmt *q, bool *ret_row);

/* The first column of the one row; ERR_GONE without one. */
MUST_CHECK enum err stmt_int(struct store *st, struct stmt *q, int64_t *ret_v);

/* Columns of the row under the statement; spans live until the next step. */
int64_t col_int(struct stmt *q, int col);
struct span col_text(struct stmt *q, int col);
struct span col_blob(struct stmt *q, int col);
struct hash_key col_key(struct stmt *q, int col);
struct error_type col_type(struct stmt *q, int col);

MUST_CHECK enum err stmt_prepare_all(struct store *st);
void stmt_finalize_all(struct store *st);

#endif
