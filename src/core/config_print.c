#include <inttypes.h>

#include "base/parse.h"
#include "config_internal.h"

/* Longer lines would not be read back; see INI_MAX_LINE in ini.h. */
#define LINE_MAX_BYTES 198

/* A blank before ';' would start a comment. */
static bool fits_with_blanks(const char *name, const char *value)
{
	return strlen(name) + 3 + strlen(value) <= LINE_MAX_BYTES &&
	       !strchr(value, ';');
}

static const void *at(const void *values, size_t offset)
{
	return (const char *)values + offset;
}

static const char *text_at(const void *values, size_t offset)
{
	return *(const char *const *)at(values, offset);
}

static void join_filters(const struct group_config *g, const char *comma,
			 char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (unsigned i = 0; i < g->filters_len && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s",
					i ? comma : "", g->filters[i]);
}

/* The value as it would be written, or NULL if the key is not set. */
static const char *value_text(const struct key *k, const void *values,
			      const char *comma, char *buf, size_t size)
{
	char number[PARSE_TEXT_SIZE];
	int64_t v = k->size <= sizeof(v)
			    ? config_get_number(at(values, k->offset), k->size)
			    : 0;

	switch (k->type) {
	case KEY_TEXT:
	case KEY_PATH:
	case KEY_CLIENT_ID:
	case KEY_URL:
	case KEY_FINGERPRINT: return text_at(values, k->offset);
	case KEY_SELECTOR: return text_at(values, k->text);
	case KEY_DURATION:
	case KEY_SECONDS:
		snprintf(buf, size, "%s", duration_text(number, v));
		return buf;
	case KEY_SIZE:
		snprintf(buf, size, "%s", size_text(number, v));
		return buf;
	case KEY_COUNT: snprintf(buf, size, "%" PRId64, v); return buf;
	case KEY_CHOICE: return k->choices[v];
	case KEY_FILTERS: join_filters(values, comma, buf, size); return buf;
	case KEY_HANDLER:
		snprintf(buf, size, "sql:%s", text_at(values, k->offset));
		return buf;
	case KEY_MAX_DEAD:
		snprintf(
			buf, size, "%" PRId64 " %s", v,
			config_dead_limits[((const struct group_config *)values)
						   ->dead_limit]);
		return buf;
	case KEY_LATER: break;
	}
	return NULL;
}

static void print_key(const struct key *k, const void *values, FILE *out)
{
	char buf[1024];
	const char *text = value_text(k, values, ", ", buf, sizeof(buf));

	if (k->type == KEY_LATER)
		return;
	fprintf(out, "; %s\n", k->help);
	if (!text) {
		fprintf(out, "; %s is not set\n", k->name);
		return;
	}
	if (fits_with_blanks(k->name, text)) {
		fprintf(out, "%s = %s\n", k->name, text);
		return;
	}
	text = value_text(k, values, ",", buf, sizeof(buf));
	fprintf(out, "%s=%s\n", k->name, text);
}

static void print_keys(enum section_id id, const void *values, FILE *out)
{
	const struct section *s = &config_sections[id];

	for (unsigned i = 0; i < s->len; i++)
		print_key(&s->keys[i], values, out);
}

void config_print(const struct config *c, FILE *out)
{
	fputs("[store]\n", out);
	print_keys(SECTION_STORE, &c->store, out);
	fputs("\n[broker]\n", out);
	print_keys(SECTION_BROKER, &c->broker, out);
	fputs("\n[limits]\n", out);
	print_keys(SECTION_LIMITS, &c->limits, out);
	for (unsigned i = 0; i < c->groups_len; i++) {
		fprintf(out, "\n[group %s]\n", c->groups[i].name);
		print_keys(SECTION_GROUP, &c->groups[i], out);
	}
}
