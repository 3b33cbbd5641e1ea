/*
 * What tests and the benchmark need of the machine: processes, ports, folders
 * and a broker.  What fails here ends the program, and its children with it.
 */
#ifndef TESTS_HOST_H
#define TESTS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/defs.h"

/* Says what failed, and exits. */
void must(bool ok, const char *fmt, ...) PRINTF(2, 3);

void sleep_ms(int ms);

/* fork(2), for a child that is killed when its parent ends. */
pid_t process_fork(void);

/* In the child: becomes argv[0], found in PATH or sbin, or exits with 127. */
_Noreturn void process_become(char *const argv[]);

/*
 * Starts argv[0]; its output is appended to @log.  @env: one "NAME=VALUE"
 * more, or NULL.
 */
pid_t process_start(char *const argv[], const char *log, const char *env);
bool process_runs(pid_t pid);

/*
 * Whether it ends within @limit_ms (0: has ended); if so it is reaped, and
 * *ret_status is its exit status, or -signal.
 */
bool process_wait(pid_t pid, int limit_ms, int *ret_status);

/* Sends @signal, insists after 10 s, and waits for its end. */
void process_stop(pid_t pid, int signal);

/*
 * A port of the loopback that nobody else is given while the program runs;
 * who listens on it needs SO_REUSEADDR, as mosquitto sets it.
 */
int port_reserve(void);

/* A port on which *ret_fd, the caller's, listens and nobody accepts. */
int port_listen(int *ret_fd);

/* A new empty folder below $TMPDIR, or /tmp. */
#define FOLDER_SIZE 64
void folder_temp(char ret_dir[FOLDER_SIZE]);

/* For tests that need no real disk: all folders from now on. */
void folder_in_memory(void);

/* Empty, whatever was there before. */
void folder_make(const char *dir);
void folder_remove(const char *dir);

/* Puts the text in place of the file @name of @dir, whole or not at all. */
void file_put(const char *dir, const char *name, const char *fmt, ...)
	PRINTF(3, 4);

/*
 * Starts mosquitto on the file mosquitto.conf of @dir, with its output in
 * mosquitto.log there.  False if it ends, or does not listen on @port of the
 * loopback after 5 s; *ret_pid is to be stopped in any case.
 */
MUST_CHECK bool mosquitto_start(const char *dir, int port, pid_t *ret_pid);

/*
 * The same with the program `sh @script PORT FOLDER`, which is or becomes some
 * other broker; it has a minute.
 */
MUST_CHECK bool broker_script_start(const char *script, const char *dir,
				    int port, pid_t *ret_pid);

#endif
