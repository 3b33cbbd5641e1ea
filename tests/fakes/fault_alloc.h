/*
 * SQLite's allocator in a test process, made to refuse: the Nth request from
 * now, once or from then on.
 */
#ifndef TESTS_FAULT_ALLOC_H
#define TESTS_FAULT_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* Before anything else of SQLite is used. */
void fault_alloc_install(void);

/* @nth 0: none fails. */
void fault_alloc_fail(uint64_t nth, bool onwards);

/* Requests that were refused since the last fault_alloc_fail(). */
uint64_t fault_alloc_failed(void);

#endif
