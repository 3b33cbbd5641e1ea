/*
 * A gateway for system tests: a private mosquitto on a free loopback port, the
 * real program on a store of its own, and a publisher.  What cannot be set up
 * fails the test; everything started is ended by its pid.
 */
#ifndef TESTS_GATEWAY_H
#define TESTS_GATEWAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host.h"

struct gateway_options {
	const char *mosquitto; /* more lines for mosquitto.conf; @D, @P */
	const char *url;       /* default mqtt://127.0.0.1:@P */
	const char *broker;    /* more lines for [broker] */
	const char *groups;    /* [limits] and groups; @H is the handler file */
	const char *schema, *handler;
	bool no_listener; /* @mosquitto names its own */
	bool no_broker;	  /* another one listens at @port */
	int port;
};

struct gateway {
	char dir[FOLDER_SIZE], conf[80], log[80];
	int port;
	pid_t broker, daemon;
	const char *program;
	bool no_listener;
};

/* @D in the texts is the directory, @P the port. */
struct gateway *gateway_new(const struct gateway_options *o);
void gateway_free(struct gateway *g);

void gateway_broker_start(struct gateway *g);
void gateway_broker_end(struct gateway *g, int signal);

/* @env: one "NAME=VALUE" more, or NULL. */
void gateway_start(struct gateway *g, const char *env);
/* Whether it has ended by itself; if so it is reaped. */
bool gateway_ended(struct gateway *g);
/* Waits for its end; the exit status, or -signal. */
int gateway_wait_end(struct gateway *g, int limit_ms);
int gateway_end(struct gateway *g, int signal);

/* Starts it and waits until it has subscribed. */
void gateway_up(struct gateway *g);

/* Publishes at QoS 1 and waits until the broker has answered for all. */
void gateway_publish(struct gateway *g, const char *topic,
		     const char *const *payloads, unsigned n);

/* A number from the store, read-only; -1 while there is none. */
int64_t gateway_int(struct gateway *g, const char *sql);
/* Waits until @sql gives @want or more. */
void gateway_wait(struct gateway *g, const char *sql, int64_t want,
		  int limit_ms);

/* Times that @text stands in the daemon's log. */
unsigned gateway_logged(struct gateway *g, const char *text);
void gateway_wait_log(struct gateway *g, const char *text, unsigned times,
		      int limit_ms);

/* Runs `PROGRAM args... -c CONF`; what it printed is in @out. */
int gateway_command(struct gateway *g, char *out, unsigned size,
		    const char *args);

/* Replaces @D by the directory, @P by the port, @H by the handler file. */
void gateway_expand(const struct gateway *g, const char *text, char *out,
		    size_t size);

/* Writes @text, expanded, to the file @name. */
void gateway_file(struct gateway *g, const char *name, const char *text);

#endif
