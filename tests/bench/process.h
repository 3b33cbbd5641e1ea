/* What the benchmark needs of the system; what fails ends it. */
#ifndef TESTS_BENCH_PROCESS_H
#define TESTS_BENCH_PROCESS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Says what failed, and exits; children end with their parent. */
void must(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int64_t now_us(void);
void sleep_ms(int ms);

/* Starts argv[0], found in PATH or sbin; its output goes to @log. */
pid_t process_start(char *const argv[], const char *log);
bool process_runs(pid_t pid);

/* Asks it to end, insists after 5 s, and waits for it. */
void process_stop(pid_t pid);

int64_t process_cpu_us(pid_t pid);

/* A line of /proc/PID/status in KiB. */
int64_t process_kib(pid_t pid, const char *name);

/* Writes @text to dir/name. */
void file_put(const char *dir, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void folder_make(const char *dir);
void folder_remove(const char *dir);

#endif
