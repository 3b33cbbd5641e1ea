/*
 * Named points at which a build for tests kills itself: CRASH_AT=NAME, or
 * CRASH_AT=NAME:N for the Nth time it is reached.  CRASH_AT=NAME:N:TERM sends
 * itself SIGTERM there instead.  Nothing in other builds.
 */
#ifndef BASE_CRASH_H
#define BASE_CRASH_H

#ifdef CRASH_POINTS
void crash_point(const char *name);
#else
static inline void crash_point(const char *name)
{
	(void)name;
}
#endif

#endif
