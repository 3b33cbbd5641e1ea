/* A flash that takes a tenth of a second for each sync. */
#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile.h"

#define SYNC_MS "100"
#define RATE	500 /* events a second */
#define EVENTS	1200
#define WINDOW	40 /* of the broker: 400 a second at most */
#define TICK_MS 20
#define FLAT_KB 2048

static struct hostile *h;

static int teardown(void **state UNUSED)
{
	unsetenv("SLOW_SYNC_MS");
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

/* The most PUBACKs that left together, and how often some did. */
static unsigned largest_batch(unsigned *ret_batches)
{
	unsigned n = 0, largest = 0, batches = 0;
	struct broker_packet p;
	int64_t at_ms = 0;

	for (unsigned i = 0; broker_packet(h->b, BROKER_PUBACK, i, &p); i++) {
		if (p.at_ms - at_ms > TICK_MS) {
			batches++;
			n = 0;
		}
		at_ms = p.at_ms;
		if (++n > largest)
			largest = n;
	}
	*ret_batches = batches;
	return largest;
}

static void a_slow_flash_makes_batches_grow_to_the_window(void **state UNUSED)
{
	unsigned largest, batches;
	long before;

	setenv("SLOW_SYNC_MS", SYNC_MS, 1);
	h = hostile_new(&(struct hostile_options){ 0 });
	broker_set_window(h->b, WINDOW);
	hostile_start_slow(h);
	assert_true(broker_wait(h->b, BROKER_SUBSCRIBE, 1, HOSTILE_MS));
	publish_at_rate(0, EVENTS / 2);
	before = hostile_rss_kb(h);
	publish_at_rate(EVENTS / 2, EVENTS / 2);
	assert_true(broker_wait(h->b, BROKER_PUBACK, EVENTS, HOSTILE_MS));
	hostile_wait_effects(h, EVENTS);
	largest = largest_batch(&batches);
	print_message("%u events in %u batches, %u at most; %ld kB, %ld kB\n",
		      EVENTS, batches, largest, before, hostile_rss_kb(h));
	assert_int_equal(largest, WINDOW);
	assert_true(batches < EVENTS / (WINDOW / 2));
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
