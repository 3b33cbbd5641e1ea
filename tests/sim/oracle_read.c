/* Reading: each row of the file is put to the event it is of. */
#include <stdlib.h>
#include <string.h>

#include "../../src/store/migrations.h"
#include "base/arena.h"
#include "core/identity.h"
#include "fail.h"
#include "oracle_internal.h"

sqlite3 *oracle_open(const struct oracle *o)
{
	sqlite3 *db = NULL;

	/* Past the model of the disk: looking changes nothing. */
	if (sqlite3_open_v2(o->config->store.path, &db, SQLITE_OPEN_READONLY,
			    "unix"))
		sim_fail("the store cannot be opened: %s", sqlite3_errmsg(db));
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return db;
}

static sqlite3_stmt *ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL))
		sim_fail("%s: %s", sql, sqlite3_errmsg(db));
	return q;
}

static bool step(sqlite3_stmt *q)
{
	int rc = sqlite3_step(q);

	if (rc == SQLITE_ROW)
		return true;
	if (rc != SQLITE_DONE)
		sim_fail("%s: SQLite %d", sqlite3_sql(q), rc);
	sqlite3_finalize(q);
	return false;
}

/* who */

static int by_who(const void *a, const void *b)
{
	const struct oracle_record *x = a, *y = b;
	int n = memcmp(&x->key, &y->key, sizeof(x->key));

	if (n)
		return n;
	return x->fingerprint < y->fingerprint ? -1
					       : x->fingerprint > y->fingerprint;
}

static void add(struct oracle *o, unsigned e, enum sim_group g,
		int64_t group_no, struct arena *a)
{
	struct event ev = world_event(o->world, e, 0);
	struct oracle_record *r = &o->records[o->len++];
	struct identity who;

	if (!identity_of(&o->config->groups[g], group_no, o->seed, &ev, a,
			 &who))
		sim_fail("no memory");
	*r = (struct oracle_record){ .e = e, .g = g, .key = who.key,
				     .fingerprint = who.fingerprint };
}

static int group_of(const char *name)
{
	for (int g = 0; g < SIM_GROUPS; g++)
		if (!strcmp(name, sim_group_names[g]))
			return g;
	return -1;
}

static void find_groups(sqlite3 *db, int64_t no[SIM_GROUPS])
{
	sqlite3_stmt *q = ask(db, "SELECT name, group_no FROM once_group");

	while (step(q)) {
		int g = group_of((const char *)sqlite3_column_text(q, 0));

		if (g >= 0)
			no[g] = sqlite3_column_int64(q, 1);
	}
}

/* A new store knows them under other names. */
static void know_events(struct oracle *o, sqlite3 *db)
{
	sqlite3_stmt *q = ask(db, "SELECT hash_seed, store_ms FROM once_meta");
	int64_t no[SIM_GROUPS] = { 0 };
	struct arena a;
	uint64_t seed = 0;

	while (step(q)) {
		seed = (uint64_t)sqlite3_column_int64(q, 0);
		o->store_ms = sqlite3_column_int64(q, 1);
	}
	if (seed != o->seed && o->world->acks)
		sim_fail("another store stands where events were acknowledged");
	if (seed != o->seed)
		o->len = o->known = 0;
	o->seed = seed;
	if (o->known == o->world->len)
		return;
	find_groups(db, no);
	arena_init(&a, 4096, 1 << 20);
	for (; o->known < o->world->len; o->known++)
		for (int g = 0; g < SIM_GROUPS; g++)
			if (o->world->ev[o->known].groups & 1u << g)
				add(o, o->known, g, no[g], &a);
	arena_fini(&a);
	qsort(o->records, o->len, sizeof(*o->records), by_who);
}

/* where */

static void forget(struct oracle_record *r)
{
	*r = (struct oracle_record){ .e = r->e, .g = r->g, .key = r->key,
				     .fingerprint = r->fingerprint,
				     .marker = -1, .of_id = -1 };
}

static struct oracle_record *find(const struct oracle *o, sqlite3_stmt *q)
{
	struct oracle_record like = {
		.fingerprint = (uint64_t)sqlite3_column_int64(q, 1)
	};
	struct oracle_record *r;

	if (sqlite3_column_bytes(q, 0) != sizeof(like.key))
		sim_fail("a key of %d bytes", sqlite3_column_bytes(q, 0));
	memcpy(&like.key, sqlite3_column_blob(q, 0), sizeof(like.key));
	r = bsearch(&like, o->records, o->len, sizeof(like), by_who);
	if (!r)
		sim_fail("a row of an event that nobody published: %s",
			sqlite3_sql(q));
	return r;
}

static void read_pending(const struct oracle *o, sqlite3 *db)
{
	sqlite3_stmt *q = ask(db,
		"SELECT key, fingerprint, letter_id IS NULL, attempts, crashes"
		" FROM once_pending");

	while (step(q)) {
		struct oracle_record *r = find(o, q);

		if (!sqlite3_column_int(q, 2)) {
			r->serving++;
			continue;
		}
		r->pending++;
		r->attempts = sqlite3_column_int64(q, 3);
		r->crashes = sqlite3_column_int64(q, 4);
	}
}

static void read_letters(const struct oracle *o, sqlite3 *db)
{
	sqlite3_stmt *q = ask(db,
		"SELECT key, fingerprint, id, state, iif(kind = 'crash_loop',"
		" 'L', kind), (SELECT count(*) FROM once_job_item AS i"
		"  WHERE i.letter_id = l.id AND i.state = 'done'),"
		" (SELECT count(*) FROM once_job_item AS i"
		"  WHERE i.letter_id = l.id AND i.state = 'suppressed')"
		" FROM once_dead_letter AS l");

	while (step(q)) {
		struct oracle_record *r = find(o, q);
		const char *state = (const char *)sqlite3_column_text(q, 3);
		const char *kind = (const char *)sqlite3_column_text(q, 4);

		r->letters++;
		r->letter = sqlite3_column_int64(q, 2);
		/* replaying and resolved: r and R */
		r->letter_state = strcmp(state, "resolved") ? *state : 'R';
		r->letter_kind = *kind;
		r->replayed = (unsigned)sqlite3_column_int(q, 5);
		r->suppressed = (unsigned)sqlite3_column_int(q, 6);
		if (r->letter < o->said_size && o->said[r->letter] == 'p')
			sim_fail("letter %lld was purged and is there",
				(long long)r->letter);
		if (r->letter < o->said_size && o->said[r->letter] == 'd' &&
		    *state != 'd')
			sim_fail("letter %lld was discarded and is %s",
				(long long)r->letter, state);
	}
}

/* All that have the id; the last one read is the newest. */
static void put_marker(const struct oracle *o, sqlite3_stmt *q,
		       struct oracle_record *r)
{
	struct oracle_record *end = o->records + o->len;
	int state = sqlite3_column_int(q, 2);

	while (r > o->records && !memcmp(&r[-1].key, &r->key, sizeof(r->key)))
		r--;
	for (; r < end && !memcmp(&r->key, sqlite3_column_blob(q, 0),
				  sizeof(r->key)); r++) {
		bool own = r->fingerprint ==
			   (uint64_t)sqlite3_column_int64(q, 1);

		r->of_id = state;
		r->marker = own ? state : -1;
	}
}

static void read_markers(const struct oracle *o, sqlite3 *db)
{
	sqlite3_stmt *q = ask(db,
		"SELECT m.key, m.fingerprint, iif(m.outcome = 'ok', 0,"
		" iif(m.outcome = 'superseded', 1, iif(m.outcome ="
		" 'crash_loop', 6, 2))) FROM once_marker AS m"
		" JOIN once_generation AS g USING (generation)"
		" ORDER BY g.position");

	while (step(q))
		put_marker(o, q, find(o, q));
}

static struct oracle_record *of_event(const struct oracle *o, unsigned e,
				      int g)
{
	for (unsigned i = 0; i < o->len; i++)
		if (o->records[i].e == e && (int)o->records[i].g == g)
			return &o->records[i];
	sim_fail("an effect of an event that nobody published");
}

/* With an order guard no older state comes after a newer one. */
static void read_effects(const struct oracle *o, sqlite3 *db)
{
	sqlite3_stmt *q = ask(db, "SELECT g, e FROM effect ORDER BY n");
	static int newest[WORLD_EVENTS + 100];
	static struct oracle_record *at[SIM_GROUPS][WORLD_EVENTS];
	const struct world *w = o->world;

	memset(newest, 0, sizeof(newest));
	memset(at, 0, sizeof(at));
	for (unsigned i = 0; i < o->len; i++)
		at[o->records[i].g][o->records[i].e] = &o->records[i];
	while (step(q)) {
		int g = group_of((const char *)sqlite3_column_text(q, 0));
		unsigned e = (unsigned)sqlite3_column_int64(q, 1);
		struct oracle_record *r = g >= 0 && e < WORLD_EVENTS
						  ? at[g][e]
						  : of_event(o, e, g);

		if (!r)
			r = of_event(o, e, g);
		r->effects++;
		if (g != SIM_ORDER)
			continue;
		if ((int)w->ev[e].seq < newest[w->ev[e].key])
			sim_fail("event %u took effect after a newer one", e);
		newest[w->ev[e].key] = (int)w->ev[e].seq;
	}
}

void oracle_read(struct oracle *o, sqlite3 *db)
{
	know_events(o, db);
	for (unsigned i = 0; i < o->len; i++)
		forget(&o->records[i]);
	read_pending(o, db);
	read_letters(o, db);
	read_markers(o, db);
	read_effects(o, db);
}

/* the file itself */

static void tell_rows(sqlite3_stmt *q)
{
	while (step(q)) {
		const char *text = (const char *)sqlite3_column_text(q, 0);

		if (text && strcmp(text, "ok"))
			sim_fail("verify: %s", text);
	}
}

void oracle_verify(const struct oracle *o, sqlite3 *db)
{
	const char *at = verify_sql;

	tell_rows(ask(db, "PRAGMA integrity_check"));
	while (*at) {
		sqlite3_stmt *q = NULL;

		if (sqlite3_prepare_v2(db, at, -1, &q, &at))
			sim_fail("verify.sql: %s", sqlite3_errmsg(db));
		if (q && sqlite3_bind_parameter_count(q))
			sqlite3_bind_int64(q, 1, o->store_ms);
		if (q)
			tell_rows(q);
	}
}
