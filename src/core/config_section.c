#include <stdio.h>

#include "base/parse.h"
#include "config_internal.h"

bool config_is_group_name(struct span s)
{
	if (!s.len || s.len > 64)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || c == '_' || c == '-'))
			return false;
	}
	return true;
}

static enum err open_group(struct parser *p, struct span name)
{
	struct config *c = p->c;
	struct scope *s = &p->groups[c->groups_len];
	struct group_config *g = &c->groups[c->groups_len];

	if (!config_is_group_name(name))
		return config_say(p, p->line,
				  "write [group NAME] with a NAME of 1 to 64 "
				  "letters, digits, _ and -");
	for (unsigned i = 0; i < c->groups_len; i++)
		if (span_is(name, c->groups[i].name))
			return config_say(
				p, p->line,
				"group %s is already on line %d; give "
				"this one another name",
				c->groups[i].name, c->groups[i].line);
	if (c->groups_len == CONFIG_GROUPS)
		return config_say(p, p->line,
				  "more than %d groups; run a second store "
				  "and client for the rest",
				  CONFIG_GROUPS);
	*s = (struct scope){ .section = &config_sections[SECTION_GROUP],
			     .values = g,
			     .line = p->line };
	snprintf(s->title, sizeof(s->title), "[group %.*s]", SPAN_FMT(name));
	g->line = p->line;
	p->scope = s;
	c->groups_len++;
	return config_copy(p, name, &g->name);
}

static enum err unknown_section(struct parser *p, struct span name)
{
	static const char *const names[] = { "store", "broker", "limits",
					     "metrics", "group NAME" };
	const char *near = nearest_word(name, names, ARRAY_LEN(names));

	if (near)
		return config_say(p, p->line,
				  "unknown section [%.*s]; did you mean [%s]?",
				  SPAN_FMT(name), near);
	return config_say(p, p->line,
			  "unknown section [%.*s]; there are [store], "
			  "[broker], [limits], [metrics] and [group NAME]",
			  SPAN_FMT(name));
}

static enum err open_fixed(struct parser *p, struct scope *s)
{
	if (s->line)
		return config_say(p, p->line,
				  "%s is already on line %d; put its keys "
				  "together",
				  s->title, s->line);
	s->line = p->line;
	p->scope = s;
	return OK;
}

/*
 * inih cuts section names at 49 bytes and says nothing of a section without
 * keys, so sections are read here.
 */
enum err config_open_section(struct parser *p, struct span line)
{
	struct span tail, name, rest;

	name = span_cut(span_of(line.data + 1, line.len - 1), ']', &tail);
	if (!tail.data)
		return OK; /* inih names the line */
	tail = span_trim(tail);
	if (tail.len && tail.data[0] != ';' && tail.data[0] != '#')
		return config_say(p, p->line,
				  "unexpected text behind ]; put it on a line "
				  "of its own");
	name = span_trim(name);
	for (unsigned i = 0; i < SECTION_GROUP; i++)
		if (span_is(name, config_sections[i].name))
			return open_fixed(p, &p->fixed[i]);
	if (span_is(span_cut(name, ' ', &rest), "group"))
		return open_group(p, span_trim(rest));
	return unknown_section(p, name);
}
