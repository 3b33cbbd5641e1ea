#include "handler/sql.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/script.h"
#include "store/store.h"

#define FILE_MAX	((size_t)1 << 20)

static void add_advice(const struct group_config *g, struct err_detail *why)
{
	size_t n = strlen(why->text);

	snprintf(why->text + n, sizeof(why->text) - n,
		 "; mend it, or change handler in [group %s]", g->name);
}

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

	if (e)
		add_advice(g, why);
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

typedef enum err schema_file_fn(struct store *st, const char *path,
				struct span text, struct err_detail *why);

static enum err apply_one(struct store *st, const char *path, struct span text,
			  struct err_detail *why)
{
	return schema_apply(st, path, text, clock_wall_ms(), why);
}

static enum err each_file(struct store *st, const glob_t *files,
			  schema_file_fn *fn, struct err_detail *why)
{
	enum err e = OK;

	for (size_t i = 0; !e && i < files->gl_pathc; i++) {
		AUTO_FREE char *memory = NULL;
		struct span text;

		e = file_read(files->gl_pathv[i], FILE_MAX, &memory, &text,
			      why);
		if (!e)
			e = fn(st, files->gl_pathv[i], text, why);
	}
	return e;
}

/* In the order of their names. */
static enum err find_files(const char *pattern, glob_t *ret_files,
			   struct err_detail *why)
{
	errno = 0;
	if (glob(pattern, GLOB_ERR, NULL, ret_files) == 0)
		return OK;
	return err_say(why, ERR_INPUT, "%s: [store] schema matches no file%s%s; "
		       "make one there, or change the pattern", pattern,
		       errno ? ": " : "", errno ? err_system(errno) : "");
}

enum err sql_schema_check(struct store *st, const char *pattern,
			  struct err_detail *why)
{
	glob_t files;
	enum err e = pattern ? find_files(pattern, &files, why) : OK;

	if (e || !pattern)
		return e;
	e = each_file(st, &files, schema_check, why);
	globfree(&files);
	return e;
}

enum err sql_schema_apply(struct store *st, const char *pattern,
			  struct err_detail *why)
{
	glob_t files;
	enum err e = pattern ? find_files(pattern, &files, why) : OK;

	if (e || !pattern)
		return e;
	e = store_begin(st);
	if (e) {
		globfree(&files);
		return err_say(why, e, "%s", store_detail(st));
	}
	e = each_file(st, &files, apply_one, why);
	globfree(&files);
	if (e) {
		store_rollback(st);
		return e;
	}
	e = store_commit(st);
	return e ? err_say(why, e, "%s", store_detail(st)) : OK;
}
