#include "fake_clock.h"

#include <stdio.h>

#include "base/clock.h"

struct fake_clock fake_clock = {
	.boot_ms = 1000,
	.wall_ms = 1800000000000,
	.boot_id = "boot-1",
};

int64_t clock_boot_ms(void)
{
	fake_clock.boot_ms += fake_clock.step_ms;
	return fake_clock.boot_ms;
}

int64_t clock_wall_ms(void)
{
	return fake_clock.wall_ms;
}

bool clock_synchronised(void)
{
	return true;
}

void clock_boot_id(char ret_id[CLOCK_BOOT_ID_SIZE])
{
	snprintf(ret_id, CLOCK_BOOT_ID_SIZE, "%s", fake_clock.boot_id);
}

const char *clock_iso(char buf[CLOCK_ISO_SIZE], int64_t wall_ms, bool utc)
{
	(void)utc;
	snprintf(buf, CLOCK_ISO_SIZE, "%lld", (long long)wall_ms);
	return buf;
}
