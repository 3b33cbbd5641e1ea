#include "hostile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define EVENTS_MAX 1000
#define SCHEMA	   "CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT) STRICT;"
#define HANDLER	   "INSERT INTO effect (id) VALUES (:event_id);"
#define GROUP                                                                  \
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n"      \
	"redelivery_horizon = 3h\nttl = 24h\n"

static void start_broker(struct hostile *h, const struct hostile_options *o)
{
	struct broker_options tls = { 0 };

	if (o->tls) {
		certificates_make(&h->certs, o->spec);
		tls.cert = h->certs.cert;
		tls.key = h->certs.key;
	}
	h->b = broker_start(&tls);
	h->wire = wire_start(broker_port(h->b), o->narrow);
}

struct hostile *hostile_new(const struct hostile_options *o)
{
	struct hostile *h = calloc(1, sizeof(*h));
	char lines[512], ca[160] = "";

	assert_non_null(h);
	signal(SIGPIPE, SIG_IGN);
	h->tls = o->tls;
	start_broker(h, o);
	if (o->tls)
		snprintf(ca, sizeof(ca), "ca = %s\n", h->certs.ca);
	snprintf(lines, sizeof(lines),
		 "%skeepalive = 5s\nreconnect_max = 1s\n%s", ca,
		 o->broker ? o->broker : "");
	h->g = gateway_new(&(struct gateway_options){
		.no_broker = true,
		.port = wire_port(h->wire),
		.url = o->url	? o->url
		       : o->tls ? "mqtts://127.0.0.1:@P"
				: NULL,
		.broker = lines,
		.groups = o->groups ? o->groups : GROUP,
		.schema = SCHEMA,
		.handler = HANDLER });
	return h;
}

void hostile_free(struct hostile *h)
{
	if (!h)
		return;
	gateway_free(h->g);
	wire_stop(h->wire);
	broker_stop(h->b);
	if (h->tls)
		certificates_remove(&h->certs);
	free(h);
}

void hostile_start_slow(struct hostile *h)
{
	const char *slow = getenv("MQONCE_SLOW");
	char env[4200];

	/* A sanitizer wants to be the first, and need not be. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
	snprintf(env, sizeof(env), "LD_PRELOAD=%s",
		 slow ? slow : "build/host/tests/fakes/preload/slow.so");
	gateway_start(h->g, env);
}

void hostile_up(struct hostile *h)
{
	uint64_t before = broker_count(h->b, BROKER_SUBSCRIBE);

	gateway_start(h->g, NULL);
	assert_true(
		broker_wait(h->b, BROKER_SUBSCRIBE, before + 1, HOSTILE_MS));
}

void hostile_publish(struct hostile *h, unsigned from, unsigned n)
{
	static struct broker_publish p[EVENTS_MAX];
	static char payload[EVENTS_MAX][32];

	assert_true(n <= EVENTS_MAX);
	for (unsigned i = 0; i < n; i++) {
		snprintf(payload[i], sizeof(payload[i]), "{\"id\":\"%u\"}",
			 from + i);
		p[i] = (struct broker_publish){
			.topic = "t",
			.payload = payload[i],
			.qos = 1,
		};
	}
	broker_publish(h->b, p, n);
}

void hostile_wait_effects(struct hostile *h, unsigned n)
{
	gateway_wait(h->g, HOSTILE_EFFECTS, n, HOSTILE_MS);
	assert_int_equal(gateway_int(h->g, HOSTILE_EFFECTS), n);
	assert_int_equal(gateway_int(h->g, "SELECT count(DISTINCT id)"
					   " FROM effect"),
			 n);
}

long hostile_cpu_ms(struct hostile *h)
{
	unsigned long user = 0, system = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)h->g->daemon);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f,
				"%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u"
				" %*u %*u %*u %lu %lu",
				&user, &system),
			 2);
	fclose(f);
	return (long)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

static long memory_kb(struct hostile *h, const char *key)
{
	char path[64], line[256];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)h->g->daemon);
	f = fopen(path, "r");
	assert_non_null(f);
	while (kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kb = strtol(line + strlen(key), NULL, 10);
	fclose(f);
	assert_true(kb > 0);
	return kb;
}

long hostile_rss_kb(struct hostile *h)
{
	return memory_kb(h, "VmRSS:");
}

long hostile_peak_kb(struct hostile *h)
{
	return memory_kb(h, "VmHWM:");
}

void hostile_status_says(struct hostile *h, const char *words)
{
	static char out[16384];

	assert_int_equal(gateway_command(h->g, out, sizeof(out), "status"), 0);
	if (!strstr(out, words))
		fail_msg("\"%s\" is not in: %s", words, out);
}
