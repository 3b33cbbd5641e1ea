#include "fault_alloc.h"

#include <sqlite3.h>
#include <stdlib.h>

static sqlite3_mem_methods real;
static uint64_t left, failed;
static bool always;

static bool refuse(void)
{
	if (!left && !(always && failed))
		return false;
	if (left && --left)
		return false;
	failed++;
	return true;
}

static void *on_malloc(int n)
{
	return refuse() ? NULL : real.xMalloc(n);
}

static void *on_realloc(void *p, int n)
{
	return refuse() ? NULL : real.xRealloc(p, n);
}

void fault_alloc_install(void)
{
	sqlite3_mem_methods m;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real))
		abort();
	m = real;
	m.xMalloc = on_malloc;
	m.xRealloc = on_realloc;
	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &m))
		abort();
}

void fault_alloc_fail(uint64_t nth, bool onwards)
{
	left = nth;
	failed = 0;
	always = onwards;
}

uint64_t fault_alloc_failed(void)
{
	return failed;
}
