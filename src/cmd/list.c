/* `pending list`, `group list`, `group pause`, `group resume`, `audit list`. */
#include "ask.h"

enum err cmd_pending_list(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_column columns[] = {
		{ "ID", "id", ASK_NUMBER, 0, false },
		{ "GROUP", "group", ASK_TEXT, 8, false },
		{ "EVENT", "event_id", ASK_TEXT, 9, false },
		{ "ATTEMPTS", "attempts", ASK_NUMBER, 0, false },
		{ "DUE IN", "due_in_ms", ASK_AGE, 0, false },
		{ "TYPE", "last_type", ASK_TEXT, 16, false },
		{ "RECEIVED", "received_wall_ms", ASK_TIME, 0, true },
		{ "TOPIC", "topic", ASK_TEXT, 0, true },
	};
	static const struct ask_spec spec = {
		.act = "pending list", .options = "group=",
		.columns = columns, .columns_len = ARRAY_LEN(columns),
		.empty = "nothing waits",
	};

	return ask_run(&spec, a, why);
}

enum err cmd_group_list(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_column columns[] = {
		{ "GROUP", "group", ASK_TEXT, 8, false },
		{ "STATE", "state", ASK_TEXT, 0, false },
		{ "CONFIGURED", "configured", ASK_TEXT, 0, false },
		{ "DONE", "done", ASK_NUMBER, 0, false },
		{ "PENDING", "pending", ASK_NUMBER, 0, false },
		{ "DEAD", "dead", ASK_NUMBER, 0, false },
	};
	static const struct ask_spec spec = {
		.act = "group list", .options = "",
		.columns = columns, .columns_len = ARRAY_LEN(columns),
		.empty = "no groups; `mqonce run` makes those of the "
			 "configuration",
	};

	return ask_run(&spec, a, why);
}

enum err cmd_group_pause(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "group pause", .writes = true, .options = "group=",
		.words = "group",
	};

	return ask_run(&spec, a, why);
}

enum err cmd_group_resume(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "group resume", .writes = true, .options = "group=",
		.words = "group",
	};

	return ask_run(&spec, a, why);
}

enum err cmd_audit_list(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_column columns[] = {
		{ "ID", "id", ASK_NUMBER, 0, false },
		{ "AT", "at_wall_ms", ASK_TIME, 0, false },
		{ "UID", "uid", ASK_NUMBER, 0, false },
		{ "ACT", "act", ASK_TEXT, 0, false },
		{ "N", "n", ASK_NUMBER, 0, false },
		{ "WHAT", "what", ASK_TEXT, 16, false },
	};
	static const struct ask_spec spec = {
		.act = "audit list", .options = "",
		.columns = columns, .columns_len = ARRAY_LEN(columns),
		.empty = "no operator has done anything yet",
	};

	return ask_run(&spec, a, why);
}
