#include "os/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct client {
	int fd;			/* -1: free */
	uid_t uid;
	char *in;		/* the request so far; malloc'ed */
	size_t in_len;
	void *answer;		/* under way */
	bool more;
	char out[SERVER_PAGE_BYTES];
	size_t out_len, out_at;
	int64_t moved_ms;	/* boot clock: when bytes last went through */
};

struct server {
	struct server_events events;
	int epoll_fd, listen_fd;
	char path[108];
	struct client *client[SERVER_CLIENTS];	/* NULL: free */
};

static void watch(struct server *s, int op, int fd, uint32_t events, void *ptr)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	/* Cannot fail for descriptors of ours but for want of memory. */
	(void)epoll_ctl(s->epoll_fd, op, fd, &ev);
}

/* Whoever waits at the door while no place is free must not wake the loop. */
static void watch_door(struct server *s, bool open)
{
	if (s->listen_fd >= 0)
		watch(s, EPOLL_CTL_MOD, s->listen_fd, open ? EPOLLIN : 0, NULL);
}

static void end(struct server *s, struct client *c)
{
	for (int i = 0; i < SERVER_CLIENTS; i++)
		if (s->client[i] == c)
			s->client[i] = NULL;
	if (c->answer)
		s->events.on_end(s->events.arg, c->answer);
	close(c->fd);
	free(c->in);
	free(c);
	watch_door(s, true);
}

static bool may_enter(int fd, uid_t *ret_uid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return false;
	*ret_uid = cred.uid;
	return cred.uid == 0 || cred.uid == geteuid();
}

static struct client **free_place(struct server *s)
{
	for (int i = 0; i < SERVER_CLIENTS; i++)
		if (!s->client[i])
			return &s->client[i];
	return NULL;
}

/* With all places taken the next ones wait at the door. */
static void let_in(struct server *s, int64_t boot_ms)
{
	struct client **place = free_place(s), *c;
	uid_t uid;
	int fd;

	if (!place) {
		watch_door(s, false);
		return;
	}
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	c = may_enter(fd, &uid) ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->uid = uid;
	c->moved_ms = boot_ms;
	*place = c;
	watch(s, EPOLL_CTL_ADD, fd, EPOLLIN, c);
}

/* False: the client is to go. */
static bool take_request(struct server *s, struct client *c)
{
	char *nl = memchr(c->in, '\n', c->in_len);

	if (!nl)
		return c->in_len < SERVER_REQUEST_MAX;
	c->answer = s->events.on_request(s->events.arg, c->uid,
					 span_of(c->in, (size_t)(nl - c->in)));
	free(c->in);
	c->in = NULL;
	c->more = true;
	watch(s, EPOLL_CTL_MOD, c->fd, EPOLLOUT, c);
	return c->answer != NULL;
}

static bool read_some(struct server *s, struct client *c)
{
	char buf[4096], *in;
	ssize_t n = read(c->fd, buf, sizeof(buf));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	in = realloc(c->in, c->in_len + (size_t)n);
	if (!in)
		return false;
	memcpy(in + c->in_len, buf, (size_t)n);
	c->in = in;
	c->in_len += (size_t)n;
	return take_request(s, c);
}

static bool write_some(struct server *s, struct client *c)
{
	ssize_t n;

	if (c->out_at == c->out_len) {
		if (!c->more)
			return false;		/* all is said */
		c->out_at = 0;
		c->out_len = s->events.on_page(s->events.arg, c->answer,
					       c->out, sizeof(c->out),
					       &c->more);
		if (!c->out_len)
			return c->more;
	}
	n = send(c->fd, c->out + c->out_at, c->out_len - c->out_at,
		 MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->out_at += (size_t)n;
	return c->out_at < c->out_len || c->more;
}

static void serve(struct server *s, struct client *c, uint32_t events,
		  int64_t boot_ms)
{
	bool stay = true;

	c->moved_ms = boot_ms;
	if (c->answer)
		stay = events & (EPOLLERR | EPOLLHUP) ? false
						      : write_some(s, c);
	else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		stay = read_some(s, c);
	if (!stay)
		end(s, c);
}

static void dismiss_the_idle(struct server *s, int64_t boot_ms)
{
	for (int i = 0; i < SERVER_CLIENTS; i++) {
		struct client *c = s->client[i];

		if (c && boot_ms - c->moved_ms > SERVER_PATIENCE_MS)
			end(s, c);
	}
}

void server_turn(struct server *s, int64_t boot_ms)
{
	struct epoll_event ev[SERVER_CLIENTS + 1];
	int n = epoll_wait(s->epoll_fd, ev, SERVER_CLIENTS + 1, 0);

	for (int i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			serve(s, ev[i].data.ptr, ev[i].events, boot_ms);
		else
			let_in(s, boot_ms);
	}
	dismiss_the_idle(s, boot_ms);
}

unsigned server_clients(const struct server *s)
{
	unsigned n = 0;

	for (int i = 0; i < SERVER_CLIENTS; i++)
		n += s->client[i] != NULL;
	return n;
}

/* What an owner that died left; anything else there is not ours to remove. */
static enum err clear_place(const char *path, struct err_detail *why)
{
	struct stat st;

	if (lstat(path, &st))
		return OK;		/* bind() says what is wrong */
	if (!S_ISSOCK(st.st_mode))
		return err_say(why, ERR_CREATE, "%s: there is a file that is "
			       "no socket; change [store] socket", path);
	unlink(path);
	return OK;
}

static enum err listen_at(struct server *s, struct err_detail *why)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	enum err e;

	memcpy(sa.sun_path, s->path, sizeof(sa.sun_path));
	s->listen_fd = socket(AF_UNIX,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	e = clear_place(s->path, why);
	if (e)
		return e;
	/* The umask is 077 already; the mode is said once more. */
	if (s->listen_fd < 0 ||
	    bind(s->listen_fd, (struct sockaddr *)&sa, sizeof(sa)) ||
	    chmod(s->path, 0600) || listen(s->listen_fd, SERVER_CLIENTS))
		return err_say(why, errno == EACCES ? ERR_PERM : ERR_CREATE,
			       "%s: cannot listen: %s; change [store] socket",
			       s->path, strerror(errno));
	watch(s, EPOLL_CTL_ADD, s->listen_fd, EPOLLIN, NULL);
	return OK;
}

enum err server_open(const char *path, const struct server_events *ev,
		     struct server **ret_s, struct err_detail *why)
{
	struct server *s = calloc(1, sizeof(*s));
	enum err e;

	if (!s)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	s->events = *ev;
	s->listen_fd = -1;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if ((size_t)snprintf(s->path, sizeof(s->path), "%s", path) >=
	    sizeof(s->path))
		e = err_say(why, ERR_CREATE, "%s: longer than the %zu bytes of "
			    "a socket's path", path, sizeof(s->path) - 1);
	else if (s->epoll_fd < 0)
		e = err_say(why, ERR_IO, "epoll: %s", strerror(errno));
	else
		e = listen_at(s, why);
	if (e) {
		server_close(s);
		return e;
	}
	*ret_s = s;
	return OK;
}

void server_close(struct server *s)
{
	if (!s)
		return;
	for (int i = 0; i < SERVER_CLIENTS; i++)
		if (s->client[i])
			end(s, s->client[i]);
	if (s->listen_fd >= 0) {
		close(s->listen_fd);
		(void)clear_place(s->path, &(struct err_detail){ "" });
	}
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s);
}

int server_fd(const struct server *s)
{
	return s->epoll_fd;
}
