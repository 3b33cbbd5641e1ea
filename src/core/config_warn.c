#include <stdarg.h>

#include "base/parse.h"
#include "config_internal.h"
#include "core/topic.h"

struct warner {
	const struct config *c;
	const struct group_config *g;
	void (*warn)(void *arg, const char *text);
	void *arg;
};

static void say(const struct warner *w, const char *fmt, ...) PRINTF(2, 3);

/* The words come behind the group, if it is about one. */
static void say(const struct warner *w, const char *fmt, ...)
{
	char text[512];
	size_t len = 0;
	va_list ap;

	if (w->g)
		len = (size_t)snprintf(text, sizeof(text),
				       "group %s: ", w->g->name);
	va_start(ap, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
	w->warn(w->arg, text);
}

static bool is_local(const struct broker_config *b)
{
	return b->transport == TRANSPORT_UNIX ||
	       !strcmp(b->host, "localhost") || !strcmp(b->host, "::1") ||
	       !strncmp(b->host, "127.", 4);
}

static void about_broker(const struct warner *w)
{
	const struct broker_config *b = &w->c->broker;

	if (b->password_file && b->transport == TRANSPORT_TCP && !is_local(b))
		say(w, "the password goes to %s in the clear; use mqtts://",
		    b->host);
	if (b->protocol == PROTOCOL_311)
		say(w, "with MQTT 3.1.1 the broker alone decides how long it "
		       "keeps the session; make sure it is not longer than "
		       "session_expiry says");
}

static void about_filters(const struct warner *w)
{
	const struct group_config *g = w->g;

	for (unsigned i = 0; i < g->filters_len; i++) {
		struct span f = span_str(g->filters[i]);

		if (!span_equal(topic_filter_plain(f), f))
			say(w,
			    "%s is shared, and each store knows only its "
			    "own share: a copy that goes to another "
			    "consumer takes effect there too",
			    g->filters[i]);
		for (unsigned j = i + 1; j < g->filters_len; j++)
			if (topic_filters_overlap(f, span_str(g->filters[j])))
				say(w,
				    "%s and %s overlap; the broker may "
				    "deliver an event twice, and the second "
				    "is suppressed",
				    g->filters[i], g->filters[j]);
	}
}

static unsigned levels(struct span rest)
{
	unsigned n = 0;

	for (; rest.data; n++)
		(void)span_cut(rest, '/', &rest);
	return n;
}

/* A selector that reads a topic level which a filter's topics cannot have. */
static void about_levels(const struct warner *w, const char *key,
			 const struct selector *sel)
{
	if (sel->len != 1)
		return;
	for (unsigned i = 0; i < sel->alt[0].len; i++) {
		const struct selector_part *part = &sel->alt[0].part[i];

		for (unsigned j = 0; j < w->g->filters_len; j++) {
			struct span f = span_str(w->g->filters[j]);

			f = topic_filter_plain(f);
			if (part->source == SELECT_TOPIC &&
			    f.data[f.len - 1] != '#' && levels(f) < part->level)
				say(w,
				    "%s reads topic:%u, but topics of %s "
				    "have %u levels; these events will be "
				    "dead letters",
				    key, part->level, w->g->filters[j],
				    levels(f));
		}
	}
}

static void about_identity(const struct warner *w)
{
	const struct group_config *g = w->g;

	about_levels(w, "id", &g->id);
	about_levels(w, "tenant", &g->tenant);
	about_levels(w, "order_key", &g->order_key);
	about_levels(w, "order_by", &g->order_by);
	if (g->stale != STALE_SKIP && !g->order_key.len)
		say(w, "stale does nothing without order_key and order_by");
	if (selector_reads(&g->id, SELECT_HASH))
		say(w, "id = hash makes one event of all that have the same "
		       "topic and payload; equal readings are handled once");
	if (g->fingerprint == FINGERPRINT_NONE)
		say(w, "fingerprint = none: an id used again for something "
		       "else is suppressed without notice");
	if (g->fingerprint == FINGERPRINT_MESSAGE &&
	    (selector_reads(&g->id, SELECT_PROPERTY) ||
	     selector_reads(&g->id, SELECT_CORRELATION)))
		say(w, "ids come from properties and fingerprint = message; if "
		       "producers write a send time into the payload, each "
		       "copy becomes a conflict: name the paths that matter, "
		       "fingerprint = payload:$.PATH");
}

static void about_promise(const struct warner *w)
{
	const struct group_config *g = w->g;
	int64_t known = config_known_horizon_ms(w->c);
	char a[PARSE_TEXT_SIZE], b[PARSE_TEXT_SIZE], c[CONFIG_LONG_TEXT];

	if (g->redelivery_horizon_ms <= known)
		say(w,
		    "redelivery_horizon = %s leaves nothing for producers, "
		    "bridges and replays: session_expiry %s and %s to "
		    "notice a lost connection are all of it",
		    duration_text(a, g->redelivery_horizon_ms),
		    duration_text(b, w->c->broker.session_expiry_ms),
		    config_long_text(c, config_notice_ms(w->c)));
	if (g->retained == RETAINED_HANDLE)
		say(w, "retained = handle: retained copies come again at each "
		       "subscribe without end, and ttl does not cover them");
	if (!g->dead_letter)
		say(w, "dead_letter = off: the payload of an event given up on "
		       "is gone, only a count and a marker stay");
	if (g->natural)
		say(w, "idempotent = natural: the effect runs for each "
		       "delivery; make sure that it comes out the same");
}

void config_warnings(const struct config *c,
		     void (*warn)(void *arg, const char *text), void *arg)
{
	struct warner w = { .c = c, .warn = warn, .arg = arg };

	about_broker(&w);
	for (unsigned i = 0; i < c->groups_len; i++) {
		w.g = &c->groups[i];
		about_filters(&w);
		about_identity(&w);
		about_promise(&w);
	}
}
