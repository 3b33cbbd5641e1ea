/* What a replay says before it runs, and what it leaves out. */
#include "../support/gateway_steps.h"

#include <unistd.h>

#define GUARDED(more)							\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"order_key = payload:$.thing\norder_by = payload:$.v\n" more	\
	"redelivery_horizon = 3h\nttl = 24h\n"
#define PLAIN								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

static void up(const char *groups)
{
	g = gateway_new(&(struct gateway_options){
		.groups = groups, .schema = EFFECT, .handler = REFUSE_BAD });
	gateway_up(g);
}

static int setup(void **state UNUSED)
{
	up(PLAIN);
	return 0;
}

static int setup_guarded(void **state UNUSED)
{
	up(GUARDED(""));
	return 0;
}

static int setup_burying(void **state UNUSED)
{
	up(GUARDED("stale = bury\n"));
	return 0;
}

/* Two letters older than their thing's last value, one newer. */
static void overtake(void)
{
	publish("{\"id\":\"a\",\"thing\":\"x\",\"v\":9,\"k\":\"bad\"}");
	publish("{\"id\":\"b\",\"thing\":\"x\",\"v\":11,\"k\":\"bad\"}");
	publish("{\"id\":\"c\",\"thing\":\"y\",\"v\":1,\"k\":\"bad\"}");
	publish("{\"id\":\"d\",\"v\":1,\"k\":\"bad\"}");
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 4, 10000);
	publish("{\"id\":\"mend\",\"thing\":\"m\",\"v\":1}");
	publish("{\"id\":\"n\",\"thing\":\"x\",\"v\":10}");
	publish("{\"id\":\"o\",\"thing\":\"y\",\"v\":2}");
	gateway_wait(g, "SELECT count(*) FROM effect", 3, 10000);
}

static void what_the_order_guard_would_skip_is_in_the_plan(void **state UNUSED)
{
	overtake();
	says("dead replay --all --dry-run", 0, "would replay 4\n2 of them are "
	     "older than the last value of their order key");
	says("dead replay --all --dry-run --ndjson", 0, "{\"matched\":4,"
	     "\"skipped\":0,\"in_job\":0,\"stale\":2}\n");
	says("dead replay 2 --dry-run --json", 0, "[\n{\"matched\":1,"
	     "\"skipped\":0,\"in_job\":0,\"stale\":0}\n]\n");
	/* A mended payload is what is compared. */
	gateway_file(g, "m.json", "{\"id\":\"a\",\"thing\":\"x\",\"v\":12}");
	{
		char args[256];

		snprintf(args, sizeof(args), "dead replay 1 --dry-run --ndjson"
			 " --payload %s/m.json", g->dir);
		says(args, 0, "\"stale\":0}");
	}
	assert_int_equal(count("once_job"), 0);
	/* Without the daemon it is the same. */
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	says("dead replay --all --dry-run --ndjson", 0, "\"stale\":2}");
}

static void a_stale_replay_has_no_effect_and_ends_its_letter(void **state UNUSED)
{
	overtake();
	says("dead replay 1,3 --yes --wait", 0, "0 done, 0 failed, 2 suppressed");
	assert_int_equal(count("effect"), 3);
	assert_int_equal(count("once_dead_letter WHERE state = 'resolved'"), 2);
	says("dead replay 2 --yes --wait", 0, "1 done, 0 failed, 0 suppressed");
	assert_int_equal(count("effect WHERE id = 'b'"), 1);
	/* What the replay wrote is the last value now. */
	publish("{\"id\":\"p\",\"thing\":\"x\",\"v\":10.5}");
	gateway_wait(g, "SELECT count(*) FROM once_marker", 5, 10000);
	assert_int_equal(count("effect WHERE id = 'p'"), 0);
	says("store verify", 0, "ok\n");
}

static void where_stale_is_buried_the_letter_fails_again(void **state UNUSED)
{
	overtake();
	says("dead replay 1 --yes --wait", 1, "1 letters failed again");
	says("dead show 1", 0, "order.stale");
	assert_int_equal(count("effect"), 3);
}

static void a_replay_of_no_letter_makes_no_job(void **state UNUSED)
{
	says("dead replay --all --yes --wait", 0, "no letter matched\n");
	bury(3);
	says("dead replay --kind poison --yes", 0, "no letter matched\n");
	says("dead replay --kind poison", 0, "no letter matched\n");
	assert_int_equal(count("once_job"), 0);
	assert_int_equal(count("once_audit"), 0);
	says("group pause g", 0, "true");
	says("dead replay 1,2 --yes", 0, "job 1: 2 letters\n");
	/* One in flight, or waiting for it, is not open for another. */
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter"
			" WHERE state = 'replaying'", 2, 5000);
	says("dead replay --all --dry-run", 0, "would replay 1\n");
	assert_int_equal(count("once_job"), 1);
}

static void letters_left_out_are_told_of(void **state UNUSED)
{
	bury(3);
	says("dead replay 1,2 --rate 1 --stop-after 1 --yes --wait", 1,
	     "1 letters failed again");
	/* The job stopped at the first; the second waits in it. */
	says("dead replay 2 --yes", 0, "no letter is replayed, 1 left out: in "
	     "another open job");
	says("dead replay 2 --yes --ndjson", 0,
	     "{\"taken\":0,\"skipped\":1,\"in_job\":1}\n");
	says("dead replay --all --dry-run", 0, "would replay 2, 1 left out: in "
	     "another open job");
	assert_int_equal(count("once_job"), 1);
	mend();
	says("dead replay --all --max 2 --yes --ndjson", 0, "{\"job\":2,"
	     "\"taken\":2,\"skipped\":1,\"in_job\":1}\n");
}

int main(void)
{
#define T(f, s) cmocka_unit_test_setup_teardown(f, s, teardown)
	const struct CMUnitTest tests[] = {
		T(what_the_order_guard_would_skip_is_in_the_plan,
		  setup_guarded),
		T(a_stale_replay_has_no_effect_and_ends_its_letter,
		  setup_guarded),
		T(where_stale_is_buried_the_letter_fails_again, setup_burying),
		T(a_replay_of_no_letter_makes_no_job, setup),
		T(letters_left_out_are_told_of, setup),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
