/*
 * The broker connection.  Nothing outside src/link/ sees libmosquitto.
 *
 * One struct link is one connection and is never used for a second one: what
 * a library handle keeps of a dead connection (aliases, read-ahead, publishes)
 * must not reach the next.
 *
 * PUBACKs are held back: link_read() queues what it owes, and only
 * link_flush() puts it on the wire.  Never call link_flush() with uncommitted
 * reads behind it; link_free() sends nothing at all.
 */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "core/config.h"
#include "core/event.h"

struct link;

/* Where to connect: numbers only, the library's own resolver blocks. */
struct link_address {
	char host[108]; /* numeric IPv4 or IPv6, or a socket's path */
	uint16_t port;
};

/* The broker's DISCONNECT when another client has our id (MQTT 5, 3.14.2.1). */
#define LINK_TAKEN_OVER	0x8e

enum link_state {
	LINK_CONNECTING, /* TCP, TLS, waiting for CONNACK */
	LINK_CONNECTED,	 /* CONNACK accepted */
	LINK_DOWN,	 /* over; link_report() says why */
};

/* What the broker said, for those who decide what happens next. */
struct link_report {
	bool session_present;
	int connack_code; /* reason code of MQTT 5, or return code; -1: none */
	int disconnect_code;	  /* of the broker's DISCONNECT; -1: none */
	int64_t session_expiry_s; /* in force; -1: not said */
	uint32_t maximum_packet;  /* bytes the broker takes; 0: not said */
	uint64_t deliveries;	  /* since CONNACK */
	struct err_detail why;	  /* empty while all is well */
};

/*
 * Per-filter answer of SUBACK: 0-2 granted QoS, 0x80 and more refused.
 * @index counts the filters of the latest link_subscribe().
 */
typedef void link_suback_fn(void *arg, unsigned index, int code);

/* User properties of one delivery that are passed on. */
#define LINK_PROPERTIES_MAX 1024

/*
 * Takes one delivery.  @ev is borrowed for the call; it may be called
 * thousands of times by one link_read() and cannot stop it.  A delivery whose
 * user properties are more than LINK_PROPERTIES_MAX or larger than max_payload
 * is flagged oversize and carries those that fit.
 */
typedef void link_delivery_fn(void *arg, const struct event *ev);

struct link_events { /* kept */
	void *arg;
	link_delivery_fn *on_delivery;
	link_suback_fn *on_suback;
	void (*on_connected)(void *arg); /* from within link_read() */
};

/* Once per process, before any other call and after the last. */
MUST_CHECK enum err link_library_init(void);
void link_library_fini(void);

/*
 * Whether link_open() could use the files that @bc names; ERR_CONFIG: @why
 * says which it could not.
 */
MUST_CHECK enum err link_check(const struct broker_config *bc,
			       struct err_detail *why);

/*
 * Starts to connect to @addr; returns at once.  Credentials and certificates
 * are read anew, so rotated files need no restart.  ERR_CONFIG: a file is not
 * usable; ERR_LINK: refused at once; @why has the words.
 * @bc and @ev are kept.  @receive_maximum: deliveries in flight at most
 * (MQTT 5).  @max_payload: larger payloads arrive flagged oversize.
 * *ret_l is given: link_free().
 */
MUST_CHECK enum err link_open(const struct broker_config *bc,
			      const struct link_address *addr,
			      unsigned receive_maximum, int64_t max_payload,
			      const struct link_events *ev, struct link **ret_l,
			      struct err_detail *why);

/* Cuts the connection with nothing more sent.  Safe on NULL. */
void link_free(struct link *l);

enum link_state link_state(const struct link *l);
const struct link_report *link_report(const struct link *l);

/*
 * For the loop; -1 once down.  Interest is POLLIN, or POLLOUT while something
 * is queued: what the broker does not take bounds what is read from it.  Both
 * in the TLS handshake, if needed.
 */
int link_fd(const struct link *l);
short link_interest(const struct link *l);

/*
 * Bytes to be read are waiting inside the TLS layer, where poll(2) cannot see
 * them.
 */
bool link_has_buffered(const struct link *l);

/*
 * Reads what the socket has, until it is dry or at least @max deliveries or
 * @max_bytes of them have come.  The caller holds the store's write lock: a
 * read owes PUBACKs.  ERR_LINK once the connection is gone; what was
 * delivered before counts.
 */
MUST_CHECK enum err link_read(struct link *l, unsigned max, size_t max_bytes);

/*
 * Sends all that is queued: PUBACKs in the order of their PUBLISHes, pings.
 * Also drives the handshake.  Only with everything read committed.
 */
MUST_CHECK enum err link_flush(struct link *l);

/*
 * Keepalive; queues a ping when due, sends nothing.  Call at least once a
 * second.  ERR_LINK when the broker was silent for too long.
 */
MUST_CHECK enum err link_tick(struct link *l);

/*
 * Queue a SUBSCRIBE at QoS 1 with retain handling by @retained per filter,
 * or an UNSUBSCRIBE; the next link_flush() sends it.  ERR_CONFIG: the library
 * refuses a filter, or the broker takes no packet of that size; link_report()
 * names it, and the link stays up.  ERR_LINK, ERR_NOMEM.
 */
MUST_CHECK enum err link_subscribe(struct link *l, const char *const *filters,
				   const enum retained *retained, unsigned n);
MUST_CHECK enum err link_unsubscribe(struct link *l, const char *const *filters,
				     unsigned n);

/*
 * Orderly end: sends what is queued and DISCONNECT, the session stays.  Only
 * with everything read committed.  The link is down afterwards.
 */
void link_disconnect(struct link *l);

/* Versions from the build: "libmosquitto 2.0.11, OpenSSL 3.0.19". */
const char *link_library_versions(void);

/* What was built in, each a text. */
struct link_library {
	const char *mosquitto, *mosquitto_options;
	const char *tls, *tls_options; /* "none" and "" */
};
void link_library(struct link_library *ret);

#endif
