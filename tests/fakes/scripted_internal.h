/* The two halves of the scripted broker: sockets and MQTT. */
#ifndef TESTS_SCRIPTED_INTERNAL_H
#define TESTS_SCRIPTED_INTERNAL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>

#include "scripted_broker.h"

struct bytes {
	uint8_t *data;
	size_t len, size;
};

/* Received bytes up to @end came at @at_ms. */
struct arrival {
	size_t end;
	int64_t at_ms;
};

enum item_state { ITEM_WAITS, ITEM_SENT, ITEM_OVER };

/* A publish of the session, encoded for both versions. */
struct item {
	struct bytes v3, v5;
	uint16_t id;
	int qos;
	bool dup;
	enum item_state state;
};

struct connection {
	int fd; /* -1: none */
	SSL *ssl;
	struct bytes in, out;
	bool v5, accepted; /* CONNACK with code 0 is sent */
	bool closing;	   /* once all is sent */
	bool kill;	   /* at once */
};

struct session {
	bool exists, subscribed;
	struct item *items;
	size_t items_len, items_size;
	uint16_t last_id;
};

struct scripted_broker {
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	pthread_t thread;
	bool stop;
	int listen_fd, wake_fd;
	uint16_t port;
	char unix_path[108];
	SSL_CTX *ctx;
	char sni[256];

	struct broker_connack connack;
	uint8_t connack_properties[256];
	uint8_t suback[64];
	unsigned suback_len, suback_next;
	unsigned window;
	bool mute_pings, ignore, eager;
	uint8_t puback_code;

	struct connection conn;
	struct session session;

	uint64_t count[BROKER_COUNTS];
	struct broker_packet *log;
	size_t log_len, log_size;
	struct bytes received;
	struct arrival *arrivals;
	size_t arrivals_len, arrivals_size;
};

int64_t scripted_now_ms(void);
void bytes_put(struct bytes *b, const void *data, size_t len);
void bytes_drop(struct bytes *b, size_t len);
void bytes_fini(struct bytes *b);
/* Room for one more element. */
void *scripted_grow(void *list, size_t len, size_t *size, size_t element);

/* scripted_mqtt.c; all with the lock held. */

/* Takes whole packets off the front of conn.in and answers them. */
void mqtt_eat(struct scripted_broker *b);
/* Moves what may be sent from the session to conn.out. */
void mqtt_pump(struct scripted_broker *b);
void mqtt_add(struct scripted_broker *b, const struct broker_publish *p);
void mqtt_forget(struct scripted_broker *b);

#endif
