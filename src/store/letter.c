#include "store/letter.h"

#include "database.h"
#include "props.h"
#include "store/attempt.h"
#include "store/counter.h"
#include "store/marker.h"

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

enum err letter_totals(struct store *st, int64_t group_no, bool thin,
		       int64_t *ret_open, int64_t *ret_kept)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_TOTALS);
	bool row;
	enum err e;

	bind_int(q, 1, group_no);
	bind_int(q, 2, thin);
	e = stmt_row(st, q, &row);
	if (!e) {
		*ret_open = col_int(q, 0);
		*ret_kept = col_int(q, 1);
	}
	return e;
}

bool letter_were_moved(struct store *st)
{
	bool moved = st->letters_moved;

	st->letters_moved = false;
	return moved;
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
		.replays = col_int(q, 23),
		.pulled_as = col_text(q, 24),
	};
}

static void bind_filter(struct stmt *q, const struct letter_filter *f,
			int64_t before_id, int64_t floor_id)
{
	bind_int(q, 1, before_id);
	bind_int(q, 2, floor_id);
	bind_int(q, 3, f->group_no);
	bind_text(q, 4, f->tenant);
	bind_text(q, 5, f->kind);
	bind_text(q, 6, f->type);
	bind_text(q, 7, f->state);
	bind_text(q, 8, f->event_id);
	bind_int(q, 9, f->since_wall_ms);
	bind_int(q, 10, f->until_wall_ms);
	bind_int(q, 11, f->id);
}

/* Where the window below *before_id ends; moves *before_id to the newest. */
static enum err open_window(struct store *st, const struct letter_filter *f,
			    int64_t *before_id, int64_t *ret_floor,
			    bool *ret_last)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_RANGE);
	bool row;
	enum err e = stmt_row(st, q, &row);
	int64_t first, last;

	if (e)
		return e;
	first = f->id ? f->id : col_int(q, 0);
	last = f->id ? f->id : col_int(q, 1);
	if (*before_id > last)
		*before_id = last + 1;
	*ret_floor = *before_id - LETTER_WINDOW;
	*ret_last = *ret_floor <= first;
	return OK;
}

enum err letter_list(struct store *st, const struct letter_filter *f,
		     int64_t *before_id, unsigned max, letter_row_fn *row_fn,
		     void *arg)
{
	int64_t floor_id = 0;
	bool row = true, last = false;
	unsigned n = 0;
	enum err e = open_window(st, f, before_id, &floor_id, &last);
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_LIST);

	bind_filter(q, f, *before_id, floor_id);
	bind_int(q, 12, max);
	for (; !e; n++) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		struct letter l = row_letter(q);

		e = row_fn(arg, &l);
		if (!e)
			*before_id = l.id;
	}
	if (e == ERR_NO)
		return OK;
	if (!e && n < max)		/* the window is through */
		*before_id = last ? 0 : floor_id;
	return e;
}

enum err letter_summary(struct store *st, const struct letter_filter *f,
			int64_t *before_id, letter_count_fn *row_fn, void *arg)
{
	int64_t floor_id = 0;
	bool row = true, last = false;
	enum err e = open_window(st, f, before_id, &floor_id, &last);
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_SUMMARY);

	bind_filter(q, f, *before_id, floor_id);
	while (!e) {
		e = stmt_row(st, q, &row);
		if (e || !row)
			break;
		e = row_fn(arg, &(struct letter_count){
			.group = col_text(q, 0),
			.kind = col_text(q, 1),
			.type = col_text(q, 2),
			.state = col_text(q, 3),
			.n = col_int(q, 4),
			.oldest_wall_ms = col_int(q, 5),
			.newest_wall_ms = col_int(q, 6),
		});
	}
	if (!e)
		*before_id = last ? 0 : floor_id;
	return e;
}

enum err letter_open(struct store *st, enum dead_kind kind, int64_t *ret_n,
		     int64_t *ret_oldest_ms)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_OPEN);
	bool row;
	enum err e;

	bind_text(q, 1, span_str(dead_kind_text(kind)));
	bind_int(q, 2, LETTER_OPEN_MAX);
	e = stmt_row(st, q, &row);
	if (!e) {
		*ret_n = col_int(q, 0);
		*ret_oldest_ms = col_int(q, 1);
	}
	return e;
}

enum err letter_move(struct store *st, int64_t id, const char *from,
		     const char *to, int64_t now_ms, uid_t uid)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_MOVE);

	st->letters_moved = true;
	bind_int(q, 1, id);
	bind_text(q, 2, span_str(from));
	bind_text(q, 3, span_str(to));
	bind_int(q, 4, now_ms);
	bind_int(q, 5, uid == LETTER_NOBODY ? -1 : (int64_t)uid);
	return stmt_exec_one(st, q);
}

/* No job is to wait for a letter that is put away. */
static enum err withdraw(struct store *st, int64_t id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_WITHDRAW);

	bind_int(q, 1, id);
	return stmt_exec(st, q);
}

enum err letter_discard(struct store *st, int64_t id, int64_t now_ms, uid_t uid)
{
	enum err e = letter_move(st, id, "open", "discarded", now_ms, uid);

	return e ? e : withdraw(st, id);
}

enum err letter_pulled(struct store *st, int64_t id, struct span as,
		       int64_t now_ms, uid_t uid)
{
	enum err e = letter_discard(st, id, now_ms, uid);

	if (!e) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_PULLED);

		bind_int(q, 1, id);
		bind_text(q, 2, as);
		e = stmt_exec_one(st, q);
	}
	return e;
}

enum err letter_note_replay(struct store *st, int64_t id,
			    const struct error_type *type, unsigned attempts)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_REPLAYED);

	bind_int(q, 1, id);
	bind_type(q, 2, type);
	bind_int(q, 3, attempts);
	return stmt_exec_one(st, q);
}

enum err letter_is_conflict(struct store *st, int64_t id, bool *ret_v)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_IS_CONFLICT);
	int64_t v = 0;
	enum err e;

	bind_int(q, 1, id);
	e = stmt_int(st, q, &v);
	*ret_v = v;
	return e;
}

struct scope {
	struct hash_key key;
	struct marker marker;
	int64_t dead_ms, ttl_ms, group_no;
	enum dead_kind kind;
};

static enum err find_scope(struct store *st, int64_t id, struct scope *ret_s)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_SCOPE);
	bool row;
	enum err e;

	bind_int(q, 1, id);
	e = stmt_row(st, q, &row);
	if (e)
		return e;
	if (!row)
		return err_say(&st->detail, ERR_GONE,
			       "letter %lld is not discarded", (long long)id);
	ret_s->key = col_key(q, 0);
	ret_s->kind = kind_of(col_text(q, 3));
	ret_s->marker = (struct marker){
		.state = MARKER_DEAD + (int)ret_s->kind,
		.fingerprint = (uint64_t)col_int(q, 1),
		.recipe = col_int(q, 2),
	};
	ret_s->dead_ms = col_int(q, 4);
	ret_s->ttl_ms = col_int(q, 5);
	ret_s->group_no = col_int(q, 6);
	return OK;
}

/* The letter was the dead marker: within the ttl a plain one follows it. */
static enum err leave_marker(struct store *st, const struct scope *s,
			     int64_t now_ms)
{
	struct counters more = { 0 };
	struct marker m;
	bool found = false;
	enum err e;

	if (s->dead_ms + s->ttl_ms <= now_ms || s->kind == DEAD_CONFLICT)
		return OK;
	e = marker_find(st, &s->key, now_ms, s->ttl_ms, &m, &found);
	if (e || found)
		return e;
	e = marker_put(st, &s->key, &s->marker, now_ms, s->ttl_ms,
		       &more.markers);
	return e ? e : counter_add(st, s->group_no, &more);
}

static enum err drop_items(struct store *st, int64_t id)
{
	struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_ITEMS_DROP);

	bind_int(q, 1, id);
	return stmt_exec(st, q);
}

/* With what refers to it: its history, its part in jobs. */
enum err letter_drop(struct store *st, int64_t id, const struct hash_key *key,
		     uint64_t fingerprint, const char *state)
{
	enum err e = attempt_drop(st, key, fingerprint);

	if (!e)
		e = drop_items(st, id);
	if (!e) {
		struct stmt *q AUTO_RESET = stmt_use(st, STMT_LETTER_DROP);

		bind_int(q, 1, id);
		bind_text(q, 2, span_str(state));
		e = stmt_exec_one(st, q);
	}
	return e;
}

enum err letter_purge(struct store *st, int64_t id, int64_t now_ms)
{
	struct scope s = { .dead_ms = 0 };
	enum err e = find_scope(st, id, &s);

	if (!e)
		e = leave_marker(st, &s, now_ms);
	return e ? e : letter_drop(st, id, &s.key, s.marker.fingerprint,
				   "discarded");
}

static enum err show(struct store *st, int64_t id, struct arena *a,
		     letter_row_fn *row_fn, void *arg)
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

	l.event.payload = col_blob(q, 25);
	l.event.oversize = !l.event.payload.data;
	l.event.correlation = col_blob(q, 26);
	l.group_no = col_int(q, 27);
	if (a)
		e = props_decode(l.properties_text, a, &l.event);
	return e ? e : row_fn(arg, &l);
}

enum err letter_show(struct store *st, int64_t id, letter_row_fn *row_fn,
		     void *arg)
{
	return show(st, id, NULL, row_fn, arg);
}

enum err letter_event(struct store *st, int64_t id, struct arena *a,
		      letter_row_fn *row_fn, void *arg)
{
	return show(st, id, a, row_fn, arg);
}
