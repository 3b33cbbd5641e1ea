#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"

#define CONFIG_MAX  ((size_t)1 << 20)
#define OPTIONS_MAX 16
#define CHUNK	    512 /* printed at a time */

/* What to do about a file that cannot be read depends on why. */
static void add_advice(const char *file, enum err e, struct err_detail *why)
{
	size_t n = strlen(why->text);
	const char *advice = "name another with -c FILE";

	if (e == ERR_PERM)
		advice = "run this as the daemon's user or as root";
	else if (access(file, F_OK) && errno == ENOENT)
		advice = "name it with -c FILE; `mqonce init` writes one to "
			 "start from";
	snprintf(why->text + n, sizeof(why->text) - n, "; %s", advice);
}

enum err cmd_load_config(const struct command_args *a, struct config **ret_c,
			 struct err_detail *why)
{
	AUTO_FREE char *memory = NULL;
	struct span text;
	enum err e = file_read(a->config, CONFIG_MAX, &memory, &text, why);

	if (e)
		add_advice(a->config, e, why);
	if (e)
		return e == ERR_INPUT ? ERR_CONFIG : e;
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

static enum err unknown_option(const struct command_option *o, unsigned n,
			       const char *arg, struct err_detail *why)
{
	const char *names[OPTIONS_MAX], *near;

	if (n > OPTIONS_MAX)
		n = OPTIONS_MAX;
	for (unsigned i = 0; i < n; i++)
		names[i] = o[i].name;
	near = nearest_word(span_str(arg), names, n);
	if (near)
		return err_say(why, ERR_USAGE,
			       "unknown option %s; did you mean %s?", arg,
			       near);
	return err_say(why, ERR_USAGE, "unknown option %s; see `mqonce help`",
		       arg);
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
			return unknown_option(options, options_len, arg, why);
		} else if (n == words_max) {
			return err_say(why, ERR_USAGE,
				       "unexpected word \"%s\"; "
				       "see `mqonce help`",
				       arg);
		} else {
			words[n++] = arg;
		}
	}
	*ret_words = n;
	return OK;
}

/* Bytes of the character at @s, whole as cmd_safe() has looked. */
static size_t character(struct span s)
{
	size_t n = 1;

	while (n < s.len && ((unsigned char)s.data[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* C0, C1, and the marks that change the direction of writing. */
static bool steers(const char *p, size_t n)
{
	const unsigned char *c = (const unsigned char *)p;

	if (n == 1)
		return c[0] < ' ' || c[0] == 0x7f;
	if (n == 2)
		return c[0] == 0xc2 && c[1] < 0xa0;
	return n == 3 && c[0] == 0xe2 &&
	       ((c[1] == 0x80 &&
		 ((c[2] & 0xfe) == 0x8e || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
		(c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

size_t cmd_safe(char *buf, size_t size, struct span s)
{
	bool utf8 = utf8_valid(s);
	size_t at = 0;

	while (s.len) {
		size_t n = utf8 ? character(s) : 1;
		bool bad = steers(s.data, n) ||
			   (!utf8 && (unsigned char)s.data[0] >= 0x80);

		if (at + n >= size)
			break;
		memcpy(buf + at, bad ? "?" : s.data, bad ? 1 : n);
		at += bad ? 1 : n;
		s = span_of(s.data + n, s.len - n);
	}
	buf[at] = '\0';
	return at;
}

void cmd_print_safe(struct span s)
{
	char buf[CHUNK + 4];

	while (s.len) {
		size_t n = s.len < CHUNK ? s.len : CHUNK;

		while (n < s.len && n > CHUNK - 4 &&
		       ((unsigned char)s.data[n] & 0xc0) == 0x80)
			n--;
		cmd_safe(buf, sizeof(buf), span_of(s.data, n));
		fputs(buf, stdout);
		s = span_of(s.data + n, s.len - n);
	}
}

const char *cmd_age(char buf[CMD_AGE_SIZE], int64_t ms)
{
	static const struct {
		int64_t ms;
		const char *unit;
	} units[] = {
		{ 86400000, "d" },
		{ 3600000, "h" },
		{ 60000, "min" },
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

const char *cmd_size(char buf[CMD_SIZE_SIZE], int64_t bytes)
{
	static const char units[] = "KMGT";
	const char *unit = units;

	if (bytes < 1000) {
		snprintf(buf, CMD_SIZE_SIZE, "%" PRId64, bytes);
		return buf;
	}
	for (bytes = (bytes + 1023) / 1024; bytes >= 1000 && unit[1]; unit++)
		bytes = (bytes + 1023) / 1024;
	snprintf(buf, CMD_SIZE_SIZE, "%" PRId64 "%c", bytes, *unit);
	return buf;
}

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t cmd_base64(struct span text, char *buf, size_t size)
{
	uint32_t bits = 0;
	size_t n = 0;
	int have = 0;

	for (size_t i = 0; i < text.len && n < size; i++) {
		int v = digit(text.data[i]);

		if (v < 0)
			continue;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		buf[n++] = (char)(bits >> have);
	}
	return n;
}

enum err cmd_confirm(const char *question, bool yes, struct err_detail *why)
{
	char answer[16];

	if (yes)
		return OK;
	if (!isatty(STDIN_FILENO))
		return err_say(why, ERR_USAGE, "not on a terminal: say --yes "
			       "if you mean it");
	printf("%s [y/N] ", question);
	fflush(stdout);
	if (!fgets(answer, sizeof(answer), stdin) ||
	    (*answer != 'y' && *answer != 'Y'))
		return err_say(why, ERR_NO, "nothing was changed");
	return OK;
}
