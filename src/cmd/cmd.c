#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define CONFIG_MAX	((size_t)1 << 20)

enum err cmd_load_config(const struct command_args *a, struct config **ret_c,
			 struct err_detail *why)
{
	AUTO_FREE char *memory = NULL;
	struct span text;
	enum err e = file_read(a->config, CONFIG_MAX, &memory, &text, why);

	if (e == ERR_INPUT)
		e = ERR_CONFIG;
	if (e) {
		size_t n = strlen(why->text);

		snprintf(why->text + n, sizeof(why->text) - n,
			 "; `mqonce init` writes one to start from");
		return e;
	}
	return config_parse(a->config, text, ret_c, why);
}

static const struct command_option *find(const struct command_option *o,
					 unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(o[i].name, name))
			return &o[i];
	return NULL;
}

enum err cmd_options(const struct command_args *a,
		     const struct command_option *options, unsigned options_len,
		     const char **words, unsigned words_max,
		     unsigned *ret_words, struct err_detail *why)
{
	unsigned n = 0;

	for (int i = 0; i < a->argc; i++) {
		const char *arg = a->argv[i];
		const struct command_option *o =
			find(options, options_len, arg);

		if (o && o->flag) {
			*o->flag = true;
		} else if (o && i + 1 < a->argc) {
			*o->value = a->argv[++i];
		} else if (o) {
			return err_say(why, ERR_USAGE, "%s needs a value", arg);
		} else if (arg[0] == '-' && arg[1]) {
			return err_say(why, ERR_USAGE, "unknown option %s; see "
				       "`mqonce help`", arg);
		} else if (n == words_max) {
			return err_say(why, ERR_USAGE, "unexpected word \"%s\"; "
				       "see `mqonce help`", arg);
		} else {
			words[n++] = arg;
		}
	}
	*ret_words = n;
	return OK;
}

void cmd_print_safe(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.data[i];

		putchar(c < ' ' || c == 0x7f ? '?' : c);
	}
}

const char *cmd_age(char buf[CMD_AGE_SIZE], int64_t ms)
{
	static const struct {
		int64_t ms;
		const char *unit;
	} units[] = {
		{ 86400000, "d" }, { 3600000, "h" }, { 60000, "min" },
		{ 1000, "s" },
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (ms >= units[i].ms) {
			snprintf(buf, CMD_AGE_SIZE, "%" PRId64 " %s",
				 ms / units[i].ms, units[i].unit);
			return buf;
		}
	snprintf(buf, CMD_AGE_SIZE, "0 s");
	return buf;
}
