/*
 * The configuration file: text in, a whole struct out.  One table per section
 * holds key, type, range, default and help; the parser, `check --print` and
 * the manual's tables come from it.
 */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include <stdint.h>
#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"
#include "core/retry.h"
#include "core/selector.h"

enum protocol { PROTOCOL_5, PROTOCOL_311 };
enum transport { TRANSPORT_TCP, TRANSPORT_TLS, TRANSPORT_UNIX };
enum payload_format { FORMAT_JSON, FORMAT_TEXT, FORMAT_RAW };
enum retained { RETAINED_IGNORE, RETAINED_HANDLE };
/* At max_dead open letters: no more events, or no payload for the oldest. */
enum dead_limit { DEAD_LIMIT_STOP, DEAD_LIMIT_THIN };
enum stale { STALE_SKIP, STALE_HANDLE, STALE_BURY };
enum handler_kind { HANDLER_SQL };
enum fingerprint_kind {
	FINGERPRINT_MESSAGE,
	FINGERPRINT_PAYLOAD,
	FINGERPRINT_PATHS,
	FINGERPRINT_NONE
};

#define CONFIG_FILTERS 16 /* of one group */
#define CONFIG_GROUPS  32

/* Strings are NUL-terminated and given with the struct; NULL: not set. */

struct store_config {
	const char *path;
	int64_t max_size;   /* bytes of the file */
	const char *schema; /* a glob pattern of SQL files */
	bool secure_delete;
	const char *socket;	/* path + ".sock" unless given */
	int socket_line;	/* of the key it comes from */
};

struct broker_config {
	const char *url;
	enum transport transport; /* from url */
	const char *host;	  /* name or address; path of a socket */
	uint16_t port;
	const char *client_id;
	enum protocol protocol;
	int64_t session_expiry_ms; /* whole seconds */
	int64_t keepalive_ms;	   /* whole seconds, 5 s or more */
	int64_t reconnect_max_ms;
	const char *user, *password_file;
	const char *ca, *cert, *key; /* PEM files */
};

struct limits_config {
	int64_t batch;	       /* deliveries in one transaction */
	int64_t batch_bytes;   /* and their size */
	int64_t linger_ms;     /* wait for more, to save flash */
	int64_t max_payload;   /* bytes; larger ones are poison */
	int64_t pending_rows;  /* of one group */
	int64_t pending_bytes; /* of one group */
	int64_t memory;	       /* bytes of data, the process whole */
};

struct group_config {
	const char *name;
	int line;			     /* of its section */
	const char *filters[CONFIG_FILTERS]; /* as configured */
	unsigned filters_len;
	struct selector tenant, id;
	enum fingerprint_kind fingerprint;
	struct selector fingerprint_paths;
	/* The text that decides identities: what a recipe number stands for. */
	const char *tenant_text, *id_text, *fingerprint_text;
	struct selector order_key, order_by; /* both or none */
	const char *order_key_text, *order_by_text;
	enum stale stale; /* what becomes of an older one */
	enum payload_format format;
	enum handler_kind handler;
	const char *handler_file;
	int64_t redelivery_horizon_ms;
	int64_t ttl_ms;
	bool natural; /* idempotent = natural: no done marker */
	enum retained retained;
	bool dead_letter; /* off: payload dropped, counted */
	int64_t max_dead; /* open letters */
	enum dead_limit dead_limit;
	struct retry_policy retry;
	int64_t timeout_ms; /* of one attempt */
};

struct config {
	const char *file;
	struct store_config store;
	struct broker_config broker;
	struct limits_config limits;
	struct group_config groups[CONFIG_GROUPS];
	unsigned groups_len;
	void *memory; /* of the module */
};

/*
 * Reads @text, which came from @file (for messages).  ERR_CONFIG: @why names
 * file, line and what to write instead; ERR_NOMEM.  *ret_c is given:
 * config_free().
 */
MUST_CHECK enum err config_parse(const char *file, struct span text,
				 struct config **ret_c, struct err_detail *why);
void config_free(struct config *c); /* safe on NULL */

/* NULL: none is configured by that name. */
const struct group_config *config_group(const struct config *c,
					struct span name);

/* Letters, digits, _ and -, 64 at most. */
bool config_is_group_name(struct span s);

/* Every key with its value in force, as a file that config_parse() reads. */
void config_print(const struct config *c, FILE *out);

/* A line per known key: section, key, what it may be, help; tabs between. */
void config_print_facts(FILE *out);

/* The known part of what redelivery_horizon must cover, in milliseconds. */
int64_t config_known_horizon_ms(const struct config *c);

/*
 * The promise for one group with its real values, as plain text of several
 * lines; nothing else may claim more.
 */
void config_print_promise(const struct config *c, const struct group_config *g,
			  FILE *out);

/* Calls @warn for each combination that is allowed but surprises people. */
void config_warnings(const struct config *c,
		     void (*warn)(void *arg, const char *text), void *arg);

#endif
