#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

const char *err_system(int err_no)
{
	switch (err_no) {
	case EMFILE:
		return "Too many open files: this process may have too few, "
		       "raise the limit (ulimit -n, LimitNOFILE=)";
	case ENFILE:
		return "Too many open files in the system: raise fs.file-max";
	}
	return strerror(err_no);
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
