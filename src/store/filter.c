#include "store/filter.h"

#include "database.h"

enum err filter_put(struct store *st, const struct filter_owner *o,
		    const char *filter, int64_t wall_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_FILTER_PUT);

	bind_text(q, 1, span_str(o->broker));
	bind_text(q, 2, span_str(o->client_id));
	bind_text(q, 3, span_str(filter));
	bind_int(q, 4, wall_ms);
	return stmt_exec(st, q);
}

enum err filter_drop(struct store *st, const struct filter_owner *o,
		     const char *filter)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_FILTER_DROP);

	bind_text(q, 1, span_str(o->broker));
	bind_text(q, 2, span_str(o->client_id));
	bind_text(q, 3, span_str(filter));
	return stmt_exec_one(st, q);
}

enum err filter_list(struct store *st, const struct filter_owner *o,
		     filter_row_fn *row_fn, void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_FILTER_LIST);
	bool row = true;
	enum err e = OK;

	bind_text(q, 1, span_str(o->broker));
	bind_text(q, 2, span_str(o->client_id));
	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		e = row_fn(arg, col_text(q, 0));
	}
	return e;
}
