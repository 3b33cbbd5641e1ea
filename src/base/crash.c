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
	unsigned nth = 1;
	char *end = NULL;

	if (!at || strncmp(at, name, n) || (at[n] && at[n] != ':'))
		return;
	if (at[n])
		nth = (unsigned)strtoul(at + n + 1, &end, 10);
	if (++reached < nth)
		return;
	if (!end || strcmp(end, ":TERM") != 0)
		raise(SIGKILL);
	else if (reached == nth)
		raise(SIGTERM);
}

#endif
