/* Everything that can be known before an event comes. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd.h"
#include "desk.h"
#include "handler/sql.h"
#include "os/medium.h"
#include "store/group.h"
#include "store/store.h"

static void print_warning(void *arg UNUSED, const char *text)
{
	printf("warning: %s\n", text);
}

static void print_medium(const char *text)
{
	print_warning(NULL, text);
}

static void print_prepared(const struct group_config *g)
{
	printf("ok: [group %s] %s prepared\n", g->name, g->handler_file);
}

/* The daemon makes the store's directory, but none above it. */
static enum err check_place(const char *path, struct err_detail *why)
{
	char dir[4096], above[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	snprintf(above, sizeof(above), "%s", dirname(dir));
	if (access(dir, F_OK) && errno == ENOENT)
		dirname(above);
	if (access(above, F_OK))
		return err_say(
			why, ERR_CREATE,
			"%s: the store cannot be made: %s: %s; make that "
			"directory or change [store] path",
			path, above, err_system(errno));
	printf("ok: %s will be made at the first run\n", path);
	if (access(above, W_OK))
		printf("warning: this user cannot write to %s (%s); the "
		       "daemon's must\n",
		       above, err_system(errno));
	return OK;
}

static void print_unconfigured(struct span name)
{
	printf("warning: group %.*s has records in the store and is not "
	       "configured; if it has another name now, `mqonce group rename "
	       "%.*s NEW` gives them to that, else `mqonce group drop %.*s` "
	       "removes them\n", SPAN_FMT(name), SPAN_FMT(name),
	       SPAN_FMT(name));
}

static enum err check_store(const struct config *c, struct err_detail *why)
{
	const struct store_options o = { .path = c->store.path };
	struct store *st = NULL;
	enum err e = store_open(&o, STORE_READER, &st, why);

	if (e == ERR_NO)
		return check_place(c->store.path, why);
	if (!e)
		e = sql_schema_check(st, c->store.schema, why);
	for (unsigned i = 0; !e && i < c->groups_len; i++)
		e = group_check(st, &c->groups[i], why);
	if (!e)
		printf("ok: %s fits\n", c->store.path);
	if (!e)
		e = cmd_unconfigured(st, c, print_unconfigured);
	store_close(st);
	return e;
}

static enum err accept_groups(struct store *st, const struct config *c,
			      struct err_detail *why)
{
	struct group_record r;
	int64_t now = store_now_ms(st, clock_boot_ms());
	enum err e = store_begin(st);

	if (e)
		return err_say(why, e, "%s", store_detail(st));
	for (unsigned i = 0; !e && i < c->groups_len; i++)
		e = group_register(st, &c->groups[i], now, true, &r, why);
	if (e) {
		store_rollback(st);
		return e;
	}
	e = store_commit(st);
	return e ? err_say(why, e, "%s", store_detail(st)) : OK;
}

static enum err accept(const struct config *c, struct err_detail *why)
{
	const struct store_options o = {
		.path = c->store.path,
		.max_size = c->store.max_size,
	};
	struct store *st = NULL;
	enum err e = store_open(&o, STORE_OWNER, &st, why);

	if (!e)
		e = accept_groups(st, c, why);
	if (!e)
		printf("ok: the selectors of all groups are accepted\n");
	if (st && store_last_end(st) == STORE_STOPPED)
		(void)!store_clean_put(st, clock_boot_ms()); /* as in ask.c */
	store_close(st);
	return e;
}

enum err cmd_check(const struct command_args *a, struct err_detail *why)
{
	bool print = false, accepted = false;
	const struct command_option options[] = {
		{ "--print", &print, NULL },
		{ "--accept", &accepted, NULL },
	};
	struct config *c = NULL;
	unsigned n;
	enum err e =
		cmd_options(a, options, ARRAY_LEN(options), NULL, 0, &n, why);

	if (!e && print && accepted)
		e = err_say(why, ERR_USAGE,
			    "--print only prints; run check "
			    "--accept without it");
	if (!e)
		e = cmd_load_config(a, &c, why);
	if (e)
		return e;
	if (print) {
		config_print(c, stdout);
		goto out;
	}
	printf("ok: %s\n", a->config);
	config_warnings(c, print_warning, NULL);
	e = desk_check(c, why);
	if (!e)
		e = cmd_prepare_all(c, print_prepared, why);
	if (!e && accepted)
		e = accept(c, why);
	if (!e)
		e = medium_check(c->store.path, print_medium, why);
	if (!e)
		e = check_store(c, why);
	for (unsigned i = 0; !e && i < c->groups_len; i++) {
		putchar('\n');
		config_print_promise(c, &c->groups[i], stdout);
	}
out:
	config_free(c);
	return e;
}
