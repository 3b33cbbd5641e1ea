/* The end of a run: what is wrong, and the seed that shows it again. */
#ifndef TESTS_SIM_FAIL_H
#define TESTS_SIM_FAIL_H

#include "base/defs.h"

_Noreturn void sim_fail(const char *fmt, ...) PRINTF(1, 2);

#endif
