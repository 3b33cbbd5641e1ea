#include "store/letter.h"

#include "database.h"
#include "props.h"

static void bind_event(struct stmt *q, const struct event *ev,
		       const struct hash_key *content)
{
	bind_text(q, 16, ev->topic);
	bind_blob(q, 17, ev->payload);
	bind_int(q, 18, (int64_t)ev->payload_bytes);
	bind_key(q, 19, content);
	bind_text(q, 20, ev->content_type);
	bind_blob(q, 21, ev->correlation);
	bind_int(q, 23, ev->qos);
	bind_int(q, 24, ev->retain);
}

/* A letter that still suppresses is never buried again: ERR_GONE. */
enum err letter_put(struct store *st, const struct letter *l)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_PUT);
	const struct event *ev = &l->event;
	struct hash_key content = ev->oversize
		? ev->content : event_content(ev->topic, ev->payload);
	AUTO_PROPS char *props = NULL;
	enum err e = props_encode(ev, &props);

	if (e)
		return e;
	st->has_letters = true;
	bind_int(q, 1, l->group_no);
	bind_text(q, 2, l->who.tenant.data ? l->who.tenant : span_str(""));
	bind_text(q, 3, l->who.event_id);
	bind_key(q, 4, &l->who.key);
	bind_int(q, 5, (int64_t)l->who.fingerprint);
	bind_int(q, 6, l->recipe);
	bind_text(q, 7, span_str(dead_kind_text(l->kind)));
	bind_type(q, 8, &l->first_type);
	bind_type(q, 9, &l->last_type);
	bind_int(q, 10, l->attempts);
	bind_int(q, 11, l->first_seen_ms);
	bind_int(q, 12, l->first_seen_wall_ms);
	bind_int(q, 13, l->dead_ms);
	bind_int(q, 14, l->dead_wall_ms);
	bind_int(q, 15, l->dead_sync);
	bind_event(q, ev, &content);
	bind_text(q, 22, span_str(props));
	bind_int(q, 25, l->dead_ms);
	bind_blob(q, 26, l->order_key);
	return stmt_exec_one(st, q);
}

enum err letter_totals(struct store *st, int64_t group_no, int64_t *ret_open,
		       int64_t *ret_kept)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_TOTALS);
	bool row;
	enum err e;

	bind_int(q, 1, group_no);
	e = stmt_row(st, q, &row);
	if (!e) {
		*ret_open = col_int(q, 0);
		*ret_kept = col_int(q, 1);
	}
	return e;
}

enum err letter_thin(struct store *st, int64_t group_no, unsigned max,
		     unsigned *ret_n)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_THIN);
	enum err e;

	bind_int(q, 1, group_no);
	bind_int(q, 2, max);
	e = stmt_exec(st, q);
	*ret_n = e ? 0 : (unsigned)sqlite3_changes(st->db);
	return e;
}

enum err letter_count_copy(struct store *st, int64_t id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_COPY);

	bind_int(q, 1, id);
	return stmt_exec_one(st, q);
}

static enum dead_kind kind_of(struct span s)
{
	for (int k = 0; k < DEAD_KIND_COUNT; k++)
		if (span_is(s, dead_kind_text(k)))
			return k;
	return DEAD_POISON;
}

static struct letter row_letter(struct stmt *q)
{
	return (struct letter){
		.id = col_int(q, 0),
		.group = col_text(q, 1),
		.who = { .tenant = col_text(q, 2),
			 .event_id = col_text(q, 3),
			 .key = col_key(q, 4),
			 .fingerprint = (uint64_t)col_int(q, 5) },
		.kind = kind_of(col_text(q, 6)),
		.first_type = col_type(q, 7),
		.last_type = col_type(q, 8),
		.attempts = (unsigned)col_int(q, 9),
		.redeliveries = col_int(q, 10),
		.state = col_text(q, 11),
		.first_seen_ms = col_int(q, 12),
		.first_seen_wall_ms = col_int(q, 13),
		.dead_ms = col_int(q, 14),
		.dead_wall_ms = col_int(q, 15),
		.dead_sync = col_int(q, 16),
		.event = { .topic = col_text(q, 17),
			   .payload_bytes = (uint64_t)col_int(q, 18),
			   .content_type = col_text(q, 19),
			   .qos = (uint8_t)col_int(q, 21),
			   .retain = col_int(q, 22) },
		.properties_text = col_text(q, 20),
	};
}

enum err letter_list(struct store *st, int64_t before_id, unsigned max,
		     letter_row_fn *row_fn, void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_LIST);
	bool row = true;
	enum err e = OK;

	bind_int(q, 1, before_id);
	bind_int(q, 2, max);
	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		struct letter l = row_letter(q);

		e = row_fn(arg, &l);
	}
	return e;
}

enum err letter_show(struct store *st, int64_t id, letter_row_fn *row_fn,
		     void *arg)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_SHOW);
	bool row;
	enum err e;

	bind_int(q, 1, id);
	e = stmt_row(st, q, &row);
	if (e)
		return e;
	if (!row)
		return err_say(&st->detail, ERR_NO,
			       "no dead letter %lld; `mqonce dead list` shows "
			       "them", (long long)id);
	struct letter l = row_letter(q);

	l.event.payload = col_blob(q, 23);
	l.event.oversize = !l.event.payload.data;
	return row_fn(arg, &l);
}
