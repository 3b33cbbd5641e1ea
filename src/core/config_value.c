#include <inttypes.h>

#include "base/parse.h"
#include "config_internal.h"
#include "core/topic.h"

static void *field(const struct scope *s, size_t offset)
{
	return (char *)s->values + offset;
}

/* "key = value in [section]", for the start of a message. */
#define WHERE_FMT      "%s = %.*s in %s"
#define WHERE(s, k, v) (k)->name, SPAN_FMT(v), (s)->title

static bool has_control(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.data[i] < ' ' || s.data[i] == 0x7f)
			return true;
	return false;
}

static enum err set_text(struct parser *p, struct scope *s, const struct key *k,
			 int line, struct span v)
{
	if (has_control(v))
		return config_say(p, line,
				  "%s in %s holds a control character; retype "
				  "the line",
				  k->name, s->title);
	return config_copy(p, v, field(s, k->offset));
}

/* The value is not shown: it may be a password in the wrong place. */
static enum err set_path(struct parser *p, struct scope *s, const struct key *k,
			 int line, struct span v)
{
	if (v.data[0] != '/')
		return config_say(p, line,
				  "%s in %s needs the whole path, from / on",
				  k->name, s->title);
	return set_text(p, s, k, line, v);
}

static enum err set_client_id(struct parser *p, struct scope *s,
			      const struct key *k, int line, struct span v)
{
	for (size_t i = 0; i < v.len; i++)
		if (strchr("/+#", v.data[i]))
			return config_say(p, line,
					  WHERE_FMT ": it must be one topic "
						    "level, without / + #",
					  WHERE(s, k, v));
	if (v.len > 256)
		return config_say(p, line,
				  "client_id has %zu bytes, 256 are the most",
				  v.len);
	return set_text(p, s, k, line, v);
}

static const char *number_form(const struct key *k)
{
	if (k->type == KEY_SIZE)
		return " of bytes with K, M, G or nothing behind it, like 64K";
	if (k->type == KEY_COUNT)
		return "";
	return " with ms, s, m, h or d behind it, like 30m; there is no "
	       "\"infinite\"";
}

const char *config_number_text(const struct key *k, char buf[PARSE_TEXT_SIZE],
			       int64_t v)
{
	if (k->type == KEY_SIZE)
		return size_text(buf, v);
	if (k->type != KEY_COUNT)
		return duration_text(buf, v);
	snprintf(buf, PARSE_TEXT_SIZE, "%" PRId64, v);
	return buf;
}

static enum err parse_number(const struct key *k, struct span v,
			     int64_t *ret_number)
{
	if (k->type == KEY_SIZE)
		return parse_size(v, ret_number);
	if (k->type == KEY_COUNT)
		return parse_uint(v, ret_number);
	return parse_duration_ms(v, ret_number);
}

static enum err set_number(struct parser *p, struct scope *s,
			   const struct key *k, int line, struct span v)
{
	char low[PARSE_TEXT_SIZE], high[PARSE_TEXT_SIZE];
	int64_t number;

	if (parse_number(k, v, &number))
		return config_say(p, line, WHERE_FMT ": write a whole number%s",
				  WHERE(s, k, v), number_form(k));
	if (number < k->min || number > k->max)
		return config_say(
			p, line, WHERE_FMT " is out of range; write %s to %s",
			WHERE(s, k, v), config_number_text(k, low, k->min),
			config_number_text(k, high, k->max));
	if (k->type == KEY_SECONDS && number % 1000)
		return config_say(p, line,
				  WHERE_FMT ": MQTT counts whole seconds here; "
					    "round it",
				  WHERE(s, k, v));
	config_put_number(field(s, k->offset), k->size, number);
	return OK;
}

static enum err set_choice(struct parser *p, struct scope *s,
			   const struct key *k, int line, struct span v)
{
	char list[64] = "";
	size_t len = 0;

	for (int i = 0; k->choices[i]; i++) {
		if (span_is(v, k->choices[i])) {
			config_put_number(field(s, k->offset), k->size, i);
			return OK;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
					!i		    ? ""
					: k->choices[i + 1] ? ", "
							    : " or ",
					k->choices[i]);
	}
	return config_say(p, line, WHERE_FMT ": write %s", WHERE(s, k, v),
			  list);
}

static enum err set_filters(struct parser *p, struct scope *s, int line,
			    struct span v)
{
	struct group_config *g = s->values;
	struct span rest = v;
	enum err e;

	while (rest.data) {
		struct span f = span_trim(span_cut(rest, ',', &rest));

		if (!topic_filter_valid(f))
			return config_say(p, line,
					  "\"%.*s\" in %s is not a topic "
					  "filter; + and # fill a whole level, "
					  "# only the last",
					  SPAN_FMT(f), s->title);
		if (g->filters_len == CONFIG_FILTERS)
			return config_say(p, line,
					  "%s has more than %d filters; move "
					  "some to another group",
					  s->title, CONFIG_FILTERS);
		e = config_copy(p, f, &g->filters[g->filters_len]);
		if (e)
			return e;
		g->filters_len++;
	}
	return OK;
}

static enum err set_selector(struct parser *p, struct scope *s,
			     const struct key *k, int line, struct span v)
{
	const char **text = field(s, k->text);
	struct err_detail why;
	enum err e = config_copy(p, v, text);

	if (e)
		return e;
	if (selector_parse(span_str(*text), field(s, k->offset), &why))
		return config_say(p, line, "%s in %s: %s", k->name, s->title,
				  why.text);
	return OK;
}

static bool only_payload_paths(const struct selector *sel)
{
	for (unsigned i = 0; i < sel->len; i++)
		if (sel->alt[i].len != 1 ||
		    sel->alt[i].part[0].source != SELECT_PAYLOAD)
			return false;
	return true;
}

static enum err set_fingerprint(struct parser *p, struct scope *s,
				const struct key *k, int line, struct span v)
{
	static const char *const words[] = {
		[FINGERPRINT_MESSAGE] = "message",
		[FINGERPRINT_PAYLOAD] = "payload",
		[FINGERPRINT_PATHS] = "payload:$",
		[FINGERPRINT_NONE] = "none",
	};
	struct group_config *g = s->values;
	struct err_detail why;
	enum err e = config_copy(p, v, &g->fingerprint_text);

	if (e)
		return e;
	for (unsigned i = 0; i < ARRAY_LEN(words); i++) {
		g->fingerprint = (enum fingerprint_kind)i;
		if (i != FINGERPRINT_PATHS && span_is(v, words[i]))
			return OK;
	}
	g->fingerprint = FINGERPRINT_PATHS;
	if (selector_parse(span_str(g->fingerprint_text), &g->fingerprint_paths,
			   &why) ||
	    !only_payload_paths(&g->fingerprint_paths))
		return config_say(p, line,
				  WHERE_FMT ": write message, payload, none or "
					    "payload:$.PATH with commas "
					    "between several",
				  WHERE(s, k, v));
	return OK;
}

static enum err set_handler(struct parser *p, struct scope *s,
			    const struct key *k, int line, struct span v)
{
	struct span file, kind = span_cut(v, ':', &file);

	file = span_trim(file);
	if (span_is(kind, "exec") || span_is(kind, "c"))
		return config_say(p, line,
				  "handler %.*s: is known, but not in this "
				  "version; use sql:/PATH",
				  SPAN_FMT(kind));
	if (!span_is(kind, "sql") || !file.len)
		return config_say(p, line,
				  WHERE_FMT ": write sql:/PATH of a file with "
					    "the statements",
				  WHERE(s, k, v));
	((struct group_config *)s->values)->handler = HANDLER_SQL;
	return set_path(p, s, k, line, file);
}

static enum err set_max_dead(struct parser *p, struct scope *s,
			     const struct key *k, int line, struct span v)
{
	struct group_config *g = s->values;
	struct span word, count = span_cut(v, ' ', &word);
	int64_t n = 0;
	int i = 0;

	word = span_trim(word);
	while (config_dead_limits[i] && !span_is(word, config_dead_limits[i]))
		i++;
	if (!config_dead_limits[i] || parse_uint(count, &n))
		return config_say(p, line,
				  WHERE_FMT ": write a whole number and stop "
					    "or thin, like 10000 stop",
				  WHERE(s, k, v));
	if (n < k->min || n > k->max)
		return config_say(p, line,
				  WHERE_FMT " is out of range; write %" PRId64
					    " to %" PRId64 " letters",
				  WHERE(s, k, v), k->min, k->max);
	g->max_dead = n;
	g->dead_limit = (enum dead_limit)i;
	return OK;
}

enum err config_set(struct parser *p, struct scope *s, const struct key *k,
		    int line, struct span v)
{
	if (k->type == KEY_LATER)
		return config_say(p, line,
				  "\"%s\" in %s is known, but not in this "
				  "version; remove it",
				  k->name, s->title);
	if (!v.len)
		return config_say(p, line,
				  "\"%s\" in %s has no value; write one or "
				  "remove the line",
				  k->name, s->title);
	switch (k->type) {
	case KEY_TEXT: return set_text(p, s, k, line, v);
	case KEY_PATH: return set_path(p, s, k, line, v);
	case KEY_CLIENT_ID: return set_client_id(p, s, k, line, v);
	case KEY_URL: return config_set_url(p, s->values, line, v);
	case KEY_DURATION:
	case KEY_SECONDS:
	case KEY_SIZE:
	case KEY_COUNT: return set_number(p, s, k, line, v);
	case KEY_CHOICE: return set_choice(p, s, k, line, v);
	case KEY_FILTERS: return set_filters(p, s, line, v);
	case KEY_SELECTOR: return set_selector(p, s, k, line, v);
	case KEY_FINGERPRINT: return set_fingerprint(p, s, k, line, v);
	case KEY_HANDLER: return set_handler(p, s, k, line, v);
	case KEY_MAX_DEAD: return set_max_dead(p, s, k, line, v);
	case KEY_LATER: break;
	}
	return ERR_BUG;
}
