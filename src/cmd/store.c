/* `store verify`, `sweep`, `backup`, `quarantine`: the file as a whole. */
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "base/clock.h"
#include "store/care.h"
#include "store/store.h"

/* Verifying and copying read in this process: the owner goes on meanwhile. */
static enum err open_reader(const struct command_args *a, struct config **ret_c,
			    struct store **ret_st, struct err_detail *why)
{
	enum err e = cmd_load_config(a, ret_c, why);

	if (!e) {
		const struct store_options o = {
			.path = (*ret_c)->store.path,
		};

		e = store_open(&o, STORE_READER, ret_st, why);
	}
	return e;
}

static void print_fault(void *arg UNUSED, const char *text)
{
	cmd_print_safe(span_str(text));
	putchar('\n');
}

enum err cmd_store_verify(const struct command_args *a, struct err_detail *why)
{
	struct config *c = NULL;
	struct store *st = NULL;
	unsigned words, n = 0;
	enum err e = cmd_options(a, NULL, 0, NULL, 0, &words, why);

	if (!e)
		e = open_reader(a, &c, &st, why);
	if (!e) {
		e = store_verify(st, store_now_ms(st, clock_boot_ms()),
				 print_fault, NULL, &n);
		if (e)
			e = err_say(why, e, "%s: %s", c->store.path,
				    store_detail(st));
	}
	if (!e && n)
		e = err_say(why, ERR_NO, "%s: %u fault%s; keep the file, "
			    "restore a backup, or see `mqonce help store "
			    "quarantine`", c->store.path, n, n == 1 ? "" : "s");
	else if (!e)
		printf("ok\n");
	store_close(st);
	config_free(c);
	return e;
}

enum err cmd_store_backup(const struct command_args *a, struct err_detail *why)
{
	struct config *c = NULL;
	struct store *st = NULL;
	const char *file = NULL;
	unsigned words = 0;
	enum err e = cmd_options(a, NULL, 0, &file, 1, &words, why);

	if (!e && !words)
		e = err_say(why, ERR_USAGE, "store backup needs the FILE to "
			    "write");
	if (!e)
		e = open_reader(a, &c, &st, why);
	if (!e)
		e = store_backup(st, file, clock_wall_ms(), why);
	if (!e)
		printf("copied to %s; its first start says of when it is\n",
		       file);
	store_close(st);
	config_free(c);
	return e;
}

enum err cmd_store_sweep(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_column columns[] = {
		{ "WHAT", "what", ASK_TEXT, 0, false },
		{ "GENERATION", "generation", ASK_TEXT, 0, false },
		{ "N", "n", ASK_NUMBER, 0, false },
	};
	static const struct ask_spec spec = {
		.act = "store sweep", .writes = true, .options = "dry-run",
		.columns = columns, .columns_len = ARRAY_LEN(columns),
	};
	struct ask k;
	enum err e = ask_open(&k, &spec, a, why);

	/* Counting takes long: not in the owner's turn. */
	k.here = !e && ask_get(&k, "dry-run");
	k.writes = !k.here;
	if (!e)
		e = ask_send(&k, why);
	ask_close(&k);
	return e;
}

/* "20261130T191500Z" */
static void make_stamp(char *buf, size_t size)
{
	char iso[CLOCK_ISO_SIZE];
	size_t n = 0;

	clock_iso(iso, clock_wall_ms(), true);
	for (const char *p = iso; *p && n + 1 < size; p++)
		if (!strchr("-:", *p))
			buf[n++] = *p;
	buf[n] = '\0';
}

enum err cmd_store_quarantine(const struct command_args *a,
			      struct err_detail *why)
{
	struct config *c = NULL;
	bool yes = false;
	const struct command_option options[] = { { "--yes", &yes, NULL } };
	char stamp[CLOCK_ISO_SIZE], name[4096];
	unsigned words;
	enum err e = cmd_options(a, options, ARRAY_LEN(options), NULL, 0,
				 &words, why);

	if (!e)
		e = cmd_load_config(a, &c, why);
	if (!e)
		e = cmd_confirm("The next start begins with an empty store, "
				"without what this one remembers. Move it "
				"aside?", yes, why);
	make_stamp(stamp, sizeof(stamp));
	if (!e)
		e = store_quarantine(c->store.path, stamp, name, sizeof(name),
				     why);
	if (!e)
		printf("moved to %s, with its -wal and -shm if there were any\n"
		       "Next: put a backup at %s and start `mqonce run "
		       "--accept-restored`,\nor start `mqonce run` with an "
		       "empty store: events that were handled and come\n"
		       "again are handled again; dead letters and what waited "
		       "are in the file aside.\n", name, c->store.path);
	config_free(c);
	return e;
}
