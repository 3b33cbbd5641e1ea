/* Compiler vocabulary shared by every module. */
#ifndef BASE_DEFS_H
#define BASE_DEFS_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MUST_CHECK   __attribute__((warn_unused_result))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define UNUSED	     __attribute__((unused))

/* Released when the variable leaves scope. */
#define AUTO_FREE  __attribute__((cleanup(auto_free_)))
#define AUTO_CLOSE __attribute__((cleanup(auto_close_)))

static inline void auto_free_(void *p)
{
	free(*(void **)p);
}

static inline void auto_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
