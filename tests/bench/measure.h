/* What a process has cost so far, and the time; what fails ends the benchmark.
 */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H

#include <stdint.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in microseconds. */
int64_t now_us(void);

/* CPU time of all its threads, in microseconds. */
int64_t measure_cpu_us(pid_t pid);

/* The line @name of /proc/PID/status, in KiB. */
int64_t measure_kib(pid_t pid, const char *name);

#endif
