/* A clock that stands still until a test moves it. */
#ifndef TESTS_FAKE_CLOCK_H
#define TESTS_FAKE_CLOCK_H

#include <stdint.h>

struct fake_clock {
	int64_t boot_ms, wall_ms;
	int64_t step_ms; /* passes at each look at the boot clock */
	const char *boot_id;
};

extern struct fake_clock fake_clock;

#endif
