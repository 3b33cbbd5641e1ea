#include "os/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"

/* A killed child is gone within this time, or the kernel holds it. */
#define REAP_MS 100

#define CHILD_PIPE   3
#define CHILD_FD_MAX 65536

/* What the child writes: less than PIPE_BUF, so it arrives whole. */
struct answer {
	int gai, err_no;
	unsigned len;
	char host[RESOLVE_MAX][RESOLVE_HOST_SIZE];
};

struct resolve {
	char name[256];
	uint16_t port;
	bool numeric;
	pid_t pid; /* 0: none */
	int fd;
	int limit_ms;
	int64_t end_ms; /* clock_boot_ms() */
};

static void answer_list(struct answer *a, const struct addrinfo *list)
{
	for (; list && a->len < RESOLVE_MAX; list = list->ai_next)
		if (!getnameinfo(list->ai_addr, list->ai_addrlen,
				 a->host[a->len], RESOLVE_HOST_SIZE, NULL, 0,
				 NI_NUMERICHOST))
			a->len++;
}

/* Descriptors 0 to 2 point nowhere, CHILD_PIPE is @pipe_fd, no others. */
static void keep_only(int pipe_fd)
{
	struct rlimit limit = { .rlim_cur = CHILD_FD_MAX };
	int null = open("/dev/null", O_RDWR);

	if (pipe_fd != CHILD_PIPE)
		dup2(pipe_fd, CHILD_PIPE);
	for (int fd = 0; fd < CHILD_PIPE; fd++)
		dup2(null, fd);
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, CHILD_PIPE + 1, ~0U, 0))
		return;
#endif
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = CHILD_PIPE + 1;
	     fd < CHILD_FD_MAX && (rlim_t)fd < limit.rlim_cur; fd++)
		close(fd);
}

/* The parent's blocked signals would make the child deaf to its own end. */
static void set_signals(unsigned seconds)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGTERM, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(seconds);
}

static _Noreturn void child(const struct resolve *r, int pipe_fd)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct answer a = { 0 };

	set_signals((unsigned)(r->limit_ms / 1000) + 1);
	keep_only(pipe_fd);
	a.gai = getaddrinfo(r->name, NULL, &hints, &list);
	a.err_no = errno;
	if (!a.gai)
		answer_list(&a, list);
	_exit(write(CHILD_PIPE, &a, sizeof(a)) != sizeof(a));
}

static enum err start_child(struct resolve *r, struct err_detail *why)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return err_say(why, ERR_LINK, "cannot resolve \"%s\": pipe: %s",
			       r->name, err_system(errno));
	r->pid = fork();
	if (!r->pid)
		child(r, fds[1]);
	close(fds[1]);
	r->fd = fds[0];
	if (r->pid > 0)
		return OK;
	r->pid = 0;
	return err_say(why, ERR_LINK, "cannot resolve \"%s\": fork: %s",
		       r->name, err_system(errno));
}

static bool is_number(const char *host)
{
	struct in6_addr any;

	return inet_pton(AF_INET, host, &any) == 1 ||
	       inet_pton(AF_INET6, host, &any) == 1;
}

enum err resolve_start(const char *host, uint16_t port, int limit_ms,
		       struct resolve **ret_r, struct err_detail *why)
{
	struct resolve *r;
	enum err e = OK;

	if (strlen(host) >= sizeof(r->name))
		return err_say(why, ERR_LINK,
			       "cannot resolve a name of %zu bytes: check the "
			       "host in url",
			       strlen(host));
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	snprintf(r->name, sizeof(r->name), "%s", host);
	r->port = port;
	r->fd = -1;
	r->limit_ms = limit_ms;
	r->end_ms = clock_boot_ms() + limit_ms;
	r->numeric = is_number(host);
	if (!r->numeric)
		e = start_child(r, why);
	if (e)
		resolve_free(r);
	else
		*ret_r = r;
	return e;
}

int resolve_fd(const struct resolve *r)
{
	return r->fd;
}

static enum err explain(const struct resolve *r, const struct answer *a,
			struct err_detail *why)
{
	return err_say(why, ERR_LINK,
		       "cannot resolve \"%s\": %s: check the host in url and "
		       "this machine's name server",
		       r->name,
		       a->gai == EAI_SYSTEM ? err_system(a->err_no)
		       : a->gai		    ? gai_strerror(a->gai)
					    : "it has no address");
}

static void fill(const struct resolve *r, const struct answer *a,
		 struct resolve_result *ret_result)
{
	ret_result->len = a->len;
	for (unsigned i = 0; i < a->len; i++) {
		memcpy(ret_result->list[i].host, a->host[i], RESOLVE_HOST_SIZE);
		ret_result->list[i].port = r->port;
	}
}

enum err resolve_take(struct resolve *r, struct resolve_result *ret_result,
		      struct err_detail *why)
{
	struct answer a = { .len = 1 };
	bool late = clock_boot_ms() >= r->end_ms;
	ssize_t n;

	if (r->numeric) {
		memcpy(a.host[0], r->name,
		       strnlen(r->name, sizeof(a.host[0]) - 1));
		fill(r, &a, ret_result);
		return OK;
	}
	n = read(r->fd, &a, sizeof(a));
	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !late)
		return ERR_BUSY;
	if (n != sizeof(a))
		return err_say(why, ERR_LINK,
			       "cannot resolve \"%s\": no answer within %d s: "
			       "check this machine's name server",
			       r->name, (r->limit_ms + 999) / 1000);
	if (a.gai || !a.len || a.len > RESOLVE_MAX)
		return explain(r, &a, why);
	fill(r, &a, ret_result);
	return OK;
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int ms = 0; ms < REAP_MS && !waitpid(pid, NULL, WNOHANG); ms++)
		poll(NULL, 0, 1);
}

void resolve_free(struct resolve *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	if (r->pid)
		reap(r->pid);
	free(r);
}
