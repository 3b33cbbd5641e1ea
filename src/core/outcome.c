#include "core/outcome.h"

#include "base/defs.h"

const char *outcome_text(enum outcome o)
{
	switch (o) {
	case OUTCOME_OK: return "ok";
	case OUTCOME_TRANSIENT: return "transient";
	case OUTCOME_PERMANENT: return "permanent";
	case OUTCOME_POISON: return "poison";
	}
	return "?";
}

/* Not isalnum(3): its answer depends on the locale. */
static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

static bool is_word(struct span s)
{
	if (!s.len || s.len >= ERROR_TYPE_SIZE)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!is_word_char(s.data[i]))
			return false;
	return true;
}

struct error_type error_type_of(struct span s)
{
	struct error_type t = { .text = "handler.bad_type" };

	if (is_word(s)) {
		memcpy(t.text, s.data, s.len);
		t.text[s.len] = '\0';
	}
	return t;
}
