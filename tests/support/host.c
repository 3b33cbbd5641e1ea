#include "host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_MS	  10000
#define LISTEN_MS 5000
#define LOOK_MS	  5

void must(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(EXIT_FAILURE);
}

void sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

pid_t process_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	must(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it ended before that */
		_exit(126);
	return 0;
}

void process_become(char *const argv[])
{
	const char *path = getenv("PATH");
	char more[4096];

	/* A user's PATH lacks the broker. */
	snprintf(more, sizeof(more), "%s:/usr/local/sbin:/usr/sbin:/sbin",
		 path ? path : "/usr/bin:/bin");
	setenv("PATH", more, 1);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

pid_t process_start(char *const argv[], const char *log, const char *env)
{
	pid_t pid = process_fork();
	int fd;

	if (pid)
		return pid;
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0)
		_exit(126);
	if (env)
		putenv(strdup(env));
	process_become(argv);
}

bool process_runs(pid_t pid)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

bool process_wait(pid_t pid, int limit_ms, int *ret_status)
{
	int status;

	for (int ms = 0; process_runs(pid); ms += LOOK_MS) {
		if (ms >= limit_ms)
			return false;
		sleep_ms(LOOK_MS);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	*ret_status =
		WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	return true;
}

void process_stop(pid_t pid, int signal)
{
	int status;

	kill(pid, signal);
	if (process_wait(pid, STOP_MS, &status))
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* With @port 0, any that is free. */
static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int bind_any(int *ret_port)
{
	struct sockaddr_in sa = loopback(0);
	socklen_t len = sizeof(sa);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 &&
		     !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one,
				 sizeof(one)) &&
		     !bind(fd, (struct sockaddr *)&sa, sizeof(sa)) &&
		     !getsockname(fd, (struct sockaddr *)&sa, &len),
	     "no free port: %s", strerror(errno));
	*ret_port = ntohs(sa.sin_port);
	return fd;
}

/* The descriptor stays open, so that the kernel gives the port to no other. */
int port_reserve(void)
{
	int port;

	(void)bind_any(&port);
	return port;
}

int port_listen(int *ret_fd)
{
	int port, fd = bind_any(&port);

	must(!listen(fd, 16), "listen: %s", strerror(errno));
	*ret_fd = fd;
	return port;
}

static bool port_answers(int port)
{
	struct sockaddr_in sa = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = !connect(fd, (struct sockaddr *)&sa, sizeof(sa));

	close(fd);
	return ok;
}

static bool wait_for_port(int port, pid_t pid, int limit_ms)
{
	for (int ms = 0; ms < limit_ms && process_runs(pid); ms += LOOK_MS) {
		if (port_answers(port))
			return true;
		sleep_ms(LOOK_MS);
	}
	return false;
}

bool mosquitto_start(const char *dir, int port, pid_t *ret_pid)
{
	char conf[600], log[600];
	char *argv[] = { (char[]){ "mosquitto" }, (char[]){ "-c" }, conf,
			 NULL };

	snprintf(conf, sizeof(conf), "%s/mosquitto.conf", dir);
	snprintf(log, sizeof(log), "%s/mosquitto.log", dir);
	*ret_pid = process_start(argv, log, NULL);
	return wait_for_port(port, *ret_pid, LISTEN_MS);
}

bool broker_script_start(const char *script, const char *dir, int port,
			 pid_t *ret_pid)
{
	char file[600], folder[600], number[16], log[600];
	char *argv[] = { (char[]){ "sh" }, file, number, folder, NULL };

	snprintf(file, sizeof(file), "%s", script);
	snprintf(folder, sizeof(folder), "%s", dir);
	snprintf(number, sizeof(number), "%d", port);
	snprintf(log, sizeof(log), "%s/broker.log", dir);
	*ret_pid = process_start(argv, log, NULL);
	return wait_for_port(port, *ret_pid, 60000);
}

void folder_temp(char ret_dir[FOLDER_SIZE])
{
	const char *in = getenv("TMPDIR");

	snprintf(ret_dir, FOLDER_SIZE, "%s/mqonce-test-XXXXXX",
		 in && strlen(in) < 32 ? in : "/tmp");
	must(mkdtemp(ret_dir), "%s: %s", ret_dir, strerror(errno));
}

void folder_in_memory(void)
{
	if (!access("/dev/shm", W_OK))
		setenv("TMPDIR", "/dev/shm", 0);
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

void file_put(const char *dir, const char *name, const char *fmt, ...)
{
	char path[1024], draft[1024];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(draft, sizeof(draft), "%s/%s.new", dir, name);
	f = fopen(draft, "we");
	must(f, "%s: %s", draft, strerror(errno));
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	must(!fclose(f) && !rename(draft, path), "%s: %s", path,
	     strerror(errno));
}
