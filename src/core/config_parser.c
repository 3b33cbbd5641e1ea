#include <stdarg.h>

#include "config_internal.h"

enum err config_say(struct parser *p, int line, const char *fmt, ...)
{
	char words[sizeof(p->why->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	p->err = ERR_CONFIG;
	p->err_line = line;
	if (!line)
		return err_say(p->why, ERR_CONFIG, "%s: %s", p->c->file, words);
	return err_say(p->why, ERR_CONFIG, "%s:%d: %s", p->c->file, line,
		       words);
}

int config_line(const struct scope *s, const char *key)
{
	const struct key *k = config_key(s->section, span_str(key));
	int line = k ? s->key_line[k - s->section->keys] : 0;

	return line ? line : s->line;
}

enum err config_copy(struct parser *p, struct span s, const char **ret_copy)
{
	struct span copy;

	if (!arena_copy(p->memory, s, &copy))
		return ERR_NOMEM;
	*ret_copy = copy.data;
	return OK;
}
