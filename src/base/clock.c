#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "base/defs.h"

static int64_t read_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

int64_t clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

bool clock_synchronised(void)
{
	struct timex tx = { .modes = 0 };

	return adjtimex(&tx) >= 0 && !(tx.status & STA_UNSYNC);
}

void clock_boot_id(char ret_id[CLOCK_BOOT_ID_SIZE])
{
	AUTO_CLOSE int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret_id, CLOCK_BOOT_ID_SIZE - 1);

	ret_id[n > 0 ? n : 0] = '\0';
}

/* strftime(3) writes +0100, the extended format wants +01:00. */
static void put_colon(char *iso)
{
	size_t n = strlen(iso);

	if (n < 3 || iso[n - 1] == 'Z')
		return;
	memmove(iso + n - 1, iso + n - 2, 3);
	iso[n - 2] = ':';
}

const char *clock_iso(char buf[CLOCK_ISO_SIZE], int64_t wall_ms, bool utc)
{
	time_t t = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (!(utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)) ||
	    !strftime(buf, CLOCK_ISO_SIZE,
		      utc ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S%z", &tm))
		snprintf(buf, CLOCK_ISO_SIZE, "?");
	else
		put_colon(buf);
	return buf;
}
