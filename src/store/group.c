#include "store/group.h"

#include <string.h>

#include "database.h"

struct known {
	struct group_record record;
	int64_t ttl_ms;
	bool found, same_identity, same_fingerprint;
};

static const char *text(const char *s)
{
	return s ? s : "";
}

static enum err look_up(struct store *st, const struct group_config *g,
			struct known *k)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_GET);
	enum err e;

	bind_text(q, 1, span_str(g->name));
	e = stmt_row(st, q, &k->found);
	if (e || !k->found)
		return e;
	k->record.group_no = col_int(q, 0);
	k->record.recipe = col_int(q, 1);
	k->same_identity = span_is(col_text(q, 2), text(g->id_text)) &&
			   span_is(col_text(q, 3), text(g->tenant_text));
	k->same_fingerprint = span_is(col_text(q, 4),
				      text(g->fingerprint_text));
	k->ttl_ms = col_int(q, 5);
	k->record.vouches_since_ms = col_int(q, 6);
	k->record.paused = col_int(q, 7);
	/* The first probe of an ownership comes at once. */
	k->record.breaker = (struct breaker){
		.open = col_text(q, 8).data,
		.open_since_ms = col_int(q, 8),
		.open_total_ms = col_int(q, 9),
	};
	return OK;
}

static enum err insert(struct store *st, const struct group_config *g,
		       int64_t now_ms, struct group_record *ret_g)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_NEW);

	bind_text(q, 1, span_str(g->name));
	bind_text(q, 2, span_str(text(g->id_text)));
	bind_text(q, 3, span_str(text(g->tenant_text)));
	bind_text(q, 4, span_str(text(g->fingerprint_text)));
	bind_int(q, 5, g->ttl_ms);
	bind_int(q, 6, now_ms);
	ret_g->recipe = 1;
	ret_g->vouches_since_ms = now_ms;
	return stmt_int(st, q, &ret_g->group_no);
}

static enum err update(struct store *st, const struct group_config *g,
		       const struct group_record *r)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_SET);

	bind_int(q, 1, r->group_no);
	bind_int(q, 2, r->recipe);
	bind_text(q, 3, span_str(text(g->id_text)));
	bind_text(q, 4, span_str(text(g->tenant_text)));
	bind_text(q, 5, span_str(text(g->fingerprint_text)));
	bind_int(q, 6, g->ttl_ms);
	bind_int(q, 7, r->vouches_since_ms);
	return stmt_exec_one(st, q);
}

enum err group_has_records(struct store *st, int64_t group_no, bool *ret_has)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_HAS_RECORDS);
	int64_t v = 0;
	enum err e;

	bind_int(q, 1, group_no);
	e = stmt_int(st, q, &v);
	*ret_has = v;
	return e;
}

enum err group_find(struct store *st, const char *name,
		    struct group_record *ret_g)
{
	const struct group_config g = { .name = name };
	struct known k = { .found = false };
	enum err e = look_up(st, &g, &k);

	if (!e && !k.found)
		return err_say(&st->detail, ERR_NO, "no group %s", name);
	if (!e)
		*ret_g = k.record;
	return e;
}

static enum err refuse(const struct group_config *g, struct err_detail *why)
{
	return err_say(why, ERR_CONFIG,
		       "[group %s]: id or tenant changed while the store "
		       "remembers its events by the old one: copies of them "
		       "would run again; change it back, or accept that with "
		       "`mqonce check --accept`", g->name);
}

enum err group_check(struct store *st, const struct group_config *g,
		     struct err_detail *why)
{
	struct known k = { .found = false };
	bool records = false;
	enum err e = look_up(st, g, &k);

	if (!e && k.found && !k.same_identity)
		e = group_has_records(st, k.record.group_no, &records);
	if (e)
		return err_say(why, e, "[group %s]: %s", g->name,
			       store_detail(st));
	return records ? refuse(g, why) : OK;
}

enum err group_register(struct store *st, const struct group_config *g,
			int64_t now_ms, bool accept, struct group_record *ret_g,
			struct err_detail *why)
{
	struct known k = { .found = false };
	bool records = false;
	enum err e = look_up(st, g, &k);

	if (!e && !k.found)
		e = insert(st, g, now_ms, &k.record);
	else if (!e && k.same_identity && k.same_fingerprint &&
		 k.ttl_ms == g->ttl_ms)
		goto done;
	else if (!e) {
		e = group_has_records(st, k.record.group_no, &records);
		if (!e && records && !k.same_identity && !accept)
			return refuse(g, why);
		if (!k.same_fingerprint || !k.same_identity)
			k.record.recipe++;
		if (g->ttl_ms > k.ttl_ms)
			k.record.vouches_since_ms = now_ms;
		if (!e)
			e = update(st, g, &k.record);
	}
	if (e)
		return err_say(why, e, "[group %s]: %s", g->name,
			       store_detail(st));
done:
	*ret_g = k.record;
	return OK;
}

enum err group_pause(struct store *st, int64_t group_no, bool paused)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_PAUSE);

	bind_int(q, 1, group_no);
	bind_int(q, 2, paused);
	return stmt_exec_one(st, q);
}

enum err group_breaker_put(struct store *st, int64_t group_no,
			   const struct breaker *old, const struct breaker *b)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_BREAKER);

	bind_int(q, 1, group_no);
	if (b->open)
		bind_int(q, 2, b->open_since_ms);
	bind_int(q, 3, b->open_total_ms);
	if (old->open)
		bind_int(q, 4, old->open_since_ms);
	return stmt_exec_one(st, q);
}

enum err group_longest_ttl(struct store *st, int64_t *ret_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_LONGEST_TTL);

	return stmt_int(st, q, ret_ms);
}

enum err group_list(struct store *st, group_line_fn *row_fn, void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_LIST);
	bool row = true;
	enum err e = OK;

	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		e = row_fn(arg, &(struct group_line){ col_int(q, 0),
						      col_text(q, 1),
						      col_int(q, 2) });
	}
	return e;
}

enum err group_rename(struct store *st, int64_t group_no, struct span name)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_RENAME);

	bind_int(q, 1, group_no);
	bind_text(q, 2, name);
	return stmt_exec_one(st, q);
}

static enum err run(struct store *st, enum stmt_id id, int64_t group_no)
{
	struct stmt *q AUTO_RESET = stmt_use(st, id);

	bind_int(q, 1, group_no);
	return stmt_exec(st, q);
}

/* Markers that are not swept yet are still counted, under no group. */
enum err group_drop(struct store *st, int64_t group_no)
{
	enum err e = run(st, STMT_COUNTER_FOLD, group_no);

	if (!e)
		e = run(st, STMT_COUNTER_DROP, group_no);
	if (!e) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_GROUP_DROP);

		bind_int(q, 1, group_no);
		e = stmt_exec_one(st, q);
	}
	return e;
}
