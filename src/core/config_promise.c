#include <inttypes.h>
#include <stdarg.h>

#include "base/parse.h"
#include "config_internal.h"

#define WIDTH 78

/*
 * Prints words wrapped at WIDTH: @first before the first line, as many blanks
 * before the others.
 */
static void wrap(FILE *out, const char *first, const char *fmt, ...)
	PRINTF(3, 4);

static void wrap(FILE *out, const char *first, const char *fmt, ...)
{
	char text[2048];
	struct span rest = { .data = text };
	size_t column = strlen(first);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rest.len = strlen(text);
	fputs(first, out);
	for (bool start = true; rest.data; start = false) {
		struct span word = span_cut(rest, ' ', &rest);

		if (!start && column + 1 + word.len > WIDTH) {
			fprintf(out, "\n%*s", (int)strlen(first), "");
			column = strlen(first);
			start = true;
		}
		fprintf(out, "%s%.*s", start ? "" : " ", SPAN_FMT(word));
		column += word.len + !start;
	}
	fputc('\n', out);
}

static void print_title(const struct config *c, const struct group_config *g,
			FILE *out)
{
	fprintf(out, "Group %s\n\n", g->name);
	wrap(out, "  ", "Broker %s, client %s, MQTT %s.", c->broker.url,
	     c->broker.client_id,
	     c->broker.protocol == PROTOCOL_5 ? "5" : "3.1.1");
	for (unsigned i = 0; i < g->filters_len; i++)
		wrap(out, "  ", "Subscribes to %s at QoS 1.", g->filters[i]);
	wrap(out, "  ", "Event id: %s. Tenant: %s. Fingerprint: %s.",
	     g->id_text, g->tenant_text ? g->tenant_text : "none",
	     g->fingerprint_text);
}

static void print_core(const struct group_config *g, FILE *out)
{
	char ttl[PARSE_TEXT_SIZE];

	fputs("\nPromised\n\n", out);
	if (g->natural)
		wrap(out, "  ",
		     "Every delivery that was acknowledged ends in exactly one "
		     "visible place: done, pending or dead. The effect may "
		     "be committed more than once for one event, because "
		     "idempotent = natural keeps no marker of what is done: "
		     "this group relies on an effect that comes out the same "
		     "each time.");
	else
		wrap(out, "  ",
		     "For one %sevent id, within %s, the effect written "
		     "through the store is committed at most once, and every "
		     "delivery that was acknowledged ends in exactly one "
		     "visible place: done, pending or dead. This is "
		     "at-least-once delivery with an idempotent database "
		     "effect.",
		     g->tenant.len ? "tenant and " : "",
		     duration_text(ttl, g->ttl_ms));
}

static void print_order(const struct group_config *g, FILE *out)
{
	static const char *const fate[] = {
		[STALE_SKIP] = "has no effect and is done (superseded)",
		[STALE_HANDLE] = "is handled with :stale = 1",
		[STALE_BURY] = "is a dead letter (order.stale)",
	};

	if (!g->order_key.len)
		return;
	fputc('\n', out);
	wrap(out, "  ",
	     "An event whose %s is older than that of the last one handled "
	     "with the same %s %s, also when it is retried or replayed.",
	     g->order_by_text, g->order_key_text, fate[g->stale]);
}

static void print_retries(const struct retry_policy *r, FILE *out)
{
	char initial[PARSE_TEXT_SIZE], max[PARSE_TEXT_SIZE],
		window[PARSE_TEXT_SIZE];

	fputc('\n', out);
	if (r->max_attempts == 1) {
		wrap(out, "  ", "An attempt that fails is not made again.");
		return;
	}
	wrap(out, "  ",
	     "An attempt that fails for a while is made again: up to %u "
	     "attempts within %s, first after %s, then after twice as long "
	     "each time, at most %s, give or take 20 %%.",
	     r->max_attempts, duration_text(window, r->window_ms),
	     duration_text(initial, r->initial_ms),
	     duration_text(max, r->max_ms));
}

static void print_failure(const struct group_config *g, FILE *out)
{
	print_retries(&g->retry, out);
	wrap(out, "  ",
	     "What still fails then, and what can never succeed, "
	     "is %s.",
	     g->dead_letter ? "a dead letter, kept with its history until an "
			      "operator decides"
			    : "counted and dropped, since dead_letter = off");
	if (!g->dead_letter)
		return;
	if (g->dead_limit == DEAD_LIMIT_STOP)
		wrap(out, "  ",
		     "While %" PRId64 " of them are open no event is taken: "
		     "the broker keeps what comes.",
		     g->max_dead);
	else
		wrap(out, "  ",
		     "When more than %" PRId64 " of them are open the oldest "
		     "lose their payload; topic, ids and history stay.",
		     g->max_dead);
}

static void print_scope(const struct config *c, const struct group_config *g,
			FILE *out)
{
	char horizon[PARSE_TEXT_SIZE], expiry[PARSE_TEXT_SIZE],
		sum[CONFIG_SUM_TEXT];

	fputs("\nAs long as\n\n", out);
	wrap(out, "  - ",
	     "the broker keeps the session for %s after a "
	     "connection is lost%s;",
	     duration_text(expiry, c->broker.session_expiry_ms),
	     c->broker.protocol == PROTOCOL_5
		     ? ""
		     : ", which with MQTT 3.1.1 is the broker's own setting");
	wrap(out, "  - ", "the file system and the device honour fsync;");
	wrap(out, "  - ", "producers keep the event id when they send again;");
	wrap(out, "  - ",
	     "no copy arrives later than redelivery_horizon = %s "
	     "(%s).",
	     duration_text(horizon, g->redelivery_horizon_ms),
	     config_sum_text(sum, c, g));
}

/* MQTT 3.1.1 has no maximum packet size to ask for. */
static void print_size_limits(const struct config *c, FILE *out)
{
	int64_t packet = 4 * c->limits.max_payload;
	char payload[PARSE_TEXT_SIZE], max[PARSE_TEXT_SIZE];

	if (packet < 1 << 20)
		packet = 1 << 20;
	wrap(out, "  - ",
	     "the content of payloads above %s: they become dead "
	     "letters with topic, size and hash only;",
	     size_text(payload, c->limits.max_payload));
	if (c->broker.protocol == PROTOCOL_5)
		wrap(out, "  - ",
		     "packets above %s: the broker drops them "
		     "unseen, as we ask it to;",
		     size_text(max, packet));
	else
		wrap(out, "  - ",
		     "a limit on packets: MQTT 3.1.1 cannot ask "
		     "the broker for one, so only the memory "
		     "limit holds;");
}

static void print_exclusions(const struct config *c,
			     const struct group_config *g, FILE *out)
{
	char ttl[PARSE_TEXT_SIZE];

	fputs("\nNot promised\n\n", out);
	wrap(out, "  - ",
	     "anything before our PUBACK: from the publisher to "
	     "the broker, and what the broker itself loses;");
	if (!g->natural)
		wrap(out, "  - ",
		     "suppression of a copy that arrives more "
		     "than %s after its event was handled;",
		     duration_text(ttl, g->ttl_ms));
	wrap(out, "  - ",
	     "deliveries at QoS 0: they are handled and counted, "
	     "but may be lost;");
	print_size_limits(c, out);
	if (g->retained == RETAINED_HANDLE)
		wrap(out, "  - ",
		     "retained copies: they come again at each "
		     "subscribe, later than any ttl;");
	if (g->fingerprint == FINGERPRINT_NONE)
		wrap(out, "  - ",
		     "notice of an event id that is used again "
		     "for something else;");
	if (!g->dead_letter)
		wrap(out, "  - ", "the payload of events given up on;");
	wrap(out, "  - ",
	     g->order_key.len ? "order between events of different order keys;"
			      : "order between events;");
	wrap(out, "  - ", "effects outside the store.");
}

void config_print_promise(const struct config *c, const struct group_config *g,
			  FILE *out)
{
	print_title(c, g, out);
	print_core(g, out);
	print_order(g, out);
	print_failure(g, out);
	print_scope(c, g, out);
	print_exclusions(c, g, out);
}
