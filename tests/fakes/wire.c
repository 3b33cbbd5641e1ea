#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/host.h"

#define PAIRS	   8
#define LANE_BYTES 65536
#define BACKLOG	   64

/* Narrow: the least that Linux gives, and segments that fill it soon. */
#define NARROW_BYTES   2048
#define NARROW_SEGMENT 536

/* The bytes of one side on their way to the other. */
struct lane {
	uint8_t data[LANE_BYTES];
	size_t at, len;
	uint64_t passed;
	bool ended, told; /* no more comes; and the other side knows */
};

struct cut {
	bool armed;
	enum wire_side side;
	uint64_t at;
	enum wire_end how;
};

struct pair {
	bool used;
	int fd[2]; /* by enum wire_side */
	struct lane lane[2];
	struct cut cut;
	bool ending; /* what still comes is thrown away */
	bool broken;
};

struct wire {
	pthread_mutex_t lock; /* of all below */
	pthread_t thread;
	bool stop;
	int listen_fd, wake_fd;
	uint16_t port, leads_to;
	struct cut next;
	bool was_cut, held[2];
	int slow_ms;
	unsigned connections;
	uint64_t passed[2];
	struct pair pairs[PAIRS];
};

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int new_socket(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	must(fd >= 0, "wire: socket: %s", strerror(errno));
	return fd;
}

static void make_ready(int fd)
{
	int one = 1;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Closed like this, TCP sends a reset. */
static void reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void drop(struct pair *p)
{
	reset(p->fd[WIRE_CLIENT]);
	reset(p->fd[WIRE_BROKER]);
	p->used = false;
}

static void end(struct wire *w, struct pair *p)
{
	p->cut.armed = false;
	w->was_cut = true;
	if (p->cut.how == WIRE_RST) {
		drop(p);
		return;
	}
	shutdown(p->fd[WIRE_CLIENT], SHUT_WR);
	shutdown(p->fd[WIRE_BROKER], SHUT_WR);
	p->ending = true;
}

/* How much may be read of @side: the cut is exact. */
static size_t room(const struct wire *w, const struct pair *p, int side)
{
	const struct lane *l = &p->lane[side];
	uint64_t max = w->slow_ms ? 1 : LANE_BYTES;

	if (l->len || l->ended || w->held[side])
		return 0;
	if (p->cut.armed && (int)p->cut.side == side &&
	    max > p->cut.at - l->passed)
		max = p->cut.at - l->passed;
	return max;
}

static void take(struct wire *w, struct pair *p, int side)
{
	struct lane *l = &p->lane[side];
	size_t max = p->ending && !l->ended ? LANE_BYTES : room(w, p, side);
	ssize_t n;

	if (!max)
		return;
	n = read(p->fd[side], l->data, max);
	l->at = 0;
	l->len = n > 0 && !p->ending ? (size_t)n : 0;
	l->ended = !n;
	p->broken |= n < 0 && errno != EAGAIN;
}

static void give(struct wire *w, struct pair *p, int side)
{
	struct lane *l = &p->lane[side];
	ssize_t n = 0;

	if (l->len)
		n = send(p->fd[!side], l->data + l->at, l->len, MSG_NOSIGNAL);
	p->broken |= n < 0 && errno != EAGAIN;
	if (n > 0) {
		l->at += (size_t)n;
		l->len -= (size_t)n;
		l->passed += (uint64_t)n;
		w->passed[side] = l->passed;
	}
	if (l->ended && !l->len && !l->told) {
		shutdown(p->fd[!side], SHUT_WR);
		l->told = true;
	}
}

static void move(struct wire *w, struct pair *p)
{
	for (int side = WIRE_CLIENT; side <= WIRE_BROKER; side++) {
		take(w, p, side);
		give(w, p, side);
	}
	if (p->cut.armed && p->lane[p->cut.side].passed == p->cut.at)
		end(w, p);
	else if (p->broken ||
		 (p->lane[WIRE_CLIENT].told && p->lane[WIRE_BROKER].told))
		drop(p);
}

static void join(struct wire *w, int client)
{
	struct sockaddr_in to = loopback(w->leads_to);
	int broker = new_socket(0);
	struct pair *p = w->pairs;

	while (p < w->pairs + PAIRS && p->used)
		p++;
	if (p == w->pairs + PAIRS ||
	    connect(broker, (struct sockaddr *)&to, sizeof(to))) {
		close(broker);
		reset(client);
		return;
	}
	make_ready(client);
	make_ready(broker);
	memset(p, 0, sizeof(*p));
	p->used = true;
	p->fd[WIRE_CLIENT] = client;
	p->fd[WIRE_BROKER] = broker;
	p->cut = w->next;
	w->next.armed = false;
	memset(w->passed, 0, sizeof(w->passed));
}

static void accept_one(struct wire *w)
{
	int fd = accept4(w->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	w->connections++;
	join(w, fd);
}

/* What a pair waits for; nothing at all while it is held. */
static short wanted(const struct wire *w, const struct pair *p, int side)
{
	short events = 0;

	if (!p->used)
		return 0;
	if (room(w, p, side) || (p->ending && !p->lane[side].ended))
		events |= POLLIN;
	if (p->lane[!side].len)
		events |= POLLOUT;
	return events;
}

/* Sleeps until something can move. */
static void rest(struct wire *w)
{
	struct pollfd list[2 + 2 * PAIRS] = {
		{ .fd = w->wake_fd, .events = POLLIN },
		{ .fd = w->listen_fd, .events = POLLIN },
	};
	int slow_ms = w->slow_ms;
	nfds_t n = 2;
	uint64_t v;

	for (struct pair *p = w->pairs; p < w->pairs + PAIRS; p++) {
		for (int side = WIRE_CLIENT; side <= WIRE_BROKER; side++) {
			short events = wanted(w, p, side);

			list[n++] = (struct pollfd){
				.fd = events ? p->fd[side] : -1,
				.events = events,
			};
		}
	}
	pthread_mutex_unlock(&w->lock);
	poll(list, n, -1);
	if (slow_ms)
		sleep_ms(slow_ms);
	pthread_mutex_lock(&w->lock);
	if (list[0].revents && read(w->wake_fd, &v, sizeof(v)) < 0)
		abort();
	if (list[1].revents)
		accept_one(w);
}

static void *run(void *arg)
{
	struct wire *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		rest(w);
		for (struct pair *p = w->pairs; p < w->pairs + PAIRS; p++)
			if (p->used)
				move(w, p);
	}
	for (struct pair *p = w->pairs; p < w->pairs + PAIRS; p++)
		if (p->used)
			drop(p);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void open_port(struct wire *w, bool narrow)
{
	struct sockaddr_in sin = loopback(0);
	int bytes = NARROW_BYTES, segment = NARROW_SEGMENT;
	socklen_t len = sizeof(sin);

	w->listen_fd = new_socket(SOCK_NONBLOCK);
	if (narrow)
		must(!setsockopt(w->listen_fd, SOL_SOCKET, SO_RCVBUF, &bytes,
				 sizeof(bytes)) &&
			     !setsockopt(w->listen_fd, IPPROTO_TCP, TCP_MAXSEG,
					 &segment, sizeof(segment)),
		     "wire: %s", strerror(errno));
	must(!bind(w->listen_fd, (struct sockaddr *)&sin, sizeof(sin)) &&
		     !listen(w->listen_fd, BACKLOG) &&
		     !getsockname(w->listen_fd, (struct sockaddr *)&sin, &len),
	     "wire: port: %s", strerror(errno));
	w->port = ntohs(sin.sin_port);
}

struct wire *wire_start(uint16_t port, bool narrow)
{
	struct wire *w = calloc(1, sizeof(*w));

	must(w, "wire: out of memory");
	w->leads_to = port;
	pthread_mutex_init(&w->lock, NULL);
	w->wake_fd = eventfd(0, EFD_CLOEXEC);
	must(w->wake_fd >= 0, "wire: eventfd");
	open_port(w, narrow);
	must(!pthread_create(&w->thread, NULL, run, w), "wire: thread");
	return w;
}

static void lock(struct wire *w)
{
	pthread_mutex_lock(&w->lock);
}

static void unlock_and_wake(struct wire *w)
{
	pthread_mutex_unlock(&w->lock);
	if (eventfd_write(w->wake_fd, 1))
		abort();
}

void wire_stop(struct wire *w)
{
	if (!w)
		return;
	lock(w);
	w->stop = true;
	unlock_and_wake(w);
	pthread_join(w->thread, NULL);
	close(w->listen_fd);
	close(w->wake_fd);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

uint16_t wire_port(const struct wire *w)
{
	return w->port;
}

void wire_lead_to(struct wire *w, uint16_t port)
{
	lock(w);
	w->leads_to = port;
	unlock_and_wake(w);
}

void wire_cut(struct wire *w, enum wire_side side, uint64_t n,
	      enum wire_end how)
{
	lock(w);
	w->next = (struct cut){
		.armed = true, .side = side, .at = n, .how = how
	};
	w->was_cut = false;
	unlock_and_wake(w);
}

bool wire_was_cut(struct wire *w)
{
	bool yes;

	lock(w);
	yes = w->was_cut;
	pthread_mutex_unlock(&w->lock);
	return yes;
}

void wire_slow(struct wire *w, int ms)
{
	lock(w);
	w->slow_ms = ms;
	unlock_and_wake(w);
}

void wire_hold(struct wire *w, enum wire_side side, bool yes)
{
	lock(w);
	w->held[side] = yes;
	unlock_and_wake(w);
}

uint64_t wire_passed(struct wire *w, enum wire_side side)
{
	uint64_t n;

	lock(w);
	n = w->passed[side];
	pthread_mutex_unlock(&w->lock);
	return n;
}

unsigned wire_connections(struct wire *w)
{
	unsigned n;

	lock(w);
	n = w->connections;
	pthread_mutex_unlock(&w->lock);
	return n;
}
