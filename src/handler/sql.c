#include "handler/sql.h"

#include <glob.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/script.h"
#include "store/store.h"

#define FILE_MAX	((size_t)1 << 20)

enum err sql_handler_open(struct store *st, const struct group_config *g,
			  struct handler *ret_h, struct err_detail *why)
{
	const struct script_options o = {
		.file = g->handler_file,
		.format = g->format,
		.timeout_ms = g->timeout_ms,
	};
	AUTO_FREE char *memory = NULL;
	struct script *s = NULL;
	struct span text;
	enum err e = file_read(g->handler_file, FILE_MAX, &memory, &text, why);

	if (!e)
		e = script_prepare(st, &o, text, &s, why);
	if (!e)
		*ret_h = (struct handler){ .attempt = script_attempt,
					   .self = s };
	return e;
}

void sql_handler_close(struct handler *h)
{
	script_free(h->self);
	*h = (struct handler){ 0 };
}

static enum err apply_file(struct store *st, const char *path,
			   struct err_detail *why)
{
	AUTO_FREE char *memory = NULL;
	struct span text;
	enum err e = file_read(path, FILE_MAX, &memory, &text, why);

	return e ? e : schema_apply(st, path, text, clock_wall_ms(), why);
}

static enum err apply_all(struct store *st, const glob_t *files,
			  struct err_detail *why)
{
	enum err e = store_begin(st);

	if (e)
		return err_say(why, e, "%s", store_detail(st));
	for (size_t i = 0; !e && i < files->gl_pathc; i++)
		e = apply_file(st, files->gl_pathv[i], why);
	if (e) {
		store_rollback(st);
		return e;
	}
	e = store_commit(st);
	return e ? err_say(why, e, "%s", store_detail(st)) : OK;
}

enum err sql_schema_apply(struct store *st, const char *pattern,
			  struct err_detail *why)
{
	glob_t files;
	enum err e;

	if (!pattern)
		return OK;
	switch (glob(pattern, GLOB_ERR, NULL, &files)) {	/* sorted */
	case 0:
		break;
	case GLOB_NOMATCH:
		return err_say(why, ERR_INPUT, "%s: [store] schema matches no "
			       "file", pattern);
	default:
		return err_say(why, ERR_INPUT, "%s: [store] schema cannot be "
			       "read", pattern);
	}
	e = apply_all(st, &files, why);
	globfree(&files);
	return e;
}
