/* In place of tls.c and tls_words.c where the program is built without TLS. */
#include "link_internal.h"

const char *tls_version(void)
{
	return NULL;
}

enum err tls_attach(struct link *l UNUSED, struct err_detail *why)
{
	return err_say(why, ERR_CONFIG,
		       "this mqonce was built without TLS: use mqtt:// or the "
		       "build that has it");
}

bool tls_shakes_hands(const struct link *l UNUSED)
{
	return false;
}

bool tls_wants_write(const struct link *l UNUSED)
{
	return false;
}

bool tls_has_buffered(const struct link *l UNUSED)
{
	return false;
}

bool tls_explain(const struct link *l UNUSED, struct err_detail *why UNUSED)
{
	return false;
}
