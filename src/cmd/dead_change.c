/* Dead letters: discard, restore, purge; each says first what it would do. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"

#define OPTIONS	"group= tenant= kind= type= topic= since= until= event= all "	\
		"dry-run yes count="

static enum err keep_count(struct ask *k, struct json_value row)
{
	struct json_value v;
	struct span name;
	size_t pos = 0;

	if (json_next(row, &pos, &name, &v))
		*(int64_t *)k->arg = ask_number(row, "matched") +
				     ask_number(row, "discarded") +
				     ask_number(row, "restored") +
				     ask_number(row, "purged");
	return OK;
}

/* How many letters it is about, as the owner counts them; k->arg takes it. */
static enum err count(struct ask *k, struct err_detail *why)
{
	enum ask_format format = k->format;
	enum err e = ask_set(k, "dry-run", "", why);

	k->format = ASK_TABLE;
	if (!e)
		e = ask_send(k, why);
	k->format = format;
	ask_unset(k, "dry-run");
	k->rows = 0;
	return e;
}

static enum err plan(struct ask *k, const char *verb, const int64_t *n,
		     struct err_detail *why)
{
	enum err e;

	if (k->format != ASK_TABLE)
		return ask_send(k, why);
	ask_unset(k, "dry-run");
	e = count(k, why);
	if (!e)
		printf("would %s %" PRId64 "\n", verb, *n);
	return e;
}

static enum err act(struct ask *k, const char *verb, const int64_t *n,
		    struct err_detail *why)
{
	char question[64];
	enum err e;

	if (ask_get(k, "dry-run"))
		return plan(k, verb, n, why);
	e = ask_get(k, "yes") ? OK : count(k, why);
	snprintf(question, sizeof(question), "%s %" PRId64 " letters?", verb,
		 *n);
	if (!e)
		e = cmd_confirm(question, ask_get(k, "yes") != NULL, why);
	ask_unset(k, "yes");
	if (!e)
		e = ask_send(k, why);
	if (!e && k->format == ASK_TABLE)
		printf("%s: %" PRId64 "\n", verb, *n);
	return e;
}

static enum err run(const struct ask_spec *spec, const char *verb,
		    const struct command_args *a, struct err_detail *why)
{
	int64_t n = 0;
	struct ask k;
	enum err e = ask_open(&k, spec, a, why);

	k.arg = &n;
	if (!e)
		e = act(&k, verb, &n, why);
	ask_close(&k);
	return e;
}

enum err cmd_dead_discard(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead discard", .writes = true, .options = OPTIONS,
		.words = "ids", .row = keep_count,
	};

	return run(&spec, "discard", a, why);
}

enum err cmd_dead_restore(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead restore", .writes = true, .options = OPTIONS,
		.words = "ids", .row = keep_count,
	};

	return run(&spec, "restore", a, why);
}

enum err cmd_dead_purge(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead purge", .writes = true, .options = OPTIONS,
		.words = "ids", .row = keep_count,
	};

	return run(&spec, "purge", a, why);
}
