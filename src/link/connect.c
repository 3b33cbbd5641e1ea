#include "link_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * The least that a broker may send us in one packet, so that what is too large
 * for a handler still arrives and is buried where it can be seen.
 */
#define PACKET_MIN_BYTES   (1024 * 1024)
#define PACKET_PER_PAYLOAD 4

/* A path that no file can have: connecting to it fails and does nothing. */
#define NO_SOCKET "/dev/null/none"

#define PASSWORD_SIZE 4096

static enum err from_library(struct err_detail *why, int rc)
{
	if (rc == MOSQ_ERR_SUCCESS)
		return OK;
	if (rc == MOSQ_ERR_NOMEM)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	return err_say(why, ERR_CONFIG,
		       "libmosquitto takes no such connection: %s: check "
		       "client_id, user and keepalive",
		       mosquitto_strerror(rc));
}

/* The first line, without its end. */
static enum err read_password(const char *file, char buf[PASSWORD_SIZE],
			      struct err_detail *why)
{
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, PASSWORD_SIZE - 1);

	if (n < 0)
		return err_say(why, ERR_CONFIG,
			       "password_file %s: %s: make it a file that this "
			       "user can read",
			       file, err_system(errno));
	buf[n] = '\0';
	if (n == PASSWORD_SIZE - 1 && !strpbrk(buf, "\r\n"))
		return err_say(
			why, ERR_CONFIG,
			"password_file %s: its first line is longer than "
			"%d bytes: is it the right file?",
			file, PASSWORD_SIZE - 2);
	buf[strcspn(buf, "\r\n")] = '\0';
	if (!buf[0])
		return err_say(why, ERR_CONFIG,
			       "password_file %s: its first line is empty: "
			       "write the password there",
			       file);
	return OK;
}

static enum err set_credentials(struct link *l, struct err_detail *why)
{
	const struct broker_config *bc = l->bc;
	char password[PASSWORD_SIZE];
	enum err e = OK;

	if (bc->password_file && !bc->user)
		return err_say(why, ERR_CONFIG,
			       "password_file is set without user: set user");
	if (!bc->user)
		return OK;
	if (bc->password_file)
		e = read_password(bc->password_file, password, why);
	if (!e)
		e = from_library(why,
				 mosquitto_username_pw_set(
					 l->mosq, bc->user,
					 bc->password_file ? password : NULL));
	explicit_bzero(password, sizeof(password));
	return e;
}

static void set_callbacks(struct mosquitto *m)
{
	mosquitto_connect_v5_callback_set(m, on_connack);
	mosquitto_disconnect_v5_callback_set(m, on_disconnect);
	mosquitto_subscribe_v5_callback_set(m, on_suback);
	mosquitto_message_v5_callback_set(m, on_message);
}

/* Threaded, the library leaves all sending to link_flush(). */
static enum err set_options(struct link *l, struct err_detail *why)
{
	int version = l->bc->protocol == PROTOCOL_5 ? MQTT_PROTOCOL_V5
						    : MQTT_PROTOCOL_V311;
	int rc = mosquitto_threaded_set(l->mosq, true);

	if (!rc)
		rc = mosquitto_int_option(l->mosq, MOSQ_OPT_PROTOCOL_VERSION,
					  version);
	if (!rc && l->bc->transport != TRANSPORT_UNIX)
		rc = mosquitto_int_option(l->mosq, MOSQ_OPT_TCP_NODELAY, 1);
	return from_library(why, rc);
}

static int64_t session_expiry_s(const struct broker_config *bc)
{
	int64_t s = bc->session_expiry_ms / 1000;

	return s > UINT32_MAX ? UINT32_MAX : s;
}

static int connect_properties(const struct link *l, unsigned receive_maximum,
			      mosquitto_property **ret_list)
{
	int64_t packet = l->max_payload > UINT32_MAX / PACKET_PER_PAYLOAD
				 ? UINT32_MAX
				 : l->max_payload * PACKET_PER_PAYLOAD;
	int rc;

	if (receive_maximum > UINT16_MAX || !receive_maximum)
		receive_maximum = UINT16_MAX;
	if (packet < PACKET_MIN_BYTES)
		packet = PACKET_MIN_BYTES;
	rc = mosquitto_property_add_int32(ret_list,
					  MQTT_PROP_SESSION_EXPIRY_INTERVAL,
					  (uint32_t)session_expiry_s(l->bc));
	if (!rc)
		rc = mosquitto_property_add_int16(ret_list,
						  MQTT_PROP_RECEIVE_MAXIMUM,
						  (uint16_t)receive_maximum);
	if (!rc)
		rc = mosquitto_property_add_int32(ret_list,
						  MQTT_PROP_MAXIMUM_PACKET_SIZE,
						  (uint32_t)packet);
	if (!rc)
		rc = mosquitto_property_add_int16(
			ret_list, MQTT_PROP_TOPIC_ALIAS_MAXIMUM, 0);
	return rc;
}

/*
 * The library has no call that connects with properties and without blocking.
 * It keeps those of a blocking one that failed.
 */
static int prime(struct link *l, unsigned receive_maximum, int keepalive_s)
{
	mosquitto_property *list = NULL;
	int rc = MOSQ_ERR_SUCCESS;

	if (l->bc->protocol != PROTOCOL_5)
		return rc;
	rc = connect_properties(l, receive_maximum, &list);
	if (!rc)
		rc = mosquitto_connect_bind_v5(l->mosq, NO_SOCKET, 0,
					       keepalive_s, NULL, list);
	mosquitto_property_free_all(&list);
	return rc == MOSQ_ERR_ERRNO || rc == MOSQ_ERR_NOT_SUPPORTED
		       ? MOSQ_ERR_SUCCESS
		       : rc;
}

/* Why a Unix socket cannot be connected; 2.1 always says EBADF. */
static int unix_errno(const char *path)
{
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(sun.sun_path))
		return ENAMETOOLONG;
	memcpy(sun.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)))
		return errno;
	return EAGAIN;
}

static enum err start(struct link *l, unsigned receive_maximum,
		      struct err_detail *why)
{
	bool is_unix = l->bc->transport == TRANSPORT_UNIX;
	int keepalive_s = (int)(l->bc->keepalive_ms / 1000);
	int rc, err_no;
	enum err e = from_library(why, prime(l, receive_maximum, keepalive_s));

	if (e)
		return e;
	errno = 0;
	rc = mosquitto_connect_bind_async(l->mosq, l->addr.host,
					  is_unix ? 0 : l->addr.port,
					  keepalive_s, NULL);
	err_no = errno;
	if (rc == MOSQ_ERR_INVAL || rc == MOSQ_ERR_NOMEM)
		return from_library(why, rc);
	if (rc || mosquitto_socket(l->mosq) < 0) {
		(void)link_down(l, rc,
				is_unix ? unix_errno(l->addr.host) : err_no);
		*why = l->report.why;
		return ERR_LINK;
	}
	l->wired = is_unix;
	l->was_reset = err_no == ECONNRESET || err_no == EPIPE;
	fcntl(mosquitto_socket(l->mosq), F_SETFD, FD_CLOEXEC);
	return OK;
}

/* All but the connection. */
static enum err prepare(struct link *l, struct err_detail *why)
{
	enum err e;

	l->mosq = mosquitto_new(l->bc->client_id, false, l);
	e = l->mosq ? set_options(l, why)
		    : from_library(why, errno == ENOMEM ? MOSQ_ERR_NOMEM
							: MOSQ_ERR_INVAL);
	if (!e)
		e = set_credentials(l, why);
	if (!e && l->bc->transport == TRANSPORT_TLS)
		e = tls_attach(l, why);
	return e;
}

enum err link_check(const struct broker_config *bc, struct err_detail *why)
{
	struct link *l = calloc(1, sizeof(*l));
	enum err e;

	if (!l)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	l->bc = bc;
	e = prepare(l, why);
	link_free(l);
	return e;
}

enum err link_open(const struct broker_config *bc,
		   const struct link_address *addr, unsigned receive_maximum,
		   int64_t max_payload, const struct link_events *ev,
		   struct link **ret_l, struct err_detail *why)
{
	struct link *l = calloc(1, sizeof(*l));
	enum err e;

	if (!l)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	l->bc = bc;
	l->ev = ev;
	l->addr = *addr;
	l->max_payload = max_payload;
	l->report.connack_code = -1;
	l->report.disconnect_code = -1;
	l->report.session_expiry_s =
		bc->protocol == PROTOCOL_5 ? session_expiry_s(bc) : -1;
	e = prepare(l, why);
	if (!e) {
		set_callbacks(l->mosq);
		e = start(l, receive_maximum, why);
	}
	if (e)
		link_free(l);
	else
		*ret_l = l;
	return e;
}
