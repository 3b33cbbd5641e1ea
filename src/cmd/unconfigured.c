/* Groups that the store has records of and the configuration does not name. */
#include "cmd.h"
#include "store/group.h"

struct search {
	struct store *store;
	const struct config *config;
	cmd_group_fn *found;
};

static enum err look(void *arg, const struct group_line *l)
{
	struct search *s = arg;
	bool records = false;
	enum err e = OK;

	if (!config_group(s->config, l->name))
		e = group_has_records(s->store, l->group_no, &records);
	if (records)
		s->found(l->name);
	return e;
}

enum err cmd_unconfigured(struct store *st, const struct config *c,
			  cmd_group_fn *found)
{
	struct search s = { st, c, found };

	return group_list(st, look, &s);
}
