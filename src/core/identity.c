#include "core/identity.h"

#include "base/json.h"
#include "base/parse.h"
#include "core/config.h"

/* Keeps keys of ids and keys of contents apart; stored, so never renumber. */
enum key_domain {
	KEY_OF_ID = 1,
	KEY_OF_CONTENT = 2,
};

/* The first thing that is wrong gives the letter its type. */
static void blame(struct identity *id, const char *type)
{
	if (!id->poison.text[0])
		id->poison = error_type_of(span_str(type));
}

bool identity_name_valid(struct span s)
{
	return s.len && s.len <= EVENT_ID_MAX && utf8_valid(s) &&
	       !memchr(s.data, '\0', s.len);
}

/* Whether the payload is what the group's format says, and can be read. */
static bool decode(const struct group_config *g, const struct event *ev,
		   struct identity *id)
{
	if (ev->oversize) {
		blame(id, "payload.oversize");
		return false;
	}
	switch (g->format) {
	case FORMAT_JSON:
		if (json_valid(ev->payload))
			return true;
		blame(id, "json.malformed");
		return false;
	case FORMAT_TEXT:
		if (!utf8_valid(ev->payload))
			blame(id, "text.malformed");
		return false;
	case FORMAT_RAW: return false;
	}
	return false;
}

static struct span key_span(const struct hash_key *key)
{
	return span_of(key->bytes, sizeof(key->bytes));
}

static struct hash_key key_in(int64_t group_no, uint64_t seed, int kind,
			      struct span tenant, struct span what)
{
	struct hash h = hash_start(seed);

	hash_add_int(h, (uint64_t)kind);
	hash_add_int(h, (uint64_t)group_no);
	hash_add(h, tenant);
	hash_add(h, what);
	return hash_end128(h);
}

struct hash_key identity_key(int64_t group_no, uint64_t seed,
			     struct span tenant, struct span event_id)
{
	return key_in(group_no, seed, KEY_OF_ID, tenant, event_id);
}

static struct hash_key key_of(const struct identity *id, int64_t group_no,
			      uint64_t seed, const struct event *ev)
{
	struct hash_key content;

	if (id->event_id.data)
		return identity_key(group_no, seed, id->tenant, id->event_id);
	content = event_content_of(ev);
	return key_in(group_no, seed, KEY_OF_CONTENT, id->tenant,
		      key_span(&content));
}

/*
 * Any JSON value counts here, an array too: what matters is whether it is
 * the same.  Strings are compared as text, however they were escaped.
 */
static bool path_value(const struct event *ev, struct span path,
		       struct arena *scratch, struct span *ret_value)
{
	struct json_value v;
	char *buf;
	long len;

	*ret_value = (struct span){ 0 };
	if (!json_find(ev->payload, path, &v))
		return true;
	*ret_value = v.raw;
	if (v.kind != JSON_STRING || !v.raw.len ||
	    !memchr(v.raw.data, '\\', v.raw.len))
		return true;
	buf = arena_take(scratch, v.raw.len);
	if (!buf)
		return false;
	len = json_unescape(v.raw, buf, v.raw.len);
	if (len >= 0)
		*ret_value = span_of(buf, (size_t)len);
	return true;
}

static bool hash_paths(const struct group_config *g, const struct event *ev,
		       struct hash h, struct arena *scratch)
{
	const struct selector *paths = &g->fingerprint_paths;
	struct span value;

	for (unsigned i = 0; i < paths->len; i++) {
		if (!path_value(ev, paths->alt[i].part[0].arg, scratch, &value))
			return false;
		hash_add(h, value);
	}
	return true;
}

static struct span payload_or_hash(const struct event *ev)
{
	if (ev->oversize)
		return key_span(&ev->content);
	return ev->payload.data ? ev->payload : span_str("");
}

static bool fingerprint_of(const struct group_config *g, uint64_t seed,
			   const struct event *ev, bool json_ok,
			   struct arena *scratch, uint64_t *ret_fingerprint)
{
	enum fingerprint_kind kind = g->fingerprint;
	struct span payload = payload_or_hash(ev);
	struct hash h;
	uint64_t v;

	if (kind == FINGERPRINT_NONE) {
		*ret_fingerprint = 0;
		return true;
	}
	h = hash_start(seed);
	if (kind == FINGERPRINT_PATHS && json_ok) {
		if (!hash_paths(g, ev, h, scratch))
			return false;
	} else if (kind == FINGERPRINT_MESSAGE) {
		hash_add(h, ev->topic);
		hash_add(h, payload);
		hash_add(h, ev->content_type);
	} else {
		hash_add(h, payload);
	}
	v = hash_end64(h);
	*ret_fingerprint = v ? v : 1;
	return true;
}

static bool find_tenant(const struct group_config *g, const struct event *ev,
			bool json_ok, struct arena *scratch,
			struct identity *id)
{
	struct span tenant;

	id->tenant = span_str("");
	if (!g->tenant.len)
		return true;
	if (!selector_value(&g->tenant, ev, json_ok, scratch, &tenant))
		return false;
	if (!tenant.data)
		blame(id, "tenant.missing");
	else if (!identity_name_valid(tenant))
		blame(id, "tenant.invalid");
	else
		id->tenant = tenant;
	return true;
}

/* Ids of different tenants are unrelated: without its tenant an id is none. */
static bool find_id(const struct group_config *g, const struct event *ev,
		    bool json_ok, struct arena *scratch, struct identity *id)
{
	struct span event_id;

	if (!selector_value(&g->id, ev, json_ok, scratch, &event_id))
		return false;
	if (!event_id.data)
		blame(id, "identity.missing");
	else if (!identity_name_valid(event_id))
		blame(id, "identity.invalid");
	else if (id->tenant.len || !g->tenant.len)
		id->event_id = event_id;
	return true;
}

bool identity_of(const struct group_config *g, int64_t group_no, uint64_t seed,
		 const struct event *ev, struct arena *scratch,
		 struct identity *ret_id)
{
	struct identity id = { .fingerprint = 0 };
	bool json_ok = decode(g, ev, &id);

	if (!find_tenant(g, ev, json_ok, scratch, &id) ||
	    !find_id(g, ev, json_ok, scratch, &id) ||
	    !fingerprint_of(g, seed, ev, json_ok, scratch, &id.fingerprint))
		return false;
	id.key = key_of(&id, group_no, seed, ev);
	*ret_id = id;
	return true;
}
