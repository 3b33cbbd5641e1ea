/*
 * What a broker says, through the real client library: the first byte chooses
 * the protocol and whether a CONNACK goes before, the rest are its bytes.
 */
#include "fuzz.h"

#include <assert.h>
#include <poll.h>
#include <setjmp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "link/link.h"

#define TURNS		200
#define OLD_PROTOCOL	1	/* bits of the first byte */
#define NO_CONNACK	2

static char path[64];
static jmp_buf out;
static bool known;	/* out is set */

/*
 * libmosquitto 2.0.11 logs to nobody, and asserts that it does not, when it
 * meets a property that it does not know.  The process ends and is started
 * again (broker.poison); here the link is left as it lies.
 */
void __assert_fail(const char *what, const char *file, unsigned line,
		   const char *function) /* assert.h has it without NDEBUG */
{
	if (known && !strcmp(function, "log__printf"))
		longjmp(out, 1);
	fprintf(stderr, "%s:%u: %s: %s\n", file, line, function, what);
	abort();
}

/* What is left as it lies would count as a leak. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "detect_leaks=0";
}

static void leave(void)
{
	unlink(path);
}

static int listening(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(path, sizeof(path), "/tmp/mqonce-fuzz-%d", (int)getpid());
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	unlink(path);
	MUST(fd >= 0 && !bind(fd, (struct sockaddr *)&sa, sizeof(sa)) &&
	     !listen(fd, 8));
	atexit(leave);
	return fd;
}

static void on_delivery(void *arg, const struct event *ev)
{
	(void)arg;
	MUST(ev->topic.len > 0 && ev->topic.len <= 65535);
	MUST(!memchr(ev->topic.data, '\0', ev->topic.len));
	MUST(ev->oversize || ev->payload.len == ev->payload_bytes);
	MUST(ev->properties_len <= LINK_PROPERTIES_MAX);
}

static void on_suback(void *arg, unsigned index, int code)
{
	(void)arg, (void)index, (void)code;
}

static void on_connected(void *arg)
{
	(void)arg;
}

static void send_all(int fd, const void *bytes, size_t len)
{
	/* What does not fit the socket's buffer is cut. */
	if (send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

static void drain(int fd)
{
	char buf[4096];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

/* Until the link has seen the end of it. */
static void run(struct link *l, int peer)
{
	for (int i = 0; i < TURNS && link_state(l) != LINK_DOWN; i++) {
		struct pollfd p = { .fd = link_fd(l),
				    .events = link_interest(l) };

		if (poll(&p, 1, 1000) <= 0)
			return;
		if (p.revents & (POLLIN | POLLHUP) &&
		    link_read(l, 100, 1 << 20))
			return;
		if (link_flush(l) || link_tick(l))
			return;
		drain(peer);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t old[] = { 0x20, 2, 0, 0 };
	static const uint8_t new[] = { 0x20, 3, 0, 0, 0 };
	static const struct link_events events = {
		.on_delivery = on_delivery,
		.on_suback = on_suback,
		.on_connected = on_connected,
	};
	static int door = -1;
	struct broker_config bc = {
		.transport = TRANSPORT_UNIX, .host = path, .client_id = "gw",
		.protocol = PROTOCOL_5, .session_expiry_ms = 3600000,
		.keepalive_ms = 60000,
	};
	struct link_address addr = { .port = 1 };
	struct err_detail why = { "" };
	struct link *l = NULL;
	int peer;

	if (door < 0) {
		door = listening();
		MUST(!link_library_init());
	}
	if (!size)
		return 0;
	if (data[0] & OLD_PROTOCOL)
		bc.protocol = PROTOCOL_311;
	snprintf(addr.host, sizeof(addr.host), "%s", path);
	if (link_open(&bc, &addr, 100, 1000, &events, &l, &why))
		return 0;
	peer = accept(door, NULL, NULL);
	MUST(peer >= 0);
	if (!(data[0] & NO_CONNACK))
		send_all(peer, bc.protocol == PROTOCOL_5 ? new : old,
			 bc.protocol == PROTOCOL_5 ? 5 : 4);
	send_all(peer, data + 1, size - 1);
	shutdown(peer, SHUT_WR);
	known = true;
	if (!setjmp(out)) {
		run(l, peer);
		link_free(l);
	}
	known = false;
	close(peer);
	return 0;
}
