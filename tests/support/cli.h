/*
 * The program as a person at a shell has it: a command goes in, its status,
 * output and errors come out.  Errors are held to what all of them share: one
 * line, ours, with nothing in it out of a payload.
 */
#ifndef TESTS_CLI_H
#define TESTS_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway.h"

#define CANARY	"canary-7f3a"
#define SCHEMA	"CREATE TABLE effect (id TEXT NOT NULL, v TEXT) STRICT;"
#define HANDLER "INSERT INTO effect (id, v) VALUES (:event_id, :payload);"

#define CONF(store, broker, id, group)                                         \
	"[store]\n" store "[broker]\nurl = mqtt://127.0.0.1:1\n"               \
	"client_id = gw\nsession_expiry = 1h\n" broker                         \
	"[group g]\nsubscribe = t/#\nid = " id "\nhandler = sql:@D/h.sql\n"    \
	"redelivery_horizon = 3h\n" group
#define STORE "path = @D/store/s.db\nschema = @D/s.sql\n"
#define GROUP(id)                                                              \
	"[group g]\nsubscribe = t/#\nid = " id "\nhandler = sql:@D/h.sql\n"    \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define GOOD_CONF CONF(STORE, "", "payload:$.id", "ttl = 24h\n")

/* Commands that read the configuration; those that read all of it. */
#define ALL   "check|run|status|dead list|dead show 1"
#define START "check|run"

#define LIMIT_MS 15000

struct ran {
	int status; /* -signal */
	char out[1 << 17], err[8192];
};

/* How to run it, where that is not the usual. */
struct how {
	int out_fd;	  /* 0: a file */
	bool as_nobody;	  /* root may read everything */
	bool ignore_pipe; /* as under a service manager */
	const char *columns;
};

/* With GOOD_CONF, SCHEMA and HANDLER, and without a broker. */
struct gateway *cli_gateway(void);

/* The name of a file of @g; good for three more calls. */
const char *cli_path(const struct gateway *g, const char *name);
/* gateway_expand(); good until the next call. */
const char *cli_expand(const struct gateway *g, const char *text);
/* NUL-terminated; for the caller to free(). */
char *cli_file(const char *path, size_t *ret_len);
void cli_file_into(const char *path, char *buf, size_t size);

/* `PROGRAM args -c CONF`, with one space between words. */
void cli_run(struct gateway *g, struct ran *r, const char *args);
void cli_run_how(struct gateway *g, struct ran *r, const char *args,
		 const struct how *how);

/* The store as one run of the daemon leaves it. */
void cli_make_store(struct gateway *g);

/* One line, from us, with @part in it, and nothing out of a payload. */
void cli_assert_error(struct gateway *g, const struct ran *r, const char *args,
		      int status, const char *part);
/* Each of the commands, with | between them, gives the same error. */
void cli_each_fails(struct gateway *g, const char *commands, int status,
		    const char *part);

void assert_has(const char *text, const char *part);
void assert_lacks(const char *text, const char *part);
/* No line of @text has more than @width characters. */
void assert_narrow(const char *text, size_t width);

#endif
