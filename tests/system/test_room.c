/* Below the reserve of max_size: no event is taken, and work goes on. */
#include "../support/gateway_steps.h"

#include <sqlite3.h>
#include <unistd.h>

#define HANDLER(bad)							\
	"INSERT INTO effect (id) VALUES (:event_id);"			\
	"SELECT reject('broken') WHERE :payload ->> 'k' = '" bad "';"	\
	"SELECT retry('later') WHERE :payload ->> 'w' = '" bad "';"
#define CONF								\
	"[store]\npath = @D/store/s.db\nschema = @D/s.sql\nmax_size = 4M\n" \
	"[broker]\nurl = mqtt://127.0.0.1:@P\nclient_id = gw\n"		\
	"session_expiry = 1h\nreconnect_max = 1s\n"			\
	"[group g]\nsubscribe = t\nid = payload:$.id\n"			\
	"handler = sql:@D/h.sql\nredelivery_horizon = 3h\nttl = 24h\n"
#define LETTERS "SELECT count(*) FROM once_dead_letter"
#define EFFECTS "SELECT count(*) FROM effect"

static void set_handler(const char *sql)
{
	gateway_file(g, "h.sql", sql);
}

static int setup(void **state UNUSED)
{
	g = gateway_new(&(struct gateway_options){ .groups = "", .broker = "",
		.schema = EFFECT, .handler = HANDLER("bad") });
	gateway_file(g, "mqonce.conf", CONF);
	set_handler(HANDLER("bad"));
	gateway_up(g);
	return 0;
}

/* Letters of 5 KB until ingest stops; what is too much stays outside. */
static void fill_up(void)
{
	static char text[50][5000];
	const char *list[50];
	int n = 0;

	publish("{\"id\":\"w0\",\"w\":\"bad\"}");
	publish("{\"id\":\"w1\",\"w\":\"bad\"}");
	gateway_wait(g, "SELECT count(*) FROM once_pending", 2, 10000);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 50; i++, n++) {
			snprintf(text[i], sizeof(text[0]), "{\"id\":\"b%d\","
				 "\"k\":\"bad\",\"x\":\"%04900d\"}", n, n);
			list[i] = text[i];
		}
		gateway_publish(g, "t", list, 50);
		if (gateway_logged(g, "max_size is nearly reached"))
			return;
		sleep_ms(50);
	}
	gateway_wait_log(g, "max_size is nearly reached", 1, 5000);
}

static void write_store(const char *sql)
{
	char path[128];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void a_full_store_is_emptied_by_replays(void **state UNUSED)
{
	int64_t n;

	fill_up();
	sleep_ms(500);
	n = gateway_int(g, LETTERS);
	assert_true(n > 300);
	set_handler(HANDLER("mended"));
	kill(g->daemon, SIGHUP);
	gateway_wait_log(g, "max_size is nearly reached", 2, 10000);
	/* What waits is run, and then the letters are; nothing comes in. */
	gateway_wait(g, EFFECTS " WHERE id LIKE 'w%'", 2, 20000);
	says("dead replay --all --yes --wait", 0, "done, 0 failed");
	assert_int_equal(gateway_int(g, LETTERS " WHERE state = 'resolved'"),
			 n);
	assert_int_equal(gateway_int(g, EFFECTS), n + 2);
	assert_int_equal(gateway_logged(g, "ingest.open"), 0);
	says("status", 0, "max_size is nearly reached");
	says("store verify", 0, "ok\n");
	/* Two days later they are swept, and what stayed outside comes. */
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	write_store("UPDATE once_meta SET store_ms = store_ms + 172800000");
	publish("{\"id\":\"last\"}");
	gateway_start(g, NULL);
	gateway_wait(g, EFFECTS " WHERE id = 'last'", 1, 20000);
	assert_true(gateway_int(g, LETTERS) < n);
}

static void a_full_store_is_emptied_by_purging(void **state UNUSED)
{
	char args[96];

	fill_up();
	sleep_ms(500);
	publish("{\"id\":\"last\"}");
	for (int i = 0; i < 50 && !gateway_int(g, EFFECTS); i++) {
		says("dead discard --all --yes", 0, "discard: ");
		snprintf(args, sizeof(args), "dead purge --all --count %d "
			 "--yes", (int)gateway_int(g, LETTERS
						   " WHERE state = 'discarded'"));
		says(args, 0, "purge: ");
		sleep_ms(200);
	}
	gateway_wait(g, EFFECTS " WHERE id = 'last'", 1, 20000);
	says("store verify", 0, "ok\n");
}

/* An effect that is larger than the room there is costs no attempt. */
static void a_replay_that_finds_no_room_waits_and_is_not_failed(
	void **state UNUSED)
{
	fill_up();
	sleep_ms(500);
	set_handler("INSERT INTO effect (id, body) VALUES (:event_id,"
		    " printf('%.*c', 600000, 'x')), (:event_id,"
		    " printf('%.*c', 600000, 'y'));");
	kill(g->daemon, SIGHUP);
	gateway_wait_log(g, "max_size is nearly reached", 2, 10000);
	says("dead replay 1 --yes", 0, "job 1: 1 letters");
	sleep_ms(3000);
	says("job show 1", 0, "running");
	assert_int_equal(gateway_int(g, "SELECT failed FROM once_job"), 0);
	assert_int_equal(gateway_int(g, "SELECT count(*) FROM once_attempt"
		" WHERE key = (SELECT key FROM once_dead_letter"
		" WHERE id = 1)"), 1);
	set_handler(HANDLER("mended"));
	kill(g->daemon, SIGHUP);
	gateway_wait(g, "SELECT count(*) FROM once_job WHERE done = 1", 1,
		     20000);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_full_store_is_emptied_by_replays),
		T(a_full_store_is_emptied_by_purging),
		T(a_replay_that_finds_no_room_waits_and_is_not_failed),
	};

	return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
