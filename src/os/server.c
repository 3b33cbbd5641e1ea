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
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t dev;		/* of the file at the path, while it is ours */
	ino_t ino;
	struct client *client[SERVER_CLIENTS];	/* NULL: free */
	bool crowded;		/* somebody waits at the door for a place */
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

	s->crowded = !place;
	if (!place) {
		watch_door(s, false);
		return;
	}
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	/* Who cannot be let in must not wake the loop either. */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		watch_door(s, false);
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

	if (!c->answer) {		/* all of it is to come soon */
		stay = read_some(s, c);
	} else {
		c->moved_ms = boot_ms;
		stay = events & (EPOLLERR | EPOLLHUP) ? false
						      : write_some(s, c);
	}
	if (!stay)
		end(s, c);
}

/* While others wait for a place, who does not use his must go sooner. */
static int64_t patience_ms(const struct server *s, const struct client *c)
{
	if (!s->crowded)
		return SERVER_PATIENCE_MS;
	return c->answer ? SERVER_CROWDED_MS : SERVER_SILENT_MS;
}

static void dismiss_the_idle(struct server *s, int64_t boot_ms)
{
	for (int i = 0; i < SERVER_CLIENTS; i++) {
		struct client *c = s->client[i];

		if (c && boot_ms - c->moved_ms > patience_ms(s, c))
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

int64_t server_wait_ms(const struct server *s)
{
	return s->crowded ? SERVER_SILENT_MS : -1;
}

unsigned server_clients(const struct server *s)
{
	unsigned n = 0;

	for (int i = 0; i < SERVER_CLIENTS; i++)
		n += s->client[i] != NULL;
	return n;
}

static bool is_listening(const struct sockaddr_un *sa)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
				   SOCK_CLOEXEC, 0);

	return fd >= 0 && (!connect(fd, (const struct sockaddr *)sa,
				    sizeof(*sa)) || errno == EAGAIN);
}

enum err server_check(const char *path, struct err_detail *why)
{
	size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	struct stat st;

	if (strlen(path) > max)
		return err_say(why, ERR_CREATE, "%s: longer than the %zu bytes "
			       "that the path of a socket may have; name a "
			       "shorter one with [store] socket", path, max);
	if (!lstat(path, &st) && !S_ISSOCK(st.st_mode))
		return err_say(why, ERR_CREATE, "%s: there is a file that is "
			       "no socket; remove it, or change [store] socket",
			       path);
	return OK;
}

/* What an owner that died left; anything else there is not ours to remove. */
static enum err clear_place(const struct sockaddr_un *sa,
			    struct err_detail *why)
{
	enum err e = server_check(sa->sun_path, why);

	if (!e && is_listening(sa))
		e = err_say(why, ERR_CREATE, "%s: another process listens "
			    "there; change [store] socket", sa->sun_path);
	if (!e)
		unlink(sa->sun_path);	/* bind() says what is wrong */
	return e;
}

static bool is_ours(const struct server *s)
{
	struct stat st;

	return !lstat(s->path, &st) && st.st_dev == s->dev &&
	       st.st_ino == s->ino;
}

static enum err cannot_listen(const struct server *s, struct err_detail *why)
{
	bool few = errno == EMFILE || errno == ENFILE;

	return err_say(why, errno == EACCES ? ERR_PERM : ERR_CREATE,
		       "%s: cannot listen: %s%s", s->path, err_system(errno),
		       few ? "" : "; change [store] socket");
}

/* The door before this one, if any, is shut: nobody finds it any more. */
static enum err listen_at(struct server *s, struct err_detail *why)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
				   SOCK_CLOEXEC, 0);
	struct stat st;
	enum err e;

	memcpy(sa.sun_path, s->path, sizeof(sa.sun_path));
	if (fd < 0)
		return cannot_listen(s, why);
	e = clear_place(&sa, why);
	if (e)
		return e;
	/* The umask is 077 already; the mode is said once more. */
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) ||
	    chmod(s->path, 0600) || lstat(s->path, &st) ||
	    listen(fd, SERVER_CLIENTS))
		return cannot_listen(s, why);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	s->listen_fd = fd;
	fd = -1;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	watch(s, EPOLL_CTL_ADD, s->listen_fd, EPOLLIN, NULL);
	return OK;
}

enum err server_look(struct server *s, bool *ret_again, struct err_detail *why)
{
	enum err e;

	*ret_again = false;
	watch_door(s, true);		/* it may have been want of descriptors */
	if (is_ours(s))
		return OK;
	e = listen_at(s, why);
	*ret_again = !e;
	return e;
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
	snprintf(s->path, sizeof(s->path), "%s", path);
	e = server_check(path, why);
	if (!e && s->epoll_fd < 0)
		e = err_say(why, ERR_IO, "epoll: %s", err_system(errno));
	if (!e)
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
		if (is_ours(s))
			unlink(s->path);
	}
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s);
}

int server_fd(const struct server *s)
{
	return s->epoll_fd;
}
