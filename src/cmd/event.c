/* `event show`, `event forget`, `pending retry`. */
#include "ask.h"

#include <inttypes.h>
#include <stdio.h>

enum err cmd_event_show(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_column columns[] = {
		{ "RECORD", "record", ASK_TEXT, 0, false },
		{ "STATE", "state", ASK_TEXT, 0, false },
		{ "TYPE", "type", ASK_TEXT, 12, false },
		{ "AGE", "age_ms", ASK_AGE, 0, false },
		{ "ID", "id", ASK_NUMBER, 0, false },
	};
	static const struct ask_spec spec = {
		.act = "event show", .options = "group= tenant=",
		.words = "event", .columns = columns,
		.columns_len = ARRAY_LEN(columns),
	};

	return ask_run(&spec, a, why);
}

enum err cmd_event_forget(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "event forget", .writes = true, .words = "event",
		.options = "group= tenant= yes",
	};
	struct ask k;
	enum err e = ask_open(&k, &spec, a, why);

	if (!e)
		e = cmd_confirm("A copy of this event that still comes will "
				"run again. Forget it?",
				ask_get(&k, "yes") != NULL, why);
	ask_unset(&k, "yes");
	if (!e)
		e = ask_send(&k, why);
	ask_close(&k);
	return e;
}

enum err cmd_pending_retry(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "pending retry", .writes = true,
		.options = "group= all",
	};

	return ask_run(&spec, a, why);
}
