#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/defs.h"

#define STOP_MS 5000

void must(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "bench: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(EXIT_FAILURE);
}

static int64_t read_us(clockid_t clock)
{
	struct timespec ts;

	must(!clock_gettime(clock, &ts), "clock: %s", strerror(errno));
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t now_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

void sleep_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

static void become(char *const argv[], const char *log)
{
	const char *path = getenv("PATH");
	char more[4096];
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (fd < 0 || getppid() == 1)
		_exit(127);
	snprintf(more, sizeof(more), "%s:/usr/sbin:/sbin",
		 path ? path : "/usr/bin:/bin");
	setenv("PATH", more, 1); /* a user's lacks the broker */
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

pid_t process_start(char *const argv[], const char *log)
{
	pid_t pid = fork();

	must(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		become(argv, log);
	return pid;
}

bool process_runs(pid_t pid)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

void process_stop(pid_t pid)
{
	kill(pid, SIGTERM);
	for (int ms = 0; process_runs(pid) && ms < STOP_MS; ms += 5)
		sleep_ms(5);
	if (process_runs(pid))
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int64_t process_cpu_us(pid_t pid)
{
	clockid_t clock;

	must(!clock_getcpuclockid(pid, &clock), "CPU time of %d", (int)pid);
	return read_us(clock);
}

int64_t process_kib(pid_t pid, const char *name)
{
	char path[64], line[256];
	long long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	must(f, "%s: %s", path, strerror(errno));
	while (v < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			v = atoll(line + strlen(name) + 1);
	fclose(f);
	must(v >= 0, "%s has no %s", path, name);
	return v;
}

void file_put(const char *dir, const char *name, const char *fmt, ...)
{
	char path[1024];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	must(f, "%s: %s", path, strerror(errno));
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	must(!fclose(f), "%s: %s", path, strerror(errno));
}

static int remove_one(const char *path, const struct stat *sb UNUSED,
		      int type UNUSED, struct FTW *ftw UNUSED)
{
	return remove(path);
}

void folder_remove(const char *dir)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void folder_make(const char *dir)
{
	folder_remove(dir);
	must(!mkdir(dir, 0700), "%s: %s", dir, strerror(errno));
}
