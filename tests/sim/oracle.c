#include "oracle_internal.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

void oracle_init(struct oracle *o, const struct world *w,
		 const struct config *c)
{
	*o = (struct oracle){ .world = w, .config = c };
	o->records = calloc(WORLD_EVENTS * 2, sizeof(*o->records));
	if (!o->records)
		sim_fail("no memory");
}

void oracle_fini(struct oracle *o)
{
	free(o->records);
	free(o->said);
}

static const struct sim_event *event_of(const struct oracle *o,
					const struct oracle_record *r)
{
	return &o->world->ev[r->e];
}

static _Noreturn void blame(const struct oracle *o,
			    const struct oracle_record *r, const char *what)
{
	const struct sim_event *ev = event_of(o, r);

	sim_fail("event %u (%s, id i%u, group %s, %s): %s: pending=%u "
		"attempts=%lld serving=%u letter=%lld state=%c kind=%c "
		"replayed=%u suppressed=%u marker=%d of_id=%d effects=%u",
		r->e, ev->payload, ev->id, sim_group_names[r->g],
		ev->acked ? "acknowledged" : "not acknowledged", what,
		r->pending, (long long)r->attempts, r->serving,
		(long long)r->letter, r->letter ? r->letter_state : '-',
		r->letter ? r->letter_kind : '-', r->replayed, r->suppressed,
		r->marker, r->of_id, r->effects);
}

static bool is_done(const struct oracle_record *r)
{
	return r->marker == 0 || r->marker == 1 ||
	       (r->letters && r->letter_state == 'R');
}

static bool is_dead(const struct oracle_record *r)
{
	return r->marker > 1 || (r->letters && r->letter_state != 'R');
}

/* I2; and I1, for no outcome at all is what an early PUBACK leaves. */
static void check_place(const struct oracle *o, const struct oracle_record *r,
			int64_t on_ms)
{
	const struct sim_event *ev = event_of(o, r);
	bool past = on_ms >= ev->published_ms + WORLD_TTL_MS - 1000;
	unsigned places = is_done(r) + is_dead(r) + (r->pending > 0);

	if (places > 1 || r->pending > 1 || r->letters > 1)
		blame(o, r, "in more than one place");
	if ((r->serving > 0) != (r->letters && r->letter_state == 'r'))
		blame(o, r, "letter and replay do not match");
	if (places || !ev->acked || past)
		return;
	if (r->g == SIM_NATURAL && r->effects)
		return;
	/* What its conflict leaves is the first event's record, and a count. */
	if (ev->clashes && (r->g == SIM_OFF || o->purges))
		return;
	blame(o, r, "acknowledged, and nowhere");
}

/* I3: an effect is there if it was handled, and once. */
static void check_effects(const struct oracle *o,
			  const struct oracle_record *r, int64_t on_ms)
{
	const struct sim_event *ev = event_of(o, r);
	bool past = on_ms >= ev->published_ms + WORLD_TTL_MS - 1000;
	unsigned want = r->marker == 0 || r->replayed;

	if (r->replayed > 1)
		blame(o, r, "its replay was done twice");
	if (r->g == SIM_NATURAL) {
		if (r->replayed && !r->effects)
			blame(o, r, "replayed without effect");
		return;
	}
	if (r->effects > 1)
		blame(o, r, "more than one effect");
	if (r->replayed && r->letter_kind != 'c' && r->marker != 0 && !past)
		blame(o, r, "replayed without a marker");
	if (past && !want)
		return; /* its record may be gone */
	if (r->effects != want)
		blame(o, r, want ? "done without effect"
				 : "an effect of what is not done");
	if (r->letters && r->letter_state == 'R' && !r->replayed &&
	    (!r->suppressed || (r->g != SIM_ORDER && r->of_id < 0)) && !past)
		blame(o, r, "resolved, but nothing was replayed");
	if (r->marker == 1 && r->g != SIM_ORDER)
		blame(o, r, "superseded without an order guard");
}

/* I5: what its neighbours do leaves no trace on it. */
static void check_innocent(const struct oracle *o,
			   const struct oracle_record *r)
{
	const struct sim_event *ev = event_of(o, r);

	if (!sim_kind_is_good(ev->kind)) {
		if (r->effects)
			blame(o, r, "an effect of what always fails");
		return;
	}
	if (ev->kind != SIM_OK)
		return;
	if (r->pending && r->attempts)
		blame(o, r, "a neighbour lost an attempt");
	if (r->letters && r->letter_kind != 'L' &&
	    !(r->letter_kind == 'c' && ev->clashes))
		blame(o, r, "a neighbour was buried");
	if (r->marker > 1 && r->marker != 6)
		blame(o, r, "a neighbour was given up on");
}

void oracle_check(struct oracle *o, int64_t on_ms, bool deep)
{
	sqlite3 *db = oracle_open(o);

	o->checks++;
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	oracle_read(o, db);
	if (o->store_ms > on_ms)
		sim_fail("the store clock says %lld, the power was on for %lld",
			(long long)o->store_ms, (long long)on_ms);
	for (unsigned i = 0; i < o->len; i++) {
		check_place(o, &o->records[i], on_ms);
		check_effects(o, &o->records[i], on_ms);
		check_innocent(o, &o->records[i]);
	}
	if (deep)
		oracle_verify(o, db);
	sqlite3_close(db);
}

void oracle_check_drained(struct oracle *o)
{
	for (unsigned i = 0; i < o->len; i++)
		if (o->records[i].pending || o->records[i].serving)
			blame(o, &o->records[i], "still waits");
}

void oracle_said(struct oracle *o, int64_t letter, char what)
{
	if (letter >= o->said_size) {
		unsigned size = (unsigned)letter + 256;
		char *p = realloc(o->said, size);

		if (!p)
			sim_fail("no memory");
		memset(p + o->said_size, 0, size - o->said_size);
		o->said = p;
		o->said_size = size;
	}
	o->said[letter] = what;
}

int64_t oracle_pick_letter(struct oracle *o, struct seeded *s,
			   const char *state)
{
	sqlite3 *db = oracle_open(o);
	sqlite3_stmt *q = NULL;
	int64_t id = 0;
	unsigned n = 0;

	sqlite3_prepare_v2(db, "SELECT id FROM once_dead_letter"
			   " WHERE state = ?1 ORDER BY id", -1, &q, NULL);
	sqlite3_bind_text(q, 1, state, -1, SQLITE_STATIC);
	while (sqlite3_step(q) == SQLITE_ROW)
		if (!seeded_below(s, ++n))
			id = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return id;
}
