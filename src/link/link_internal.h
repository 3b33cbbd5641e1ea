/* What the files of the link share: one connection, and why it ended. */
#ifndef LINK_LINK_INTERNAL_H
#define LINK_LINK_INTERNAL_H

#include <mosquitto.h>
#if LIBMOSQUITTO_VERSION_NUMBER < 2001000
#include <mqtt_protocol.h> /* 2.1 has it in mosquitto.h */
#endif

#include "link/link.h"

/* Reason codes of MQTT 5 from here on mean that something is wrong (2.4). */
#define CODE_REFUSED 0x80

/* The two strings of one user property, given by the library. */
struct loan {
	char *name, *value;
};

/* What the TLS layer said while it failed; empty while it did not. */
struct tls_words {
	int verify_error;  /* X509_V_ERR_..., 0: none */
	int verify_depth;  /* 0: the broker's own certificate */
	char alert[64];	   /* sent by the broker */
	char library[128]; /* the reason of OpenSSL */
};

struct link {
	struct mosquitto *mosq;
	const struct broker_config *bc; /* kept */
	const struct link_events *ev;	/* kept */
	struct link_address addr;
	int64_t max_payload;
	enum link_state state;
	struct link_report report;
	bool wired;	/* the socket is connected; TLS may still shake hands */
	bool was_reset; /* before the first look at the socket */
	bool ending;	/* the end is ours */
	int broken;	/* MOSQ_ERR_... found in a callback, 0: none */
	bool ended;	/* the library said so, with these two */
	int end_code, err_no;
	struct tls_words tls;

	/* Of the link_read() under way. */
	unsigned deliveries;
	size_t bytes;

	/* Reused by each delivery. */
	struct property *properties;
	struct loan *loans;
	unsigned properties_size;

	bool synchronised; /* the clock, as of asked_ms */
	int64_t asked_ms;

	/* Packet ids of the latest link_subscribe(), by filter. */
	int *mids;
	unsigned mids_len;
};

/* words.c: the one place where a connection ends. */

/*
 * Puts the link down and says why, unless that is known already.  @rc is the
 * library's code, @err_no the errno beside it.  Always ERR_LINK.
 */
enum err link_down(struct link *l, int rc, int err_no);

/* Name and number of the broker, for messages. */
#define LINK_PEER_SIZE 320
const char *link_peer(const struct broker_config *bc,
		      const struct link_address *addr,
		      char buf[LINK_PEER_SIZE]);

/* Copies @s cut and printable: it comes from the other side. */
void words_copy(char *buf, size_t size, const char *s);

/* tls.c and tls_words.c, or tls_none.c */

/* "3.0.19"; NULL: built without TLS. */
const char *tls_version(void);

/* ERR_CONFIG: a file is not usable, @why names it. */
MUST_CHECK enum err tls_attach(struct link *l, struct err_detail *why);

/* The handshake is under way. */
bool tls_shakes_hands(const struct link *l);
bool tls_wants_write(const struct link *l);
bool tls_has_buffered(const struct link *l);

/* Words for a failed handshake; false when TLS has nothing to say. */
bool tls_explain(const struct link *l, struct err_detail *why);

/* deliver.c, subscribe.c: the library's callbacks. */
void on_message(struct mosquitto *m, void *arg,
		const struct mosquitto_message *msg,
		const mosquitto_property *props);
void on_suback(struct mosquitto *m, void *arg, int mid, int n,
	       const int *granted, const mosquitto_property *props);

/* session.c */
void on_connack(struct mosquitto *m, void *arg, int code, int flags,
		const mosquitto_property *props);
void on_disconnect(struct mosquitto *m, void *arg, int code,
		   const mosquitto_property *props);

#endif
