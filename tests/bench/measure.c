#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/host.h"

static int64_t read_us(clockid_t clock)
{
	struct timespec ts;

	must(!clock_gettime(clock, &ts), "clock: %s", strerror(errno));
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t now_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t measure_cpu_us(pid_t pid)
{
	clockid_t clock;

	must(!clock_getcpuclockid(pid, &clock), "CPU time of %d", (int)pid);
	return read_us(clock);
}

int64_t measure_kib(pid_t pid, const char *name)
{
	char path[64], line[256];
	long long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	must(f, "%s: %s", path, strerror(errno));
	while (v < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			v = atoll(line + strlen(name) + 1);
	fclose(f);
	must(v >= 0, "%s has no %s", path, name);
	return v;
}
