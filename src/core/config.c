#include "core/config.h"

#include <ini.h>

#include "base/parse.h"
#include "config_internal.h"

/* A line that reached inih's buffer whole, without what would mislead it. */
static enum err check_line(struct parser *p, struct span line, size_t room)
{
	if (memchr(line.data, '\0', line.len) || !utf8_valid(line))
		return config_say(p, p->line,
				  "the line is not UTF-8 text; is this the "
				  "right file?");
	if (line.len > room)
		return config_say(p, p->line,
				  "the line has %zu bytes, %zu are the most; "
				  "put comments on lines of their own",
				  line.len, room);
	if (line.data[0] == '[')
		return config_open_section(p, line);
	return OK;
}

/* Leading blanks go: inih would take the line for a continued value. */
static char *next_line(char *buf, int size, void *arg)
{
	struct parser *p = arg;
	struct span line;

	if (p->err || !p->rest.data)
		return NULL;
	line = span_trim(span_cut(p->rest, '\n', &p->rest));
	p->line++;
	if (!line.len || line.data[0] == ';' || line.data[0] == '#')
		line.len = 0;
	else
		p->err = check_line(p, line, (size_t)size - 2);
	if (p->err)
		return NULL;
	if (line.len)
		memcpy(buf, line.data, line.len);
	strcpy(buf + line.len, "\n");
	return buf;
}

/* The key that was meant: a slip of the pen, or a part of its name. */
static const char *near_key(const struct section *s, struct span name)
{
	const char *names[SECTION_KEYS], *near;

	for (unsigned i = 0; i < s->len; i++)
		names[i] = s->keys[i].name;
	near = nearest_word(name, names, s->len);
	for (unsigned i = 0; !near && name.len >= 4 && i < s->len; i++)
		if (memmem(names[i], strlen(names[i]), name.data, name.len))
			near = names[i];
	return near;
}

static enum err unknown_key(struct parser *p, struct span name)
{
	const struct scope *s = p->scope;
	const char *near = near_key(s->section, name);

	if (near)
		return config_say(p, p->line,
				  "unknown key \"%.*s\" in %s; did you mean "
				  "\"%s\"?",
				  SPAN_FMT(name), s->title, near);
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		if (config_key(&config_sections[i], name))
			return config_say(
				p, p->line,
				"\"%.*s\" does not belong in %s; move "
				"it to [%s%s]",
				SPAN_FMT(name), s->title,
				config_sections[i].name,
				i == SECTION_GROUP ? " NAME" : "");
	return config_say(p, p->line,
			  "unknown key \"%.*s\" in %s; `mqonce check --print` "
			  "shows all keys",
			  SPAN_FMT(name), s->title);
}

static enum err take_key(struct parser *p, struct span name, struct span value)
{
	struct scope *s = p->scope;
	const struct key *k;
	int *line;

	if (!s)
		return config_say(p, p->line,
				  "\"%.*s\" stands before any section; put it "
				  "behind [store], [broker], [limits] or "
				  "[group NAME]",
				  SPAN_FMT(name));
	k = config_key(s->section, name);
	if (!k)
		return unknown_key(p, name);
	line = &s->key_line[k - s->section->keys];
	if (*line)
		return config_say(
			p, p->line,
			"\"%s\" in %s is already on line %d; keep one "
			"of them",
			k->name, s->title, *line);
	*line = p->line;
	return config_set(p, s, k, p->line, value);
}

static int on_key(void *arg, const char *section UNUSED, const char *name,
		  const char *value)
{
	struct parser *p = arg;
	enum err e;

	if (p->err)
		return 1;
	e = take_key(p, span_str(name), span_str(value));
	if (e && !p->err)
		p->err = e;
	return 1; /* inih's own count is for lines it cannot read */
}

static enum err finish_scope(struct parser *p, struct scope *s)
{
	for (unsigned i = 0; i < s->section->len; i++) {
		const struct key *k = &s->section->keys[i];
		enum err e = OK;

		if (s->key_line[i])
			continue;
		if (k->required)
			return config_say(p, s->line,
					  "%s needs the key \"%s\": %s",
					  s->title, k->name, k->help);
		if (k->fallback)
			e = config_set(p, s, k, s->line, span_str(k->fallback));
		if (e)
			return e;
	}
	return OK;
}

static enum err finish(struct parser *p)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < SECTION_GROUP; i++)
		e = finish_scope(p, &p->fixed[i]);
	for (unsigned i = 0; !e && i < p->c->groups_len; i++)
		e = finish_scope(p, &p->groups[i]);
	if (!e && !p->c->groups_len)
		e = config_say(p, 0,
			       "there is no [group NAME]; add one to say "
			       "what to subscribe and how to handle it");
	return e ? e : config_check(p);
}

static void init_scopes(struct parser *p)
{
	void *values[SECTION_GROUP] = {
		[SECTION_STORE] = &p->c->store,
		[SECTION_BROKER] = &p->c->broker,
		[SECTION_LIMITS] = &p->c->limits,
	};

	for (unsigned i = 0; i < SECTION_GROUP; i++) {
		p->fixed[i].section = &config_sections[i];
		p->fixed[i].values = values[i];
		snprintf(p->fixed[i].title, sizeof(p->fixed[i].title), "[%s]",
			 config_sections[i].name);
	}
}

static enum err read_all(struct parser *p, const char *file, struct span text)
{
	static const char bom[] = "\xef\xbb\xbf";
	enum err e = config_copy(p, span_str(file), &p->c->file);
	int rc;

	if (e)
		return e;
	if (text.len >= 3 && !memcmp(text.data, bom, 3))
		text = span_of(text.data + 3, text.len - 3);
	p->rest = text;
	init_scopes(p);
	rc = ini_parse_stream(next_line, p, on_key, p);
	if (rc < 0)
		return ERR_NOMEM;
	if (rc > 0 && (!p->err || rc < p->err_line))
		return config_say(p, rc,
				  "not a line of the form \"key = value\" or "
				  "\"[section]\"");
	return p->err ? p->err : finish(p);
}

static struct config *config_new(size_t text_bytes)
{
	struct config *c = calloc(1, sizeof(*c));
	struct arena *memory = calloc(1, sizeof(*memory));

	if (!c || !memory) {
		free(c);
		free(memory);
		return NULL;
	}
	/* Rounding and defaults come on top of what the text holds. */
	arena_init(memory, 4096, (1 << 20) + 32 * text_bytes);
	c->memory = memory;
	return c;
}

const struct group_config *config_group(const struct config *c,
					struct span name)
{
	for (unsigned i = 0; i < c->groups_len; i++)
		if (span_is(name, c->groups[i].name))
			return &c->groups[i];
	return NULL;
}

static enum err default_socket(struct parser *p)
{
	struct store_config *s = &p->c->store;
	const struct scope *in = &p->fixed[SECTION_STORE];
	char path[4096];

	s->socket_line = config_line(in, s->socket ? "socket" : "path");
	if (s->socket)
		return OK;
	snprintf(path, sizeof(path), "%s.sock", s->path);
	return config_copy(p, span_str(path), &s->socket);
}

enum err config_parse(const char *file, struct span text, struct config **ret_c,
		      struct err_detail *why)
{
	struct config *c = config_new(text.len);
	struct parser *p = calloc(1, sizeof(*p));
	enum err e = ERR_NOMEM;

	if (c && p) {
		p->c = c;
		p->memory = c->memory;
		p->why = why;
		e = read_all(p, file, text);
		if (!e)
			e = default_socket(p);
	}
	free(p);
	if (e == ERR_NOMEM)
		err_say(why, e, "%s: out of memory", file);
	if (e) {
		config_free(c);
		return e;
	}
	*ret_c = c;
	return OK;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	arena_fini(c->memory);
	free(c->memory);
	free(c);
}
