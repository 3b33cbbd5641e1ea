#include "link_internal.h"

#include <errno.h>

#define FLAG_SESSION_PRESENT 0x01 /* MQTT 5, 3.2.2.1.1 */

static void read_limits(struct link_report *r, const mosquitto_property *props)
{
	uint32_t v;

	if (mosquitto_property_read_int32(
		    props, MQTT_PROP_SESSION_EXPIRY_INTERVAL, &v, false))
		r->session_expiry_s = v;
	if (mosquitto_property_read_int32(props, MQTT_PROP_MAXIMUM_PACKET_SIZE,
					  &v, false))
		r->maximum_packet = v;
}

/* What there is to do about a refusal; NULL: the words of the code suffice. */
static const char *advice(int code)
{
	switch (code) {
	case 1:
	case MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION:
		return "set the other protocol (5 or 3.1.1)";
	case 2:
	case MQTT_RC_CLIENTID_NOT_VALID: return "check client_id";
	case 4:
	case MQTT_RC_BAD_USERNAME_OR_PASSWORD:
		return "check user and password_file";
	case 5:
	case MQTT_RC_NOT_AUTHORIZED:
		return "check user, password_file and what the broker allows";
	case MQTT_RC_PACKET_TOO_LARGE:
		return "check client_id and user: the broker finds CONNECT "
		       "too large";
	}
	return NULL;
}

static void refuse(struct link *l, int code, const mosquitto_property *props)
{
	char peer[LINK_PEER_SIZE], said[96] = "";
	const char *hint = advice(code);
	char *reason = NULL;

	if (mosquitto_property_read_string(props, MQTT_PROP_REASON_STRING,
					   &reason, false) &&
	    reason)
		words_copy(said, sizeof(said), reason);
	free(reason);
	err_say(&l->report.why, ERR_LINK,
		"broker %s refuses the connection: %s (code %d)%s%s%s%s%s",
		link_peer(l->bc, &l->addr, peer),
		code < CODE_REFUSED ? mosquitto_connack_string(code)
				    : mosquitto_reason_string(code),
		code, said[0] ? ", it says \"" : "", said, said[0] ? "\"" : "",
		hint ? ": " : "", hint ? hint : "");
	l->broken = MOSQ_ERR_CONN_REFUSED;
}

void on_connack(struct mosquitto *m UNUSED, void *arg, int code, int flags,
		const mosquitto_property *props)
{
	struct link *l = arg;

	if (l->state != LINK_CONNECTING) {
		l->broken = MOSQ_ERR_PROTOCOL;
	} else if (l->report.connack_code = code, code) {
		refuse(l, code, props);
	} else {
		l->state = LINK_CONNECTED;
		l->report.session_present = flags & FLAG_SESSION_PRESENT;
		read_limits(&l->report, props);
		if (l->ev->on_connected)
			l->ev->on_connected(l->ev->arg);
	}
	errno = 0;
}

/*
 * Comes for the broker's DISCONNECT with its reason code and for any other
 * end; may come twice.  settle() tells whose code it is.
 */
void on_disconnect(struct mosquitto *m UNUSED, void *arg, int code,
		   const mosquitto_property *props UNUSED)
{
	struct link *l = arg;

	if (!l->ended) {
		l->ended = true;
		l->end_code = code;
		l->err_no = errno;
	}
	errno = 0;
}
