#include "store/attempt.h"

#include "database.h"

/* Removes the attempts (from, to] of the event. */
static enum err forget(struct store *st, const struct hash_key *key,
		       uint64_t fingerprint, int64_t from, int64_t to)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ATTEMPT_TRIM);

	bind_key(q, 1, key);
	bind_int(q, 2, (int64_t)fingerprint);
	bind_int(q, 3, from);
	bind_int(q, 4, to);
	return stmt_exec(st, q);
}

enum err attempt_drop(struct store *st, const struct hash_key *key,
		      uint64_t fingerprint)
{
	return forget(st, key, fingerprint, 0, INT64_MAX);
}

/*
 * A first attempt ends what is left of an earlier life of the event; later on
 * the middle of a long history goes, one row a time, as its end moves on.
 */
static enum err make_room(struct store *st, const struct attempt_record *a)
{
	if (a->n == 1)
		return attempt_drop(st, &a->key, a->fingerprint);
	if (a->n > ATTEMPT_KEEP_FIRST + ATTEMPT_KEEP_LAST)
		return forget(st, &a->key, a->fingerprint, ATTEMPT_KEEP_FIRST,
			      (int64_t)a->n - ATTEMPT_KEEP_LAST);
	return OK;
}

enum err attempt_put(struct store *st, const struct attempt_record *a)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ATTEMPT_PUT);
	enum err e = make_room(st, a);

	if (e)
		return e;
	bind_key(q, 1, &a->key);
	bind_int(q, 2, (int64_t)a->fingerprint);
	bind_int(q, 3, a->n);
	bind_int(q, 4, a->started_ms);
	bind_int(q, 5, a->started_wall_ms);
	bind_int(q, 6, a->took_ms);
	bind_text(q, 7, span_str(outcome_text(a->outcome)));
	bind_type(q, 8, &a->type);
	bind_int(q, 9, st->epoch);
	return stmt_exec_one(st, q);
}

enum err attempt_sweep(struct store *st, int64_t before_ms, unsigned max_events,
		       unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ATTEMPT_SWEEP);
	enum err e;

	bind_int(q, 1, before_ms);
	bind_int(q, 2, max_events);
	e = stmt_exec(st, q);
	*ret_n = e ? 0 : (unsigned)sqlite3_changes(st->db);
	return e;
}

enum err attempt_count_old(struct store *st, int64_t before_ms, int64_t *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ATTEMPT_COUNT_OLD);

	bind_int(q, 1, before_ms);
	return stmt_int(st, q, ret_n);
}

static enum outcome outcome_of(struct span s)
{
	for (int o = OUTCOME_OK; o <= OUTCOME_POISON; o++)
		if (span_is(s, outcome_text(o)))
			return o;
	return OUTCOME_POISON;
}

enum err attempt_list(struct store *st, const struct hash_key *key,
		      uint64_t fingerprint, attempt_row_fn *row_fn, void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_ATTEMPT_LIST);
	bool row = true;
	enum err e = OK;

	bind_key(q, 1, key);
	bind_int(q, 2, (int64_t)fingerprint);
	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		e = row_fn(arg, &(struct attempt_record){
			.key = *key,
			.fingerprint = fingerprint,
			.n = (unsigned)col_int(q, 0),
			.started_ms = col_int(q, 1),
			.started_wall_ms = col_int(q, 2),
			.took_ms = col_int(q, 3),
			.outcome = outcome_of(col_text(q, 4)),
			.type = col_type(q, 5),
		});
	}
	return e;
}
