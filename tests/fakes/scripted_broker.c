#include "scripted_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../support/host.h"

#define RECORD_MAX 16384
#define LINGER_MS  1000 /* for the client to hang up too */

int64_t scripted_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void *scripted_grow(void *list, size_t len, size_t *size, size_t element)
{
	if (len < *size)
		return list;
	*size = *size ? *size * 2 : 16;
	list = realloc(list, *size * element);
	must(list, "scripted broker: out of memory");
	return list;
}

void bytes_put(struct bytes *b, const void *data, size_t len)
{
	if (!len)
		return;
	if (b->len + len > b->size) {
		b->size = (b->len + len) * 2;
		b->data = realloc(b->data, b->size);
		must(b->data, "scripted broker: out of memory");
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

void bytes_drop(struct bytes *b, size_t len)
{
	memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
}

void bytes_fini(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ 0 };
}

static void wake(struct scripted_broker *b)
{
	uint64_t one = 1;

	must(write(b->wake_fd, &one, sizeof(one)) == sizeof(one),
	     "scripted broker: wake");
}

/*
 * Closing with bytes unread, or before the last ones came, would reset what is
 * still on its way out: a TLS alert, a DISCONNECT.
 */
static void let_go(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t end_ms = scripted_now_ms() + LINGER_MS, left_ms = LINGER_MS;
	char buf[4096];

	shutdown(fd, SHUT_WR);
	while (left_ms > 0 && poll(&p, 1, (int)left_ms) == 1 &&
	       read(fd, buf, sizeof(buf)) > 0)
		left_ms = end_ms - scripted_now_ms();
}

static void hang_up(struct scripted_broker *b)
{
	struct connection *c = &b->conn;

	if (c->fd < 0)
		return;
	if (c->ssl && SSL_is_init_finished(c->ssl) && !c->kill)
		SSL_shutdown(c->ssl);
	if (!c->kill)
		let_go(c->fd);
	SSL_free(c->ssl);
	close(c->fd);
	bytes_fini(&c->in);
	bytes_fini(&c->out);
	*c = (struct connection){ .fd = -1 };
	b->count[BROKER_CLOSED]++;
}

static void pick_up(struct scripted_broker *b)
{
	int one = 1;
	int fd =
		accept4(b->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	b->conn = (struct connection){ .fd = fd };
	b->count[BROKER_CONNECTIONS]++;
	if (!b->ctx)
		return;
	b->conn.ssl = SSL_new(b->ctx);
	must(b->conn.ssl && SSL_set_fd(b->conn.ssl, fd),
	     "scripted broker: TLS");
	SSL_set_accept_state(b->conn.ssl);
	b->sni[0] = '\0';
}

/* What read(2) and write(2) would say; always -1. */
static ssize_t fail_as_system(const SSL *ssl, int rc)
{
	rc = SSL_get_error(ssl, rc);
	errno = rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE
			? EAGAIN
			: EPROTO;
	return -1;
}

static ssize_t take(struct connection *c, void *buf, size_t size)
{
	int n;

	if (!c->ssl)
		return read(c->fd, buf, size);
	ERR_clear_error();
	n = SSL_read(c->ssl, buf, (int)size);
	if (n > 0)
		return n;
	return fail_as_system(c->ssl, n);
}

static ssize_t give(struct connection *c, const void *buf, size_t len)
{
	int n;

	if (!c->ssl)
		return send(c->fd, buf, len, MSG_NOSIGNAL);
	ERR_clear_error();
	n = SSL_write(c->ssl, buf, (int)(len > RECORD_MAX ? RECORD_MAX : len));
	if (n > 0)
		return n;
	return fail_as_system(c->ssl, n);
}

static void remember(struct scripted_broker *b, const void *buf, size_t len)
{
	bytes_put(&b->received, buf, len);
	b->arrivals = scripted_grow(b->arrivals, b->arrivals_len,
				    &b->arrivals_size, sizeof(*b->arrivals));
	b->arrivals[b->arrivals_len++] = (struct arrival){
		.end = b->received.len,
		.at_ms = scripted_now_ms(),
	};
	b->count[BROKER_BYTES] += len;
}

static void listen_to(struct scripted_broker *b)
{
	uint8_t buf[RECORD_MAX];
	ssize_t n;

	while ((n = take(&b->conn, buf, sizeof(buf))) > 0) {
		remember(b, buf, (size_t)n);
		bytes_put(&b->conn.in, buf, (size_t)n);
	}
	mqtt_eat(b);
	if (!n || errno != EAGAIN)
		hang_up(b);
}

static void talk(struct scripted_broker *b)
{
	struct connection *c = &b->conn;
	ssize_t n = 0;

	if (c->fd < 0 || (c->ssl && !SSL_is_init_finished(c->ssl)))
		return;
	mqtt_pump(b);
	while (c->out.len && (n = give(c, c->out.data, c->out.len)) > 0)
		bytes_drop(&c->out, (size_t)n);
	if ((n < 0 && errno != EAGAIN) || (!c->out.len && c->closing))
		hang_up(b);
}

static void *run(void *arg)
{
	struct scripted_broker *b = arg;
	sigset_t pipe_signal;
	uint64_t n;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		struct pollfd p[2] = {
			{ .fd = b->wake_fd, .events = POLLIN },
			{ .fd = b->conn.fd >= 0 ? b->conn.fd
				: b->ignore	? -1
						: b->listen_fd,
			  .events = b->conn.fd >= 0 && b->conn.out.len
					    ? POLLIN | POLLOUT
					    : POLLIN },
		};
		bool connected = b->conn.fd >= 0;

		pthread_mutex_unlock(&b->lock);
		poll(p, 2, -1);
		pthread_mutex_lock(&b->lock);
		if (p[0].revents && read(b->wake_fd, &n, sizeof(n)) < 0)
			abort();
		if (b->conn.kill)
			hang_up(b);
		else if (p[1].revents && connected)
			listen_to(b);
		else if (p[1].revents && !b->ignore)
			pick_up(b);
		talk(b);
		pthread_cond_broadcast(&b->changed);
	}
	hang_up(b);
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static int on_sni(SSL *ssl, int *alert, void *arg)
{
	struct scripted_broker *b = arg;
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	(void)alert;
	snprintf(b->sni, sizeof(b->sni), "%s", name ? name : "");
	return SSL_TLSEXT_ERR_OK;
}

static void set_up_tls(struct scripted_broker *b,
		       const struct broker_options *o)
{
	b->ctx = SSL_CTX_new(TLS_server_method());
	must(b->ctx &&
		     SSL_CTX_use_certificate_file(b->ctx, o->cert,
						  SSL_FILETYPE_PEM) == 1 &&
		     SSL_CTX_use_PrivateKey_file(b->ctx, o->key,
						 SSL_FILETYPE_PEM) == 1,
	     "scripted broker: %s, %s", o->cert, o->key);
	SSL_CTX_set_mode(b->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
					 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_tlsext_servername_callback(b->ctx, on_sni);
	SSL_CTX_set_tlsext_servername_arg(b->ctx, b);
	if (!o->client_ca)
		return;
	must(SSL_CTX_load_verify_locations(b->ctx, o->client_ca, NULL),
	     "scripted broker: %s", o->client_ca);
	SSL_CTX_set_verify(b->ctx,
			   SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
			   NULL);
}

static void open_port(struct scripted_broker *b)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sin);

	b->listen_fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	must(!bind(b->listen_fd, (struct sockaddr *)&sin, sizeof(sin)),
	     "bind: %s", strerror(errno));
	must(!getsockname(b->listen_fd, (struct sockaddr *)&sin, &len),
	     "port: %s", strerror(errno));
	b->port = ntohs(sin.sin_port);
}

static void open_path(struct scripted_broker *b, const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	snprintf(b->unix_path, sizeof(b->unix_path), "%s", path);
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	b->listen_fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	must(!bind(b->listen_fd, (struct sockaddr *)&sun, sizeof(sun)),
	     "%s: %s", path, strerror(errno));
}

struct scripted_broker *broker_start(const struct broker_options *o)
{
	static const struct broker_options plain;
	struct scripted_broker *b = calloc(1, sizeof(*b));
	pthread_condattr_t attr;

	must(b, "scripted broker: out of memory");
	o = o ? o : &plain;
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->changed, &attr);
	b->conn.fd = -1;
	b->connack.session_present = -1;
	b->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (o->unix_path)
		open_path(b, o->unix_path);
	else
		open_port(b);
	if (o->cert)
		set_up_tls(b, o);
	must(!listen(b->listen_fd, 16), "listen: %s", strerror(errno));
	must(!pthread_create(&b->thread, NULL, run, b), "thread");
	return b;
}

void broker_stop(struct scripted_broker *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	wake(b);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	mqtt_forget(b);
	close(b->listen_fd);
	close(b->wake_fd);
	if (b->unix_path[0])
		unlink(b->unix_path);
	SSL_CTX_free(b->ctx);
	bytes_fini(&b->received);
	free(b->arrivals);
	free(b->log);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
