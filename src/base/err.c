#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
	int status;
	const char *text;
} table[] = {
#define ERR_ROW_(name, status, text) [name] = { status, text },
	ERR_LIST(ERR_ROW_)
#undef ERR_ROW_
};

const char *err_text(enum err e)
{
	return (size_t)e < ARRAY_LEN(table) ? table[e].text : "unknown error";
}

int err_exit_status(enum err e)
{
	return (size_t)e < ARRAY_LEN(table) ? table[e].status : 70;
}

enum err err_say(struct err_detail *d, enum err e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	return e;
}
