/* `group rename`, `group drop`. */
#include <stdio.h>
#include <string.h>

#include "ask.h"

enum err cmd_group_rename(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "group rename", .writes = true, .words = "names",
	};
	struct ask k;
	enum err e = ask_open(&k, &spec, a, why);

	if (!e && (a->argc < 2 || !strchr(k.words, ',')))
		e = err_say(why, ERR_USAGE, "group rename needs two names: OLD "
			    "NEW");
	if (!e)
		e = ask_send(&k, why);
	ask_close(&k);
	return e;
}

enum err cmd_group_drop(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "group drop", .writes = true, .words = "names",
		.options = "yes",
	};
	struct ask k;
	enum err e = ask_open(&k, &spec, a, why);

	if (!e && (!*k.words || strchr(k.words, ',')))
		e = err_say(why, ERR_USAGE, "group drop needs one NAME");
	if (!e)
		e = cmd_confirm("The group's counts and what it remembers of "
				"its events go for good. Drop it?",
				ask_get(&k, "yes") != NULL, why);
	ask_unset(&k, "yes");
	if (!e)
		e = ask_send(&k, why);
	ask_close(&k);
	return e;
}
