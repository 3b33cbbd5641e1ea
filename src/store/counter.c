#include "store/counter.h"

#include "database.h"

enum err counter_add(struct store *st, int64_t group_no,
		     const struct counters *delta)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_COUNTER_ADD);
	int pos = 1;

	bind_int(q, pos++, group_no);
#define BIND_(name) bind_int(q, pos++, delta->name);
	COUNTER_LIST(BIND_)
#undef BIND_
	return stmt_exec_one(st, q);
}

enum err counter_get(struct store *st, int64_t group_no,
		     struct counters *ret_c)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_COUNTER_GET);
	struct counters c = { 0 };
	bool row;
	int col = 0;
	enum err e;

	bind_int(q, 1, group_no);
	e = stmt_row(st, q, &row);
	if (e)
		return e;
	if (row) {
#define READ_(name) c.name = col_int(q, col++);
		COUNTER_LIST(READ_)
#undef READ_
	}
	*ret_c = c;
	return OK;
}
