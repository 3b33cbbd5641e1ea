#include "link_internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"

/* Longest wait for the socket to take the last bytes of an orderly end. */
#define GOODBYE_MS 1000

/* Reads of one turn that bring no delivery: answers, pings, parts. */
#define IDLE_ROUNDS 256

enum link_state link_state(const struct link *l)
{
	return l->state;
}

const struct link_report *link_report(const struct link *l)
{
	return &l->report;
}

int link_fd(const struct link *l)
{
	return l->state == LINK_DOWN ? -1 : mosquitto_socket(l->mosq);
}

/*
 * Before the handshake is over the library's wish to write is of no use: it
 * is always true in 2.1 and would make the loop spin.  Later, while something
 * is left to be sent, nothing more is read that would be owed an answer.
 */
short link_interest(const struct link *l)
{
	if (l->state == LINK_DOWN)
		return 0;
	if (!l->wired)
		return POLLOUT;
	if (tls_shakes_hands(l))
		return tls_wants_write(l) ? POLLIN | POLLOUT : POLLIN;
	return mosquitto_want_write(l->mosq) ? POLLOUT : POLLIN;
}

bool link_has_buffered(const struct link *l)
{
	return (link_interest(l) & POLLIN) && tls_has_buffered(l);
}

static short poll_for(const struct link *l, short events, int wait_ms)
{
	struct pollfd p = { .fd = link_fd(l), .events = events };

	return poll(&p, 1, wait_ms) == 1 ? p.revents : 0;
}

/*
 * Every call into the library ends here: it may close without saying so.  It
 * answers a DISCONNECT of the broker with success; 2.1 uses reason codes for
 * what it finds wrong itself.
 */
static enum err settle(struct link *l, int rc)
{
	int err_no = l->ended ? l->err_no : errno;

	if (l->state == LINK_DOWN)
		return ERR_LINK;
	if (!rc)
		rc = l->broken;
	if (!rc && l->ended && l->end_code >= CODE_REFUSED)
		l->report.disconnect_code = l->end_code;
	if (rc || l->ended || mosquitto_socket(l->mosq) < 0)
		return link_down(l, rc, err_no);
	return OK;
}

/*
 * The TCP connect, which the library leaves to chance.  Its first steps of TLS
 * may have swallowed SO_ERROR; a socket without peer has failed then.
 */
static enum err wire(struct link *l)
{
	struct sockaddr_storage peer;
	socklen_t peer_len = sizeof(peer), len = sizeof(int);
	int fd = link_fd(l), err_no = 0;

	if (!poll_for(l, POLLOUT, 0))
		return OK;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err_no, &len))
		err_no = errno;
	if (!err_no && getpeername(fd, (struct sockaddr *)&peer, &peer_len))
		err_no = l->was_reset ? ECONNRESET : ECONNREFUSED;
	if (err_no)
		return link_down(l, MOSQ_ERR_ERRNO, err_no);
	l->wired = true;
	return OK;
}

/* The library takes a socket that died while writing for one to try again. */
static bool is_dead(const struct link *l)
{
	int waiting = 0;

	if (!(poll_for(l, POLLIN, 0) & (POLLERR | POLLHUP)))
		return false;
	return ioctl(link_fd(l), FIONREAD, &waiting) || !waiting;
}

/*
 * Brings the connection to where packets flow; *ret_ready says whether it is
 * there.  During the handshake only a read drives the library.
 */
static enum err advance(struct link *l, bool *ret_ready)
{
	enum err e = l->state == LINK_DOWN ? ERR_LINK : OK;

	if (!e && !l->wired)
		e = wire(l);
	if (!e && l->wired && tls_shakes_hands(l)) {
		e = settle(l, mosquitto_loop_read(l->mosq, 1));
		if (!e && tls_shakes_hands(l) && is_dead(l))
			e = link_down(l, MOSQ_ERR_CONN_LOST, 0);
		if (!e && !tls_shakes_hands(l))
			mosquitto_log_callback_set(l->mosq, NULL);
	}
	*ret_ready = !e && l->wired && !tls_shakes_hands(l);
	return e;
}

/*
 * 2.0 reads one packet at a time, 2.1 hundreds: both leave EAGAIN behind when
 * the socket is dry, which spares a poll(2) for each packet.
 */
enum err link_read(struct link *l, unsigned max, size_t max_bytes)
{
	unsigned idle = 0, before;
	bool ready, dry = false;
	enum err e = advance(l, &ready);

	l->deliveries = 0;
	l->bytes = 0;
	while (!e && ready && !dry && idle < IDLE_ROUNDS &&
	       l->deliveries < max && l->bytes < max_bytes) {
		before = l->deliveries;
		errno = 0;
		e = settle(l, mosquitto_loop_read(l->mosq, 1));
		dry = errno == EAGAIN && !tls_has_buffered(l);
		if (l->deliveries == before)
			idle++;
	}
	return e;
}

enum err link_flush(struct link *l)
{
	bool ready;
	enum err e = advance(l, &ready);

	if (e || !ready)
		return e;
	errno = 0;
	return settle(l, mosquitto_loop_write(l->mosq, 1));
}

enum err link_tick(struct link *l)
{
	if (l->state == LINK_DOWN)
		return ERR_LINK;
	errno = 0;
	return settle(l, mosquitto_loop_misc(l->mosq));
}

/* Whether all that is queued is in the socket; EAGAIN is its word for "no". */
static bool is_sent(struct link *l)
{
	errno = 0;
	return mosquitto_loop_write(l->mosq, 1) || errno != EAGAIN;
}

/* Once DISCONNECT is sent, 2.0 closes the socket and 2.1 half of it. */
void link_disconnect(struct link *l)
{
	int64_t end_ms = clock_boot_ms() + GOODBYE_MS, left_ms = GOODBYE_MS;

	if (l->state == LINK_CONNECTED) {
		l->ending = true;
		(void)mosquitto_disconnect(l->mosq); /* gone is gone */
		while (left_ms > 0 && poll_for(l, POLLOUT, (int)left_ms) &&
		       !is_sent(l))
			left_ms = end_ms - clock_boot_ms();
	}
	l->state = LINK_DOWN;
}

/* Without an orderly end before, this sends nothing: the broker keeps all. */
void link_free(struct link *l)
{
	if (!l)
		return;
	l->state = LINK_DOWN;
	mosquitto_destroy(l->mosq);
	free(l->properties);
	free(l->loans);
	free(l->mids);
	free(l);
}
