#include "base/parse.h"
#include "config_internal.h"
#include "core/topic.h"

/* Where the first of these keys that the file has stands. */
static int first_line(const struct scope *s, const char *const keys[3])
{
	for (unsigned i = 0; i < 3 && keys[i]; i++)
		if (config_line(s, keys[i]) != s->line)
			return config_line(s, keys[i]);
	return s->line;
}

#define LINE(s, ...) first_line(s, (const char *const[3]){ __VA_ARGS__ })

static enum err check_tls(struct parser *p)
{
	const struct broker_config *b = &p->c->broker;
	const struct scope *s = &p->fixed[SECTION_BROKER];
	const struct {
		const char *key, *value;
	} files[] = { { "ca", b->ca }, { "cert", b->cert }, { "key", b->key } };

	if (b->transport != TRANSPORT_TLS)
		for (unsigned i = 0; i < ARRAY_LEN(files); i++)
			if (files[i].value)
				return config_say(
					p, config_line(s, files[i].key),
					"%s is for TLS, but url is %s; write "
					"mqtts:// or remove it",
					files[i].key, b->url);
	if (b->cert && !b->key)
		return config_say(p, config_line(s, "cert"),
				  "cert without key; add key = /PATH");
	if (b->key && !b->cert)
		return config_say(p, config_line(s, "key"),
				  "key without cert; add cert = /PATH");
	return OK;
}

static enum err check_broker(struct parser *p)
{
	const struct broker_config *b = &p->c->broker;
	const struct scope *s = &p->fixed[SECTION_BROKER];

	if (b->user && !b->password_file)
		return config_say(p, config_line(s, "user"),
				  "user without password_file; add "
				  "password_file = /PATH");
	if (b->password_file && !b->user)
		return config_say(
			p, config_line(s, "password_file"),
			"password_file without user; add user = NAME");
	return check_tls(p);
}

#define STORE_BASE_BYTES (INT64_C(3) << 19)

static enum err check_limits(struct parser *p)
{
	const struct limits_config *l = &p->c->limits;
	const struct scope *s = &p->fixed[SECTION_LIMITS];
	/* A quarter is the store's: two copies of an event, and 1.5M. */
	int64_t store = 4 * (2 * l->max_payload + STORE_BASE_BYTES);
	int64_t least = l->batch_bytes + 4 * l->max_payload;
	char a[PARSE_TEXT_SIZE], b[PARSE_TEXT_SIZE], c[PARSE_TEXT_SIZE];

	size_text(b, l->max_payload);
	if (l->batch_bytes < l->max_payload)
		return config_say(p, LINE(s, "batch_bytes", "max_payload"),
				  "batch_bytes = %s cannot hold one event of "
				  "max_payload = %s; raise the first or lower "
				  "the second",
				  size_text(a, l->batch_bytes), b);
	if (l->pending_bytes < l->max_payload)
		return config_say(p, LINE(s, "pending_bytes", "max_payload"),
				  "pending_bytes = %s cannot hold one event of "
				  "max_payload = %s; raise the first or lower "
				  "the second",
				  size_text(a, l->pending_bytes), b);
	if (l->memory < least)
		return config_say(
			p, LINE(s, "memory", "batch_bytes", "max_payload"),
			"memory = %s is less than batch_bytes + 4 x "
			"max_payload = %s; raise it",
			size_text(a, l->memory), size_text(c, least));
	if (l->memory < store)
		return config_say(
			p, LINE(s, "memory", "max_payload"),
			"memory = %s is less than 8 x max_payload + 6M = %s, "
			"so that the store could not keep the largest event; "
			"raise it, or lower max_payload",
			size_text(a, l->memory), size_text(c, store));
	return OK;
}

static enum err check_filters(struct parser *p, const struct scope *s)
{
	const struct group_config *g = s->values;

	const char *client_id = p->c->broker.client_id;

	for (unsigned i = 0; i < g->filters_len; i++) {
		struct span f = topic_filter_plain(span_str(g->filters[i]));

		if (topic_is_own(f, client_id))
			return config_say(p, config_line(s, "subscribe"),
					  "\"%s\" in %s: topics under "
					  "mqonce/%s/ are the program's own; "
					  "remove it",
					  g->filters[i], s->title, client_id);
	}
	return OK;
}

static enum err check_selector(struct parser *p, const struct scope *s,
			       const char *key, const struct selector *sel)
{
	const struct group_config *g = s->values;
	int line = config_line(s, key);

	if (selector_reads(sel, SELECT_PAYLOAD) && g->format != FORMAT_JSON)
		return config_say(p, line,
				  "%s in %s reads payload:, which needs format "
				  "= json",
				  key, s->title);
	if (p->c->broker.protocol == PROTOCOL_5)
		return OK;
	if (selector_reads(sel, SELECT_PROPERTY) ||
	    selector_reads(sel, SELECT_CORRELATION))
		return config_say(p, line,
				  "%s in %s reads %s, which MQTT 3.1.1 does "
				  "not have; use payload: or protocol = 5",
				  key, s->title,
				  selector_reads(sel, SELECT_PROPERTY)
					  ? "property:"
					  : "correlation");
	return OK;
}

static enum err check_id(struct parser *p, const struct scope *s)
{
	const struct group_config *g = s->values;

	for (unsigned i = 0; i < g->id.len; i++) {
		unsigned fixed = 0;

		for (unsigned j = 0; j < g->id.alt[i].len; j++)
			fixed += g->id.alt[i].part[j].source == SELECT_CONST;
		if (fixed == g->id.alt[i].len)
			return config_say(
				p, config_line(s, "id"),
				"id in %s can come from const: alone, "
				"so that all events would be one; add "
				"a part that differs",
				s->title);
	}
	return check_selector(p, s, "id", &g->id);
}

static enum err check_order(struct parser *p, const struct scope *s)
{
	const struct group_config *g = s->values;
	enum err e;

	if (!g->order_key.len != !g->order_by.len)
		return config_say(p, LINE(s, "order_key", "order_by"),
				  "%s without %s in %s; the order guard needs "
				  "both",
				  g->order_key.len ? "order_key" : "order_by",
				  g->order_key.len ? "order_by" : "order_key",
				  s->title);
	e = check_selector(p, s, "order_key", &g->order_key);
	return e ? e : check_selector(p, s, "order_by", &g->order_by);
}

static enum err check_horizon(struct parser *p, const struct scope *s)
{
	const struct group_config *g = s->values;
	int64_t expiry = p->c->broker.session_expiry_ms;
	char a[PARSE_TEXT_SIZE], b[PARSE_TEXT_SIZE], sum[CONFIG_SUM_TEXT];

	duration_text(b, g->redelivery_horizon_ms);
	if (expiry > g->redelivery_horizon_ms)
		return config_say(p, config_line(s, "redelivery_horizon"),
				  "redelivery_horizon = %s in %s is shorter "
				  "than session_expiry = %s, and the broker "
				  "delivers till then; raise the first or "
				  "lower the second",
				  b, s->title, duration_text(a, expiry));
	if (g->ttl_ms >= g->redelivery_horizon_ms)
		return OK;
	return config_say(p, LINE(s, "ttl", "redelivery_horizon"),
			  "ttl = %s%s in %s is shorter than "
			  "redelivery_horizon = %s (%s): a late copy would "
			  "take effect again; write ttl = %s or more",
			  duration_text(a, g->ttl_ms),
			  config_line(s, "ttl") == s->line ? " (the default)"
							   : "",
			  s->title, b, config_sum_text(sum, p->c, g), b);
}

/* The fewest attempts that last the window, for advice. */
static unsigned attempts_for(struct retry_policy r)
{
	for (r.max_attempts = 2; r.max_attempts < 10000; r.max_attempts++)
		if (retry_span_ms(&r) >= r.window_ms)
			break;
	return r.max_attempts;
}

static enum err check_retry(struct parser *p, const struct scope *s)
{
	const struct group_config *g = s->values;
	const struct retry_policy *r = &g->retry;
	int64_t span = retry_span_ms(r);
	char a[PARSE_TEXT_SIZE], b[PARSE_TEXT_SIZE], c[CONFIG_LONG_TEXT];

	if (r->max_ms < r->initial_ms)
		return config_say(p, LINE(s, "retry_max", "retry_initial"),
				  "retry_max = %s in %s is shorter than "
				  "retry_initial = %s; raise it",
				  duration_text(a, r->max_ms), s->title,
				  duration_text(b, r->initial_ms));
	/* One attempt is a clear wish for no retry at all. */
	if (r->max_attempts == 1 || span >= r->window_ms / 2)
		return OK;
	return config_say(p,
			  LINE(s, "max_attempts", "retry_window", "retry_max"),
			  "max_attempts = %u in %s is used up after %s, well "
			  "before retry_window = %s; write %u attempts, or "
			  "retry_window = %s",
			  r->max_attempts, s->title, config_long_text(c, span),
			  duration_text(b, r->window_ms), attempts_for(*r),
			  duration_text(a, span));
}

static enum err check_group(struct parser *p, const struct scope *s)
{
	const struct group_config *g = s->values;
	enum err e = check_filters(p, s);

	if (!e)
		e = check_selector(p, s, "tenant", &g->tenant);
	if (!e)
		e = check_id(p, s);
	if (!e)
		e = check_selector(p, s, "fingerprint", &g->fingerprint_paths);
	if (!e)
		e = check_order(p, s);
	if (!e)
		e = check_horizon(p, s);
	return e ? e : check_retry(p, s);
}

enum err config_check(struct parser *p)
{
	enum err e = check_broker(p);

	if (!e)
		e = check_limits(p);
	for (unsigned i = 0; !e && i < p->c->groups_len; i++)
		e = check_group(p, &p->groups[i]);
	return e;
}
