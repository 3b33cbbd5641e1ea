/* Schema files and handlers are tried out on a store in memory. */
#include "cmd.h"
#include "handler/sql.h"
#include "store/store.h"

enum err cmd_prepare_all(const struct config *c, cmd_prepared_fn *prepared,
			 struct err_detail *why)
{
	const struct store_options o = { .path = ":memory:" };
	struct store *st = NULL;
	enum err e = store_open(&o, STORE_SCRATCH, &st, why);

	if (!e)
		e = sql_schema_apply(st, c->store.schema, why);
	for (unsigned i = 0; !e && i < c->groups_len; i++) {
		struct handler h = { 0 };

		e = sql_handler_open(st, &c->groups[i], &h, why);
		if (!e && prepared)
			prepared(&c->groups[i]);
		if (!e)
			sql_handler_close(&h);
	}
	store_close(st);
	return e;
}
