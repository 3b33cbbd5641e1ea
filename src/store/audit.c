#include "store/audit.h"

#include "database.h"

static enum err insert(struct store *st, const struct audit_record *r,
		       int64_t *ret_id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_AUDIT_PUT);

	bind_int(q, 1, r->at_ms);
	bind_int(q, 2, r->at_wall_ms);
	bind_int(q, 3, r->uid);
	bind_text(q, 4, r->act);
	bind_text(q, 5, r->what);
	bind_int(q, 6, r->n);
	return stmt_int(st, q, ret_id);
}

enum err audit_put(struct store *st, const struct audit_record *r)
{
	int64_t id = 0;
	enum err e = insert(st, r, &id);

	if (!e) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_AUDIT_TRIM);

		bind_int(q, 1, id - AUDIT_ROWS);
		e = stmt_exec(st, q);
	}
	return e;
}

enum err audit_list(struct store *st, int64_t before_id, unsigned max,
		    audit_row_fn *row_fn, void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_AUDIT_LIST);
	bool row = true;
	enum err e = OK;

	bind_int(q, 1, before_id);
	bind_int(q, 2, max);
	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		e = row_fn(arg, &(struct audit_record){
			.id = col_int(q, 0),
			.at_ms = col_int(q, 1),
			.at_wall_ms = col_int(q, 2),
			.uid = (uid_t)col_int(q, 3),
			.act = col_text(q, 4),
			.what = col_text(q, 5),
			.n = col_int(q, 6),
		});
	}
	return e;
}
