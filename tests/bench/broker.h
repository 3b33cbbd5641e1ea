/*
 * A private mosquitto on a free loopback port, with a session to fill.  What
 * fails ends the benchmark.
 */
#ifndef TESTS_BENCH_BROKER_H
#define TESTS_BENCH_BROKER_H

#include <stdint.h>
#include <sys/types.h>

#define BROKER_CLIENT_ID "bench"
#define BROKER_TOPIC	 "bench/events"

struct broker {
	pid_t pid;
	int port;
	char dir[512];
};

/* Started in @dir, with a persistent session of BROKER_CLIENT_ID. */
void broker_start(struct broker *b, const char *dir);
void broker_stop(struct broker *b);

/*
 * Publishes the events [from, to) and returns when the broker has answered for
 * all of them.  The same number makes the same event, its id included.
 */
void broker_fill(const struct broker *b, unsigned from, unsigned to);

/* Bytes of one event's payload. */
unsigned broker_event_bytes(void);

#endif
