/*
 * Files that a bad flash, a power cut or a person has damaged: what opens is
 * whole, or says that it is not; what does not open says what to do.  SEED=n
 * MUTATIONS=m for others than the usual ones.
 */
#include "../support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/store/database.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/seeded.h"
#include "../support/shelf.h"
#include "../support/test.h"
#include "store/care.h"
#include "store/space.h"

#define TABLES	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER								\
	"INSERT INTO effect (id) VALUES (:event_id);\n"			\
	"SELECT reject('bad') WHERE :payload ->> 'k' = 'bad';\n"	\
	"SELECT poison('ill') WHERE :payload ->> 'k' = 'ill';\n"	\
	"SELECT retry('later') WHERE :payload ->> 'k' = 'later';\n"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 4h\nretry_initial = 5m\n"
/* Of each event the number and the place; those of a conflict are two. */
#define PLACES								\
	"(SELECT id AS e FROM effect UNION ALL"				\
	" SELECT event_id FROM once_pending UNION ALL"			\
	" SELECT event_id FROM once_dead_letter WHERE kind <> 'conflict')"

#define EVENTS	   240
#define PART	   (EVENTS / 3) /* then it is checkpointed */
#define MUTATIONS  1000
#define SECTOR	   512
#define HEADER	   100

enum mutation {
	TORN_SECTOR,
	FLIPPED_BIT,
	ZEROED_PAGE,
	TRUNCATION,
	SWAPPED_SECTORS,
	STALE_WAL,
	NO_WAL,
	SHM_GARBAGE,
	MUTATION_KINDS
};

static struct rig *r;
static char path[128];
static struct shelf early, late;
static struct fake_broker broker_then;
static unsigned refused, prefixes, whole, told;

static void publish(unsigned i)
{
	static const char *const kinds[] = { "fine", "fine", "bad", "later",
					     "fine", "ill" };
	static char text[EVENTS + 1][400];

	/* Long enough that the tables have more than one page. */
	snprintf(text[i], sizeof(text[i]),
		 "{\"id\":\"e%04u\",\"k\":\"%s\",\"x\":\"%0300u\"}", i,
		 kinds[i % ARRAY_LEN(kinds)], i);
	rig_publish("t", text[i]);
}

/* Each event in a commit of its own: the order is known. */
static void publish_part(unsigned part)
{
	for (unsigned i = part * PART; i < (part + 1) * PART; i++) {
		publish(i);
		assert_ok(rig_turn(r));
	}
}

static int setup(void **state UNUSED)
{
	r = rig_new(TABLES, HANDLER, GROUP);
	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	publish_part(0);
	assert_ok(space_checkpoint(r->d.store, 1));
	publish_part(1);
	shelf_take(&early, path);
	assert_ok(space_checkpoint(r->d.store, 1));
	publish_part(2);
	shelf_take(&late, path);
	broker_then = fake_broker;
	return 0;
}

static int teardown(void **state UNUSED)
{
	rig_free(r);
	shelf_free(&early);
	shelf_free(&late);
	return 0;
}

/* Half of the sector is what it was before it was ever written. */
static void tear(struct seeded *s, uint8_t *at)
{
	unsigned from = seeded_below(s, SECTOR);

	for (unsigned i = from; i < SECTOR; i++)
		at[i] = (uint8_t)seeded_next(s);
}

static void swap(uint8_t *a, uint8_t *b)
{
	uint8_t keep[SECTOR];

	memcpy(keep, a, SECTOR);
	memcpy(a, b, SECTOR);
	memcpy(b, keep, SECTOR);
}

/* Any place of it, often the first page. */
static uint8_t *place(struct seeded *s, struct shelf_bytes *b, size_t unit)
{
	size_t n = b->len / unit;
	unsigned most = seeded_chance(s, 20) ? 8 : (unsigned)n;

	return b->data + unit * seeded_below(s, most < n ? most : (unsigned)n);
}

static void mutate_bytes(struct seeded *s, struct shelf_bytes *b,
			 enum mutation kind)
{
	if (kind == TORN_SECTOR)
		tear(s, place(s, b, SECTOR));
	else if (kind == FLIPPED_BIT)
		*place(s, b, 1) ^= (uint8_t)(1 << seeded_below(s, 8));
	else if (kind == ZEROED_PAGE)
		memset(place(s, b, STORE_PAGE_BYTES), 0, STORE_PAGE_BYTES);
	else if (kind == TRUNCATION)
		b->len = seeded_below(s, (unsigned)b->len);
	else
		swap(place(s, b, SECTOR), place(s, b, SECTOR));
}

static void fill(struct seeded *s, struct shelf_bytes *b)
{
	for (size_t i = 0; i < b->len; i++)
		b->data[i] = (uint8_t)seeded_next(s);
}

static void mutate(struct seeded *s, struct shelf *f, enum mutation kind,
		   enum shelf_file which)
{
	switch (kind) {
	case STALE_WAL:
		free(f->file[SHELF_WAL].data);
		f->file[SHELF_WAL].len = early.file[SHELF_WAL].len;
		f->file[SHELF_WAL].data = malloc(f->file[SHELF_WAL].len);
		memcpy(f->file[SHELF_WAL].data, early.file[SHELF_WAL].data,
		       f->file[SHELF_WAL].len);
		return;
	case NO_WAL:
		free(f->file[SHELF_WAL].data);
		f->file[SHELF_WAL] = (struct shelf_bytes){ 0 };
		return;
	case SHM_GARBAGE:
		fill(s, &f->file[SHELF_SHM]);
		return;
	case TORN_SECTOR:
	case FLIPPED_BIT:
	case ZEROED_PAGE:
	case TRUNCATION:
	case SWAPPED_SECTORS:
	case MUTATION_KINDS:
		mutate_bytes(s, &f->file[which], kind);
	}
}

static void look_refused(uint64_t seed, enum err e, const char *why,
			 bool header)
{
	refused++;
	if (strstr(why, "store quarantine"))
		return;
	/* With another header it may be anybody's file. */
	if (header && e == ERR_SCHEMA && strstr(why, "left untouched"))
		return;
	fail_msg("SEED=%llu: %s: %s", (unsigned long long)seed, err_text(e),
		 why);
}

static void no_word(void *arg UNUSED, const char *text UNUSED)
{
}

static void look_sound(uint64_t seed, enum shelf_file which)
{
	int64_t all = rig_int(r, "SELECT count(*) FROM " PLACES);
	int64_t events = rig_int(r, "SELECT count(DISTINCT e) FROM " PLACES);
	int64_t last = rig_int(r, "SELECT 1 + substr(max(e), 2) FROM " PLACES);

	if (all != events)
		fail_msg("SEED=%llu: an event is in two places",
			 (unsigned long long)seed);
	if (events == EVENTS) {
		whole++;
		return;
	}
	/* What a file without its WAL, or its end, still is: an earlier one. */
	if (last != events || events < (which == SHELF_DB ? 1 : PART))
		fail_msg("SEED=%llu: %lld events, the last is %lld",
			 (unsigned long long)seed, (long long)events,
			 (long long)last);
	prefixes++;
}

/* Whatever is in it, the daemon goes on or ends. */
static void work(void)
{
	enum err e = rig_turn(r);

	if (!e)
		e = retry_refresh(&r->d.retry);
	if (!e)
		e = retry_turn(&r->d.retry, fake_clock.boot_ms + 600000);
	if (!e)
		e = maintain_turn(&r->d.maintain, 0, fake_clock.boot_ms);
	assert_true(!e || *store_detail(r->d.store));
}

static void try_mutation(uint64_t seed)
{
	enum mutation kind = (enum mutation)(seed % MUTATION_KINDS);
	struct seeded s = { seed };
	enum shelf_file which = seeded_chance(&s, 50) ? SHELF_DB : SHELF_WAL;
	struct err_detail why = { "" };
	struct shelf f;
	unsigned n = 0;
	enum err e;

	rig_kill(r);
	shelf_copy(&f, &late);
	mutate(&s, &f, kind, which);
	shelf_put(&f, path);
	fake_broker = broker_then;
	publish(0);
	publish(EVENTS);
	r->d = (struct daemon){ .config = r->config };
	e = daemon_open(&r->d, &why);
	if (e) {
		look_refused(seed, e, why.text,
			     f.file[SHELF_DB].len < HEADER ||
				     memcmp(f.file[SHELF_DB].data,
					    late.file[SHELF_DB].data, HEADER));
	} else {
		e = store_verify(r->d.store, store_now_ms(r->d.store,
				 fake_clock.boot_ms), no_word, NULL, &n);
		if (e || n)
			told++;
		else
			look_sound(seed, kind == STALE_WAL ? SHELF_WAL : which);
		work();
	}
	shelf_free(&f);
}

static void a_damaged_store_is_whole_or_says_that_it_is_not(void **state UNUSED)
{
	const char *from = getenv("SEED"), *many = getenv("MUTATIONS");
	uint64_t seed = from ? strtoull(from, NULL, 10) : 0;
	uint64_t end = seed + (many ? strtoull(many, NULL, 10) : MUTATIONS);

	for (; seed < end; seed++)
		try_mutation(seed);
	print_message("whole %u, an earlier state %u, told by verify %u, "
		      "refused %u\n", whole, prefixes, told, refused);
	assert_true(whole && prefixes && told && refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_damaged_store_is_whole_or_says_that_it_is_not, setup,
			teardown),
	};

	folder_in_memory();
	return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
