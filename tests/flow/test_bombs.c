/*
 * Handlers that are made to hurt: each is bounded in time, memory and disk,
 * fails alone, and leaves the schema and its neighbours as they were.
 */
#include "../support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../support/test.h"

#define TABLES								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"	\
	"CREATE TABLE big (x);"						\
	"CREATE TABLE parent (id INTEGER PRIMARY KEY);"			\
	"CREATE TABLE child (p INTEGER REFERENCES parent"		\
	" DEFERRABLE INITIALLY DEFERRED);"				\
	"CREATE TABLE quiet (x);"					\
	"CREATE TRIGGER q BEFORE INSERT ON quiet BEGIN"			\
	" SELECT RAISE(IGNORE); END;"					\
	"CREATE TABLE loud (x);"					\
	"CREATE TRIGGER l BEFORE INSERT ON loud BEGIN"			\
	" SELECT RAISE(ROLLBACK, 'no'); END;"				\
	"CREATE TABLE again (x);"					\
	"CREATE TRIGGER a AFTER INSERT ON again BEGIN"			\
	" INSERT INTO again SELECT NEW.x + 1; END;"			\
	"CREATE VIEW v AS SELECT 1 AS x;"				\
	"CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN"		\
	" SELECT RAISE(ABORT, 'no'); END;"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\ntimeout = 50ms\n"
#define EFFECT	"INSERT INTO effect (id) VALUES (:event_id);"
#define BOMB	" WHERE :payload ->> 'id' = 'bomb'"
#define N(n)	#n " * (:payload ->> 'id' = 'bomb')"
#define ENDLESS								\
	"WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r" BOMB ")"
#define MUCH	((int64_t)64 << 20)

static const char *const bombs[] = {
	ENDLESS " SELECT count(*) FROM r" BOMB ";",
	ENDLESS " INSERT INTO big SELECT i FROM r" BOMB ";",
	ENDLESS " INSERT INTO big SELECT randomblob(100000) FROM r" BOMB ";",
	ENDLESS " SELECT group_concat(i) FROM r" BOMB ";",
	ENDLESS " SELECT json_group_array(i) FROM r" BOMB ";",
	ENDLESS " SELECT max(r.i) FROM r, r AS s" BOMB ";",
	ENDLESS " SELECT i FROM r" BOMB " ORDER BY i DESC;",
	ENDLESS " SELECT DISTINCT i FROM r" BOMB ";",
	ENDLESS " UPDATE effect SET n = n + (SELECT count(*) FROM r)" BOMB ";",
	ENDLESS " DELETE FROM effect WHERE n = (SELECT count(*) FROM r)"
		" AND :payload ->> 'id' = 'bomb';",
	"WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r" BOMB ")"
	" SELECT count(*) FROM r" BOMB ";",
	"SELECT randomblob(" N(1000000000) ");",
	"SELECT zeroblob(" N(2000000000) ");",
	"INSERT INTO big SELECT zeroblob(" N(900000000) ")" BOMB ";",
	"SELECT hex(randomblob(" N(500000000) "));",
	"SELECT replace(hex(zeroblob(" N(900000) ")), '0',"
	" hex(zeroblob(900000)));",
	/*
	 * One call of a function cannot be stopped: a hundred times this takes
	 * SQLite 3.40 18 s.  SQLITE_PRINTF_PRECISION_LIMIT bounds it.
	 */
	"SELECT printf('%.*c', " N(20000000) ", 'x'); SELECT reject('r')" BOMB
	";",
	"SELECT printf('%*d', " N(2000000000) ", 1);"
	"SELECT reject('r')" BOMB ";",
	"SELECT 'x' LIKE printf('%.*c', " N(900000) ", '%');",
	"SELECT printf('%.*c', " N(400000) ", 'a')"
	" LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%b'; SELECT reject('r')" BOMB ";",
	"SELECT printf('%.*c', " N(3000) ", 'a')"
	" GLOB '*a*a*a*a*a*a*a*a*a*a*a*b'; SELECT reject('r')" BOMB ";",
	"SELECT quote(zeroblob(" N(600000000) "));",
	"SELECT json_extract(replace(hex(zeroblob(" N(400000) ")), '00', '[')"
	" || '1', '$');",
	"SELECT count(*) FROM json_each('[' || replace(hex(zeroblob("
	N(400000) ")), '0', '1,') || '1]') AS a,"
	" json_each('[1,2,3,4,5,6,7,8,9]'), effect, effect AS e2,"
	" effect AS e3, effect AS e4" BOMB ";",
	"SELECT abs(-9223372036854775807 - (:payload ->> 'id' = 'bomb'));",
	"SELECT sum(9223372036854775807) FROM (SELECT 1 UNION ALL SELECT 2)"
	BOMB ";",
	"INSERT INTO child SELECT 999" BOMB ";",
	"INSERT OR ROLLBACK INTO effect SELECT 1, 'x' FROM effect" BOMB ";"
	"INSERT OR ROLLBACK INTO effect SELECT min(n), 'x' FROM effect" BOMB
	" HAVING min(n);",
	"INSERT INTO loud SELECT 1" BOMB ";",
	"INSERT INTO v SELECT 1" BOMB ";",
	"INSERT INTO again SELECT 1" BOMB ";" ENDLESS
	" SELECT count(*) FROM r" BOMB ";",
	"SELECT reject(printf('%.*c', " N(900000) ", 'x'))" BOMB ";",
	"SELECT retry(zeroblob(" N(900000) "))" BOMB ";",
	"SELECT poison(NULL)" BOMB ";",
	"SELECT topic(9223372036854775807)" BOMB "; SELECT reject('r')" BOMB
	";",
	"SELECT property(zeroblob(900000)); SELECT reject('r')" BOMB ";",
	"SELECT (:payload || :payload) ->> '$.x'" BOMB "; SELECT reject('r')"
	BOMB ";",
	"INSERT INTO effect (n) SELECT 'text'" BOMB ";",
	"INSERT INTO effect (n) SELECT n FROM effect" BOMB ";",
	"UPDATE effect SET n = 1" BOMB "; SELECT reject('r')" BOMB ";",
};

static struct rig *r;
static char handler[4096];

static int setup(void **state UNUSED)
{
	r = rig_new(TABLES, EFFECT, GROUP);
	return 0;
}

static int teardown(void **state UNUSED)
{
	rig_free(r);
	return 0;
}

static int64_t peak_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (int64_t)u.ru_maxrss * 1024;
}

/* Changes with anything that is made, dropped or altered. */
static void schema_text(char *buf, size_t size)
{
	snprintf(buf, size, "%lld",
		 (long long)rig_int(r, "SELECT sum(length(sql)) + count(*) * 1000"
				       " + (SELECT schema_version FROM"
				       " pragma_schema_version) * 1000000"
				       " FROM sqlite_master"));
}

static void use(const char *text)
{
	snprintf(handler, sizeof(handler), "%s\n%s\n", EFFECT, text);
	rig_stop(r);
	rig_set_handler(r, handler);
	rig_start(r);
}

/* An innocent one on either side; both are done, at the first attempt. */
static void set_off(unsigned i)
{
	static char text[3][64];
	int64_t before = rig_int(r, "SELECT count(*) FROM effect");

	use(bombs[i]);
	snprintf(text[0], sizeof(text[0]), "{\"id\":\"a%u\"}", i);
	snprintf(text[1], sizeof(text[1]), "{\"id\":\"bomb\",\"n\":%u}", i);
	snprintf(text[2], sizeof(text[2]), "{\"id\":\"z%u\"}", i);
	for (int k = 0; k < 3; k++)
		rig_publish("t", text[k]);
	rig_drain(r);
	if (rig_int(r, "SELECT count(*) FROM effect") != before + 2)
		fail_msg("neighbours of %s", bombs[i]);
	if (rig_int(r, "SELECT count(*) FROM effect WHERE id = 'bomb'"))
		fail_msg("its effect stands: %s", bombs[i]);
	if (rig_int(r, "SELECT (SELECT count(*) FROM once_pending)"
		       " + (SELECT count(*) FROM once_dead_letter)") != 1)
		fail_msg("not in one place: %s", bombs[i]);
	if (rig_int(r, "SELECT count(*) FROM big"))
		fail_msg("it left something: %s", bombs[i]);
	/* The next bomb has the same id. */
	rig_exec(r, "DELETE FROM once_attempt; DELETE FROM once_pending;"
		    "DELETE FROM once_dead_letter");
}

static void every_bomb_fails_alone_and_is_bounded(void **state UNUSED)
{
	char before[64], after[64];
	int64_t peak;

	schema_text(before, sizeof(before));
	set_off(0);
	peak = peak_bytes();
	for (unsigned i = 1; i < ARRAY_LEN(bombs); i++)
		set_off(i);
	schema_text(after, sizeof(after));
	assert_string_equal(before, after);
	assert_true(peak_bytes() - peak < MUCH);
}

/* What drops rows silently is the operator's own trigger: no failure. */
static void a_trigger_that_ignores_is_obeyed(void **state UNUSED)
{
	use("INSERT INTO quiet VALUES (1);");
	rig_publish("t", "{\"id\":\"a\"}");
	rig_drain(r);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM effect"), 1);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM quiet"), 0);
}

#define RANDOM_EVENTS	100000
#define ROUND		10000

/* Bytes of all kinds, with a bias towards what SQL and JSON are made of. */
static size_t noise(char *buf, size_t max, uint32_t *seed, bool topic)
{
	static const char likes[] = "';--\"{}[]:,()%_\\ DROP TABLE once_;\n1e9";
	size_t n;

	*seed = *seed * 1664525 + 1013904223;
	n = (*seed >> 16) % max + 1;
	for (size_t i = 0; i < n; i++) {
		*seed = *seed * 1664525 + 1013904223;
		buf[i] = *seed >> 31 ? likes[(*seed >> 16) %
					     (sizeof(likes) - 1)]
				     : (char)(*seed >> 16);
		if (topic && (!buf[i] || strchr("+#", buf[i]) || buf[i] < 0))
			buf[i] = '/';
	}
	return n;
}

static void random_payloads_and_topics_change_no_schema(void **state UNUSED)
{
	static char text[ROUND][2][48];
	char before[64], after[64];
	uint32_t seed = 7;

	rig_configure(r, "[group g]\nsubscribe = #\nid = hash\n"
			 "handler = sql:@H\nredelivery_horizon = 3h\n"
			 "ttl = 24h\nformat = raw\n");
	use("INSERT INTO quiet VALUES (:payload || :topic);");
	schema_text(before, sizeof(before));
	for (int n = 0; n < RANDOM_EVENTS; n += ROUND) {
		for (int i = 0; i < ROUND; i++) {
			struct event ev = { .qos = 1 };

			ev.topic = span_of(text[i][0],
					   noise(text[i][0], 48, &seed, true));
			ev.payload = span_of(text[i][1], noise(text[i][1], 48,
							       &seed, false));
			ev.payload_bytes = ev.payload.len;
			fake_publish(&ev);
		}
		rig_drain(r);
		fake_broker_reset();
	}
	schema_text(after, sizeof(after));
	assert_string_equal(before, after);
	assert_true(rig_int(r, "SELECT count(*) FROM effect") >
		    RANDOM_EVENTS * 9 / 10);
	assert_int_equal(rig_int(r, "SELECT count(*) FROM once_dead_letter"),
			 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(every_bomb_fails_alone_and_is_bounded),
		T(a_trigger_that_ignores_is_obeyed),
		T(random_payloads_and_topics_change_no_schema),
	};

	return cmocka_run_group_tests_name("bombs", tests, NULL, NULL);
}
