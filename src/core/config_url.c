#include "base/parse.h"
#include "config_internal.h"

static const char forms[] =
	"write mqtt://HOST[:PORT], mqtts://HOST[:PORT] or unix:/PATH";

static bool starts_with(struct span s, const char *prefix, struct span *rest)
{
	size_t len = strlen(prefix);

	if (s.len < len || memcmp(s.data, prefix, len) != 0)
		return false;
	*rest = span_of(s.data + len, s.len - len);
	return true;
}

static bool has_any(struct span s, const char *chars)
{
	for (size_t i = 0; i < s.len; i++)
		if (strchr(chars, s.data[i]))
			return true;
	return false;
}

/* Cuts "HOST:PORT" or "[ADDRESS]:PORT"; the port is absent if not written. */
static bool split_host(struct span s, struct span *ret_host,
		       struct span *ret_port)
{
	struct span rest;

	if (!s.len || s.data[0] != '[') {
		*ret_host = span_cut(s, ':', ret_port);
		return true;
	}
	*ret_host = span_cut(span_of(s.data + 1, s.len - 1), ']', &rest);
	if (!rest.data || (rest.len && rest.data[0] != ':'))
		return false;
	*ret_port = rest.len ? span_of(rest.data + 1, rest.len - 1)
			     : (struct span){ 0 };
	return true;
}

static enum err set_host(struct parser *p, struct broker_config *b, int line,
			 struct span rest, int64_t port)
{
	struct span host, port_text;

	if (has_any(rest, "@"))
		return config_say(p, line,
				  "url holds a user; put the name in \"user\" "
				  "and the password in \"password_file\"");
	if (!split_host(rest, &host, &port_text) || !host.len ||
	    has_any(host, " \t/?#"))
		return config_say(p, line,
				  "url has no proper host; %s, an IPv6 "
				  "address in brackets",
				  forms);
	if (has_any(port_text, ":"))
		return config_say(p, line,
				  "url: put an IPv6 address in brackets, like "
				  "mqtt://[::1]:1883");
	if (port_text.data &&
	    (parse_uint(port_text, &port) || port < 1 || port > 65535))
		return config_say(
			p, line,
			"url: port \"%.*s\" is not a number from 1 to "
			"65535",
			SPAN_FMT(port_text));
	b->port = (uint16_t)port;
	return config_copy(p, host, &b->host);
}

enum err config_set_url(struct parser *p, struct broker_config *b, int line,
			struct span url)
{
	struct span rest;
	enum err e = config_copy(p, url, &b->url);

	if (e)
		return e;
	if (starts_with(url, "mqtt://", &rest)) {
		b->transport = TRANSPORT_TCP;
		return set_host(p, b, line, rest, 1883);
	}
	if (starts_with(url, "mqtts://", &rest)) {
		b->transport = TRANSPORT_TLS;
		return set_host(p, b, line, rest, 8883);
	}
	if (!starts_with(url, "unix:", &rest))
		return config_say(p, line, "url is of no known kind; %s",
				  forms);
	if (!rest.len || rest.data[0] != '/')
		return config_say(p, line,
				  "url: write the socket's whole path, like "
				  "unix:/run/mosquitto/mqtt.sock");
	b->transport = TRANSPORT_UNIX;
	return config_copy(p, rest, &b->host);
}
