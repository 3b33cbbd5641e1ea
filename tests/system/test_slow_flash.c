/* A flash that takes a tenth of a second for each sync. */
#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/hostile.h"

#define SYNC_MS "100"
#define RATE	500 /* events a second */
#define EVENTS	1200
#define WINDOW	40 /* of the broker: 400 a second at most */
#define TICK_MS 20
#define FLAT_KB 2048

static struct hostile *h;
static char count_file[64];

static int teardown(void **state UNUSED)
{
	unsetenv("SLOW_SYNC_MS");
	unsetenv("SLOW_SYNC_COUNT");
	unlink(count_file);
	hostile_free(h);
	return 0;
}

static void publish_at_rate(unsigned from, unsigned n)
{
	const unsigned each = RATE * TICK_MS / 1000;

	for (unsigned i = 0; i < n; i += each) {
		hostile_publish(h, from + i, each);
		sleep_ms(TICK_MS);
	}
}

static long syncs(void)
{
	struct stat sb;

	return stat(count_file, &sb) ? 0 : sb.st_size;
}

static void a_slow_flash_makes_batches_grow_to_the_window(void **state UNUSED)
{
	long before, synced;

	snprintf(count_file, sizeof(count_file), "/tmp/mqonce-syncs-%d",
		 (int)getpid());
	setenv("SLOW_SYNC_COUNT", count_file, 1);
	setenv("SLOW_SYNC_MS", SYNC_MS, 1);
	h = hostile_new(&(struct hostile_options){ 0 });
	broker_set_window(h->b, WINDOW);
	hostile_start_slow(h);
	assert_true(broker_wait(h->b, BROKER_SUBSCRIBE, 1, HOSTILE_MS));
	synced = syncs();
	publish_at_rate(0, EVENTS / 2);
	before = hostile_rss_kb(h);
	publish_at_rate(EVENTS / 2, EVENTS / 2);
	assert_true(broker_wait(h->b, BROKER_PUBACK, EVENTS, HOSTILE_MS));
	hostile_wait_effects(h, EVENTS);
	synced = syncs() - synced;
	print_message("%u events, %ld syncs; %ld kB, %ld kB\n", EVENTS, synced,
		      before, hostile_rss_kb(h));
	/* The broker bounds a batch from above. */
	assert_true(synced < EVENTS / (WINDOW / 2));
	assert_true(hostile_rss_kb(h) - before < FLAT_KB);
	assert_int_equal(broker_count(h->b, BROKER_CONNECTIONS), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			a_slow_flash_makes_batches_grow_to_the_window,
			teardown),
	};

	return cmocka_run_group_tests_name("slow flash", tests, NULL, NULL);
}
