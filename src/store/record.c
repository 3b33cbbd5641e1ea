#include "store/record.h"

#include "database.h"
#include "store/marker.h"

/* Folds one record into the answer: the same event beats a different one. */
static void fold(struct record *r, const struct record_query *q,
		 uint64_t fingerprint, int64_t recipe, enum place place,
		 int64_t letter_id)
{
	if (r->kind == RECORD_SAME)
		return;
	if (fingerprint == q->fingerprint || recipe != q->recipe)
		*r = (struct record){ RECORD_SAME, place, letter_id };
	else
		r->kind = RECORD_OTHER;
}

/* A letter suppresses while it is open or being replayed, or within the ttl. */
static enum err ask_letters(struct store *st, const struct record_query *q,
			    struct record *r)
{
	struct stmt *s AUTO_RESET = stmt_use(st, STMT_LETTER_OF);
	bool row = true;
	enum err e = OK;

	bind_key(s, 1, q->key);
	while (!e && row) {
		e = stmt_row(st, s, &row);
		if (e || !row)
			break;
		struct span state = col_text(s, 3);
		bool resolved = span_is(state, "resolved");

		if ((resolved || span_is(state, "discarded")) &&
		    col_int(s, 4) + q->ttl_ms <= q->now_ms)
			continue;
		fold(r, q, (uint64_t)col_int(s, 1), col_int(s, 2),
		     resolved ? PLACE_DONE : PLACE_DEAD, col_int(s, 0));
	}
	return e;
}

static enum err ask_pending(struct store *st, const struct record_query *q,
			    struct record *r)
{
	struct stmt *s AUTO_RESET = stmt_use(st, STMT_PENDING_OF);
	bool row = true;
	enum err e = OK;

	bind_key(s, 1, q->key);
	while (!e && row) {
		e = stmt_row(st, s, &row);
		if (!e && row)
			fold(r, q, (uint64_t)col_int(s, 0), col_int(s, 1),
			     PLACE_PENDING, 0);
	}
	return e;
}

static enum err ask_markers(struct store *st, const struct record_query *q,
			    struct record *r)
{
	struct marker m;
	bool found;
	enum err e = marker_find(st, q->key, q->now_ms, q->ttl_ms, &m, &found);

	if (!e && found)
		fold(r, q, m.fingerprint, m.recipe,
		     m.state >= MARKER_DEAD ? PLACE_DEAD : PLACE_DONE, 0);
	return e;
}

enum err record_find(struct store *st, const struct record_query *q,
		     struct record *ret_r)
{
	struct record r = { .kind = RECORD_NONE };
	enum err e = st->has_letters ? ask_letters(st, q, &r) : OK;

	if (!e && st->has_pending && r.kind != RECORD_SAME)
		e = ask_pending(st, q, &r);
	if (!e && r.kind != RECORD_SAME)
		e = ask_markers(st, q, &r);
	if (!e)
		*ret_r = r;
	return e;
}

enum err record_load(struct store *st)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_RECORDS_EXIST);
	bool row;
	enum err e = stmt_row(st, q, &row);

	if (!e) {
		st->has_letters = col_int(q, 0);
		st->has_pending = col_int(q, 1);
	}
	return e;
}
