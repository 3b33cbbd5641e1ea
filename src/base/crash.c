#include "base/crash.h"

#ifdef CRASH_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>

void crash_point(const char *name)
{
	static unsigned reached;
	const char *at = getenv("CRASH_AT");
	size_t n = strlen(name);

	if (!at || strncmp(at, name, n) || (at[n] && at[n] != ':'))
		return;
	if (++reached < (at[n] ? strtoul(at + n + 1, NULL, 10) : 1))
		return;
	raise(SIGKILL);
}

#endif
