/* Resolved letters that are of no more use. */
#include "database.h"
#include "store/letter.h"

#define SLICE_MAX	200	/* ids held at a time: no cursor over a delete */

struct slice {
	struct {
		int64_t id;
		struct hash_key key;
		uint64_t fingerprint;
	} letter[SLICE_MAX];
	unsigned len;
};

static enum err gather(struct store *st, enum stmt_id id, int64_t first,
		       unsigned max, struct slice *s)
{
	struct stmt *q AUTO_RESET = stmt_use(st, id);
	bool row = true;
	enum err e = OK;

	s->len = 0;
	bind_int(q, 1, first);
	bind_int(q, 2, max < SLICE_MAX ? max : SLICE_MAX);
	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		s->letter[s->len].id = col_int(q, 0);
		s->letter[s->len].key = col_key(q, 1);
		s->letter[s->len++].fingerprint = (uint64_t)col_int(q, 2);
	}
	return e;
}

static enum err drop_all(struct store *st, const struct slice *s,
			 unsigned *ret_n)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < s->len; i++)
		e = letter_drop(st, s->letter[i].id, &s->letter[i].key,
				s->letter[i].fingerprint, "resolved");
	*ret_n = e ? 0 : s->len;
	return e;
}

enum err letter_sweep(struct store *st, int64_t before_ms, unsigned max,
		      unsigned *ret_n)
{
	struct slice s;
	enum err e = gather(st, STMT_LETTER_OLD, before_ms, max, &s);

	return e ? e : drop_all(st, &s, ret_n);
}

enum err letter_drop_of_group(struct store *st, int64_t group_no, unsigned max,
			      unsigned *ret_n)
{
	struct slice s;
	enum err e = gather(st, STMT_LETTER_OF_GROUP, group_no, max, &s);

	return e ? e : drop_all(st, &s, ret_n);
}

enum err letter_unresolved(struct store *st, int64_t group_no,
			   int64_t *after_id, int64_t *ret_id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_UNRESOLVED);
	bool row = true;
	int64_t last = 0, n = 0;
	enum err e = OK;

	*ret_id = 0;
	bind_int(q, 1, group_no);
	bind_int(q, 2, *after_id);
	bind_int(q, 3, LETTER_WINDOW);
	while (!e && !*ret_id) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		last = col_int(q, 0);
		n++;
		if (col_int(q, 1))
			*ret_id = last;
	}
	if (!e)
		*after_id = n == LETTER_WINDOW ? last : 0;
	return e;
}

enum err letter_count_old(struct store *st, int64_t before_ms, int64_t *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_COUNT_OLD);

	bind_int(q, 1, before_ms);
	return stmt_int(st, q, ret_n);
}
