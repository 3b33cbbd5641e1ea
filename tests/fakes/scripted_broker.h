/*
 * A broker that does what a test says, on a free port of the loopback and in
 * a thread of its own.  Left alone it is a small working model of one
 * session: it accepts, grants, answers pings, sends what was published within
 * its window and sends again, with DUP, what a dead connection owed.  It
 * records every byte it gets with the time of its coming.
 *
 * It serves one connection at a time; another one waits.  All functions may
 * be called from any thread, also while the client is stuck.
 */
#ifndef TESTS_SCRIPTED_BROKER_H
#define TESTS_SCRIPTED_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scripted_broker;

struct broker_options {
	const char *cert, *key; /* PEM files: TLS; see certificates.h */
	const char *client_ca;	/* clients must show one signed by it */
	const char *unix_path;	/* a Unix socket instead of a port */
};

/* Kept by the client's session; ids are chosen by the model if 0. */
struct broker_publish {
	const char *topic; /* NULL: empty, for an alias */
	const void *payload;
	size_t payload_len; /* 0 with a payload: strlen() */
	int qos;
	uint16_t id;
	bool dup, retain;
	/* MQTT 5 only. */
	const char *content_type, *correlation;
	const char *user[16]; /* name, value, name, value, ..., NULL */
	uint16_t alias;
};

struct broker_connack {
	int code;
	int session_present;	/* -1: as the model knows it */
	const void *properties; /* encoded, without their length; MQTT 5 */
	size_t properties_len;
};

/* What has been seen since the start, over all connections. */
enum broker_count {
	BROKER_BYTES,	    /* of MQTT, TLS taken off */
	BROKER_CONNECTIONS, /* accepted */
	BROKER_CLOSED,	    /* of these, over */
	BROKER_CONNECT,
	BROKER_PUBLISH,
	BROKER_PUBACK,
	BROKER_PUBREC,
	BROKER_SUBSCRIBE,
	BROKER_UNSUBSCRIBE,
	BROKER_PINGREQ,
	BROKER_DISCONNECT,
	BROKER_OTHER,
	BROKER_SENT, /* PUBLISH packets handed to the socket */
	BROKER_COUNTS
};

#define BROKER_BODY_MAX 512

/* One packet of the client. */
struct broker_packet {
	enum broker_count kind;
	unsigned connection;	       /* from 1 */
	int64_t at_ms;		       /* CLOCK_MONOTONIC */
	uint16_t id;		       /* packet id, 0: none */
	uint8_t body[BROKER_BODY_MAX]; /* behind the fixed header, cut */
	size_t body_len;	       /* as received */
};

/* Ends the program when it cannot start; @o may be NULL. */
struct scripted_broker *broker_start(const struct broker_options *o);
void broker_stop(struct scripted_broker *b);
uint16_t broker_port(const struct scripted_broker *b);

/* Behaviour from now on. */
void broker_answer_connect(struct scripted_broker *b,
			   const struct broker_connack *a);
/* Codes for the filters to come, in order; granted QoS 1 after them. */
void broker_answer_subscribe(struct scripted_broker *b, const uint8_t *codes,
			     unsigned n);
/* PUBLISH packets unacknowledged at most; 0: no limit. */
void broker_set_window(struct scripted_broker *b, unsigned n);
void broker_answer_pings(struct scripted_broker *b, bool yes);
/* Reason code for the client's own publishes. */
void broker_answer_publish(struct scripted_broker *b, uint8_t code);
/* Off: publishes go out at CONNACK already, not at the first SUBSCRIBE. */
void broker_wait_for_subscribe(struct scripted_broker *b, bool yes);
/* New connections are left unanswered, before TLS even. */
void broker_ignore(struct scripted_broker *b, bool yes);

/*
 * Acts.  Publishes wait for a client and for the window; those of one call
 * are handed to the socket together.  The others are at once, and nothing
 * without a connection.
 */
void broker_publish(struct scripted_broker *b, const struct broker_publish *p,
		    unsigned n);
void broker_resend(struct scripted_broker *b, uint16_t id, bool dup);
void broker_send(struct scripted_broker *b, const void *bytes, size_t len);
void broker_disconnect(struct scripted_broker *b, uint8_t reason);
void broker_close(struct scripted_broker *b);
/* The session is gone, as after a restart without persistence. */
void broker_forget(struct scripted_broker *b);

/* What came of it. */
uint64_t broker_count(struct scripted_broker *b, enum broker_count what);
/* Waits until the count is @n or more; false after @limit_ms. */
bool broker_wait(struct scripted_broker *b, enum broker_count what, uint64_t n,
		 int limit_ms);
/* Ids of the PUBACKs in order; returns how many there are. */
unsigned broker_pubacks(struct scripted_broker *b, uint16_t *ret_ids,
			unsigned max);
/* The @n-th packet of @kind, from 0; false: there is none. */
bool broker_packet(struct scripted_broker *b, enum broker_count kind,
		   unsigned n, struct broker_packet *ret_p);
/* Copies the bytes received from @from on; returns how many. */
size_t broker_bytes(struct scripted_broker *b, size_t from, void *buf,
		    size_t size);
/* When the @n-th byte came, CLOCK_MONOTONIC; -1: not yet. */
int64_t broker_byte_at_ms(struct scripted_broker *b, size_t n);
/* SNI of the latest TLS client; "" if it sent none. */
void broker_sni(struct scripted_broker *b, char *buf, size_t size);

#endif
