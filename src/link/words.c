#include "link_internal.h"

#include <errno.h>
#include <stdio.h>

const char *link_peer(const struct broker_config *bc,
		      const struct link_address *addr, char buf[LINK_PEER_SIZE])
{
	if (bc->transport == TRANSPORT_UNIX)
		snprintf(buf, LINK_PEER_SIZE, "%s", addr->host);
	else if (!strcmp(bc->host, addr->host))
		snprintf(buf, LINK_PEER_SIZE, "%s port %u", addr->host,
			 addr->port);
	else
		snprintf(buf, LINK_PEER_SIZE, "%.150s (%s) port %u", bc->host,
			 addr->host, addr->port);
	return buf;
}

void words_copy(char *buf, size_t size, const char *s)
{
	size_t n = 0;

	for (; s[n] && n + 1 < size; n++)
		buf[n] = s[n] >= ' ' && s[n] <= '~' && s[n] != '"' ? s[n] : '?';
	buf[n] = '\0';
}

static void say_code(struct link *l, const char *peer)
{
	int code = l->report.disconnect_code;

	if (code == MQTT_RC_SESSION_TAKEN_OVER)
		err_say(&l->report.why, ERR_LINK,
			"broker %s gave the session to another client that "
			"uses client_id \"%s\": each client needs its own",
			peer, l->bc->client_id);
	else
		err_say(&l->report.why, ERR_LINK,
			"broker %s ended the connection: %s (code %d)", peer,
			mosquitto_reason_string(code), code);
}

#define WRONG_PORT "(is this an MQTT port, with or without TLS as url says?)"

/* With TLS, the alert that says why may be lost with the connection. */
static const char *cut_short(const struct link *l)
{
	if (l->bc->transport != TRANSPORT_TLS)
		return "closed before it answered " WRONG_PORT;
	return l->bc->cert ? "closed during TLS: does the broker accept cert "
			     "and key, and is this its TLS port?"
			   : "closed during TLS: does the broker want a "
			     "certificate (cert and key), and is this its "
			     "TLS port?";
}

/* What the system says, and where to look first. */
static const char *system_cause(const struct link *l, int err_no)
{
	switch (err_no) {
	case EPROTO: /* the library's word for any end of a TLS connection */
	case ECONNRESET:
	case EPIPE:
		if (l->state == LINK_CONNECTING)
			return cut_short(l);
		if (err_no == EPROTO)
			return "the TLS connection broke";
		break;
	case ECONNREFUSED:
		return "Connection refused: does the broker run, and is url "
		       "where it listens?";
	case ENOENT:
		if (l->bc->transport != TRANSPORT_UNIX)
			break;
		return "No such file or directory: does the broker run, and is "
		       "url where it listens?";
	case EACCES:
		if (l->bc->transport != TRANSPORT_UNIX)
			break;
		return "Permission denied: let this user write to the broker's "
		       "socket";
	case ENETUNREACH: return "Network is unreachable: is the network up?";
	case EHOSTUNREACH:
		return "No route to host: is the network up, and the host in "
		       "url right?";
	}
	return err_system(err_no);
}

static const char *cause(const struct link *l, int rc, int err_no)
{
	bool connecting = l->state == LINK_CONNECTING;

	switch (rc) {
	case MOSQ_ERR_SUCCESS:
	case MOSQ_ERR_NO_CONN:
	case MOSQ_ERR_CONN_LOST:
		return connecting ? cut_short(l) : "closed by the broker";
	case MOSQ_ERR_KEEPALIVE: return "no answer within the keepalive time";
	case MOSQ_ERR_PROTOCOL:
	case MOSQ_ERR_MALFORMED_PACKET:
	case MOSQ_ERR_MALFORMED_UTF8:
		return connecting ? "its answer is not MQTT " WRONG_PORT
				  : "it sent a packet that MQTT does not allow";
	case MOSQ_ERR_NOMEM: return "no memory for what the broker sent";
	case MOSQ_ERR_ERRNO: return system_cause(l, err_no);
	}
	return rc >= CODE_REFUSED ? mosquitto_reason_string(rc)
				  : mosquitto_strerror(rc);
}

enum err link_down(struct link *l, int rc, int err_no)
{
	struct err_detail tls = { "" };
	char peer[LINK_PEER_SIZE];
	bool connecting = l->state == LINK_CONNECTING;

	link_peer(l->bc, &l->addr, peer);
	if (l->ending || l->report.why.text[0])
		; /* known */
	else if (l->report.disconnect_code >= 0)
		say_code(l, peer);
	else
		err_say(&l->report.why, ERR_LINK, "%s broker %s: %s",
			connecting ? "cannot connect to" : "lost", peer,
			tls_explain(l, &tls) ? tls.text : cause(l, rc, err_no));
	l->state = LINK_DOWN;
	return ERR_LINK;
}
