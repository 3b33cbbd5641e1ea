#include "os/loop.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

/* Longer waits would not fit an int; waking up early does no harm. */
#define WAIT_MAX_MS 60000

struct loop {
	int epoll_fd;
	int fd[LOOP_SOURCES]; /* -1: none */
};

enum err loop_new(struct loop **ret_l)
{
	struct loop *l = malloc(sizeof(*l));

	if (!l)
		return ERR_NOMEM;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		free(l);
		return ERR_IO;
	}
	for (int i = 0; i < LOOP_SOURCES; i++)
		l->fd[i] = -1;
	*ret_l = l;
	return OK;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	close(l->epoll_fd);
	free(l);
}

enum err loop_watch(struct loop *l, enum loop_source source, int fd,
		    short events)
{
	struct epoll_event ev = {
		.events = (events & POLLIN ? (uint32_t)EPOLLIN : 0) |
			  (events & POLLOUT ? (uint32_t)EPOLLOUT : 0),
		.data.u32 = source,
	};
	int was = l->fd[source];

	if (was < 0 && fd < 0)
		return OK;
	/*
	 * No short cut for the same number: it may have been closed and opened
	 * again, and then epoll does not know it.
	 */
	if (was >= 0 && was != fd)
		(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, was, NULL);
	l->fd[source] = fd;
	if (fd < 0)
		return OK;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, fd, &ev) == 0 ||
	    (errno == ENOENT &&
	     epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0))
		return OK;
	l->fd[source] = -1;
	return ERR_IO;
}

enum err loop_wait(struct loop *l, int64_t timeout_ms,
		   short ret_events[LOOP_SOURCES])
{
	struct epoll_event ev[LOOP_SOURCES];
	int wait_ms = timeout_ms < 0		 ? -1
		      : timeout_ms > WAIT_MAX_MS ? WAIT_MAX_MS
						 : (int)timeout_ms;
	int n = epoll_wait(l->epoll_fd, ev, LOOP_SOURCES, wait_ms);

	if (n < 0 && errno != EINTR)
		return ERR_IO;
	for (int i = 0; i < LOOP_SOURCES; i++)
		ret_events[i] = 0;
	for (int i = 0; i < n; i++) {
		short *r = &ret_events[ev[i].data.u32];

		if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			*r |= POLLIN;
		if (ev[i].events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
			*r |= POLLOUT;
	}
	return OK;
}
