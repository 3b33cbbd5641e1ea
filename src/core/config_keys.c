#include "config_internal.h"

#define AT(type, field)                                                        \
	offsetof(struct type, field), sizeof(((struct type *)0)->field)

#define SEC  INT64_C(1000)
#define MIN  (60 * SEC)
#define HOUR (60 * MIN)
#define DAY  (24 * HOUR)
#define KIB  (INT64_C(1) << 10)
#define MIB  (INT64_C(1) << 20)
#define GIB  (INT64_C(1) << 30)

static const char *const off_on[] = { "off", "on", NULL };
static const char *const protocols[] = { "5", "3.1.1", NULL };
static const char *const formats[] = { "json", "text", "raw", NULL };
static const char *const retained[] = { "ignore", "handle", NULL };
static const char *const stale[] = { "skip", "handle", "bury", NULL };
static const char *const idempotent[] = { "marker", "natural", NULL };

const char *const config_dead_limits[] = {
	[DEAD_LIMIT_STOP] = "stop", [DEAD_LIMIT_THIN] = "thin", NULL
};

/* clang-format off */
static const struct key store_keys[] = {
	{ "path", KEY_PATH, AT(store_config, path),
	  .fallback = "/var/lib/mqonce/store.db",
	  .help = "the store; its folder is for the daemon alone" },
	{ "max_size", KEY_SIZE, AT(store_config, max_size),
	  .min = 4 * MIB, .max = 256 * GIB, .fallback = "256M",
	  .help = "most the file may grow to; ingest waits below a reserve" },
	{ "schema", KEY_PATH, AT(store_config, schema),
	  .help = "pattern of SQL files that make your own tables" },
	{ "secure_delete", KEY_CHOICE, AT(store_config, secure_delete),
	  .choices = off_on, .fallback = "off",
	  .help = "overwrite deleted payloads with zeros; costs flash" },
	{ "socket", KEY_PATH, AT(store_config, socket),
	  .help = "where commands reach the daemon; default: path + .sock" },
};

static const struct key broker_keys[] = {
	{ "url", KEY_URL, AT(broker_config, url),
	  .fallback = "mqtt://127.0.0.1:1883",
	  .help = "mqtt://HOST[:1883], mqtts://HOST[:8883] or unix:/PATH" },
	{ "client_id", KEY_CLIENT_ID, AT(broker_config, client_id),
	  .required = true,
	  .help = "the session's name; never used by anyone else" },
	{ "session_expiry", KEY_SECONDS, AT(broker_config, session_expiry_ms),
	  .min = SEC, .max = 3650 * DAY, .fallback = "1h",
	  .help = "how long the broker keeps events while we are away" },
	{ "protocol", KEY_CHOICE, AT(broker_config, protocol),
	  .choices = protocols, .fallback = "5",
	  .help = "version of MQTT: 5 or 3.1.1" },
	{ "keepalive", KEY_SECONDS, AT(broker_config, keepalive_ms),
	  .min = 5 * SEC, .max = 65535 * SEC, .fallback = "60s",
	  .help = "longest silence on the connection" },
	{ "reconnect_max", KEY_DURATION, AT(broker_config, reconnect_max_ms),
	  .min = SEC, .max = HOUR, .fallback = "1m",
	  .help = "longest wait between two connects" },
	{ "user", KEY_TEXT, AT(broker_config, user),
	  .help = "name to log in with" },
	{ "password_file", KEY_PATH, AT(broker_config, password_file),
	  .help = "file whose first line is the password" },
	{ "ca", KEY_PATH, AT(broker_config, ca),
	  .help = "PEM file of the authorities to trust, for mqtts" },
	{ "cert", KEY_PATH, AT(broker_config, cert),
	  .help = "PEM file of our own certificate, for mqtts" },
	{ "key", KEY_PATH, AT(broker_config, key),
	  .help = "PEM file of the certificate's key" },
};

static const struct key limits_keys[] = {
	{ "batch", KEY_COUNT, AT(limits_config, batch),
	  .min = 1, .max = 65535, .fallback = "500",
	  .help = "most deliveries in one transaction" },
	{ "batch_bytes", KEY_SIZE, AT(limits_config, batch_bytes),
	  .min = KIB, .max = 64 * MIB, .fallback = "1M",
	  .help = "most bytes in one transaction" },
	{ "linger", KEY_DURATION, AT(limits_config, linger_ms),
	  .min = 0, .max = SEC, .fallback = "0",
	  .help = "wait this long for more before a commit, to save flash" },
	{ "max_payload", KEY_SIZE, AT(limits_config, max_payload),
	  .min = 1, .max = 64 * MIB, .fallback = "256K",
	  .help = "larger events are poison; only their hash is kept" },
	{ "pending_rows", KEY_COUNT, AT(limits_config, pending_rows),
	  .min = 1, .max = 100000000, .fallback = "100000",
	  .help = "most events one group may have waiting" },
	{ "pending_bytes", KEY_SIZE, AT(limits_config, pending_bytes),
	  .min = KIB, .max = 64 * GIB, .fallback = "64M",
	  .help = "most bytes one group may have waiting" },
	{ "memory", KEY_SIZE, AT(limits_config, memory),
	  .min = 8 * MIB, .max = 64 * GIB, .fallback = "64M",
	  .help = "most memory for data, the whole process" },
};

static const struct key group_keys[] = {
	{ "subscribe", KEY_FILTERS, AT(group_config, filters),
	  .required = true,
	  .help = "topic filters with commas between" },
	{ "tenant", KEY_SELECTOR, AT(group_config, tenant),
	  .text = offsetof(struct group_config, tenant_text),
	  .help = "selector of the tenant; ids never clash across tenants" },
	{ "id", KEY_SELECTOR, AT(group_config, id),
	  .text = offsetof(struct group_config, id_text), .required = true,
	  .help = "selector of the event id; a comma means \"or else\"" },
	{ "fingerprint", KEY_FINGERPRINT, AT(group_config, fingerprint_text),
	  .fallback = "message",
	  .help = "message, payload, payload:$.PATH[, ...] or none" },
	{ "order_key", KEY_SELECTOR, AT(group_config, order_key),
	  .text = offsetof(struct group_config, order_key_text),
	  .help = "selector of what an event is the state of" },
	{ "order_by", KEY_SELECTOR, AT(group_config, order_by),
	  .text = offsetof(struct group_config, order_by_text),
	  .help = "selector of a number or time that grows with each change" },
	{ "stale", KEY_CHOICE, AT(group_config, stale),
	  .choices = stale, .fallback = "skip",
	  .help = "an older event after a newer: skip, handle or bury it" },
	{ "idempotent", KEY_CHOICE, AT(group_config, natural),
	  .choices = idempotent, .fallback = "marker",
	  .help = "marker, or natural: the effect may run again" },
	{ "format", KEY_CHOICE, AT(group_config, format),
	  .choices = formats, .fallback = "json",
	  .help = "json, text or raw; anything else is poison" },
	{ "retained", KEY_CHOICE, AT(group_config, retained),
	  .choices = retained, .fallback = "ignore",
	  .help = "retained copies sent at subscribe: ignore or handle" },
	{ "handler", KEY_HANDLER, AT(group_config, handler_file),
	  .required = true,
	  .help = "sql:/PATH, the statements that make the effect" },
	{ "redelivery_horizon", KEY_DURATION,
	  AT(group_config, redelivery_horizon_ms),
	  .min = SEC, .max = 3650 * DAY, .required = true,
	  .help = "after this no copy of an event can still arrive" },
	{ "ttl", KEY_DURATION, AT(group_config, ttl_ms),
	  .min = SEC, .max = 3650 * DAY, .fallback = "24h",
	  .help = "how long a marker vouches for an event" },
	{ "dead_letter", KEY_CHOICE, AT(group_config, dead_letter),
	  .choices = off_on, .fallback = "on",
	  .help = "keep events given up on; off drops their payload" },
	{ "max_dead", KEY_MAX_DEAD, AT(group_config, max_dead),
	  .min = 1, .max = 100000000, .fallback = "100000 stop",
	  .help = "open dead letters; then stop taking events, or thin the "
		  "oldest" },
	{ "max_attempts", KEY_COUNT, AT(group_config, retry.max_attempts),
	  .min = 1, .max = 10000, .fallback = "20",
	  .help = "attempts before an event is given up on" },
	{ "retry_window", KEY_DURATION, AT(group_config, retry.window_ms),
	  .min = 1, .max = 365 * DAY, .fallback = "30m",
	  .help = "time before an event is given up on" },
	{ "retry_initial", KEY_DURATION, AT(group_config, retry.initial_ms),
	  .min = 1, .max = DAY, .fallback = "1s",
	  .help = "wait after the first failure; doubles" },
	{ "retry_max", KEY_DURATION, AT(group_config, retry.max_ms),
	  .min = 1, .max = DAY, .fallback = "5m",
	  .help = "longest wait between two attempts" },
	{ "timeout", KEY_DURATION, AT(group_config, timeout_ms),
	  .min = 10, .max = 2 * SEC, .fallback = "1s",
	  .help = "longest time one attempt may take" },
	{ .name = "concurrency", .type = KEY_LATER },
	{ .name = "exit_permanent", .type = KEY_LATER },
};

const struct section config_sections[SECTION_COUNT] = {
	[SECTION_STORE]	  = { "store", store_keys, ARRAY_LEN(store_keys) },
	[SECTION_BROKER]  = { "broker", broker_keys, ARRAY_LEN(broker_keys) },
	[SECTION_LIMITS]  = { "limits", limits_keys, ARRAY_LEN(limits_keys) },
	[SECTION_METRICS] = { "metrics", NULL, 0 },
	[SECTION_GROUP]	  = { "group", group_keys, ARRAY_LEN(group_keys) },
};
/* clang-format on */

_Static_assert(ARRAY_LEN(group_keys) <= SECTION_KEYS, "raise SECTION_KEYS");

const struct key *config_key(const struct section *s, struct span name)
{
	for (unsigned i = 0; i < s->len; i++)
		if (span_is(name, s->keys[i].name))
			return &s->keys[i];
	return NULL;
}

void config_put_number(void *at, size_t size, int64_t v)
{
	bool b = v != 0;
	uint32_t narrow = (uint32_t)v;

	if (size == sizeof(b))
		memcpy(at, &b, size);
	else if (size == sizeof(narrow))
		memcpy(at, &narrow, size);
	else
		memcpy(at, &v, sizeof(v));
}

int64_t config_get_number(const void *at, size_t size)
{
	bool b;
	uint32_t narrow;
	int64_t v;

	if (size == sizeof(b)) {
		memcpy(&b, at, size);
		return b;
	}
	if (size == sizeof(narrow)) {
		memcpy(&narrow, at, size);
		return narrow;
	}
	memcpy(&v, at, sizeof(v));
	return v;
}
