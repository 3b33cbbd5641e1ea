/* A limit of the process, or of who runs it, is met like a full disk. */
#include "../support/gateway_steps.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define EFFECTS	   "SELECT count(*) FROM effect"
#define FILE_BYTES ((rlim_t)2 << 20)
#define EVENTS	   400

static int setup(void **state UNUSED)
{
	g = gateway_new(&(struct gateway_options){
		.groups = GROUP, .schema = EFFECT, .handler = REFUSE_BAD,
		.broker = "reconnect_max = 1s\n" });
	return 0;
}

/* With files of at most so many bytes. */
static void start_limited(rlim_t bytes)
{
	struct rlimit r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){
		bytes, r.rlim_max }), 0);
	gateway_start(g, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void publish_large(void)
{
	static char text[EVENTS][5000];
	const char *list[EVENTS];

	for (int i = 0; i < EVENTS; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"e%d\",\"x\":\"%04900d\"}", i, i);
		list[i] = text[i];
	}
	gateway_publish(g, "t", list, EVENTS);
}

/* RLIMIT_FSIZE, whose signal kills who does not expect it. */
static void a_file_that_may_not_grow_stops_ingest_and_loses_nothing(
	void **state UNUSED)
{
	start_limited(FILE_BYTES);
	gateway_wait_log(g, "link.up", 1, 20000);
	publish_large();
	gateway_wait_log(g, "ingest.stopped", 1, 20000);
	assert_false(gateway_ended(g));
	assert_true(gateway_int(g, EFFECTS) < EVENTS);
	says("status", 0, "the disk is full");
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	gateway_up(g);
	gateway_wait(g, EFFECTS, EVENTS, 20000);
	assert_int_equal(gateway_int(g, "SELECT count(DISTINCT id)"
					" FROM effect"), EVENTS);
	assert_int_equal(count("effect"), EVENTS);
	says("store verify", 0, "ok\n");
}

/* Not even a new store fits. */
static void a_store_that_cannot_be_made_leaves_nothing_behind(
	void **state UNUSED)
{
	char path[128];

	start_limited(40 << 10);
	assert_in_range(gateway_wait_end(g, 20000), 73, 74);
	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(gateway_logged(g, "/store/s.db"), 1);
	gateway_up(g);
	publish("{\"id\":\"a\"}");
	gateway_wait(g, EFFECTS, 1, 10000);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_file_that_may_not_grow_stops_ingest_and_loses_nothing),
		T(a_store_that_cannot_be_made_leaves_nothing_behind),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
