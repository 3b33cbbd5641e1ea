/* A table of commands; everything else is one file each in src/cmd/. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/parse.h"
#include "cmd/cmd.h"

#define CONFIG_DEFAULT	"/etc/mqonce/mqonce.conf"

static const struct command {
	const char *name, *sub;
	command_fn *run;
	const char *usage, *help;
} commands[] = {
	{ "run", NULL, cmd_run, "", "the daemon, in the foreground" },
	{ "init", NULL, cmd_init, "[DIR]",
	  "write a commented configuration and an example handler" },
	{ "check", NULL, cmd_check, "[--print] [--accept]",
	  "check the configuration and prepare all handlers" },
	{ "status", NULL, cmd_status, "", "connection, counts, depths" },
	{ "dead", "list", cmd_dead_list, "[--utc]", "dead letters, newest first" },
	{ "dead", "show", cmd_dead_show, "ID [--payload] [--utc]",
	  "one dead letter with its history" },
	{ "version", NULL, cmd_version, "", "versions of this and its libraries" },
};

static void print_help(FILE *out)
{
	fprintf(out, "usage: mqonce COMMAND [-c FILE]\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const struct command *c = &commands[i];
		char left[48];

		snprintf(left, sizeof(left), "%s%s%s %s", c->name,
			 c->sub ? " " : "", c->sub ? c->sub : "", c->usage);
		fprintf(out, "  %-32s %s\n", left, c->help);
	}
	fprintf(out, "\nFILE is $MQONCE_CONF or " CONFIG_DEFAULT
		     " unless given.\n");
}

/* Takes "-c FILE" out of the words, wherever it stands. */
static enum err take_config(int *argc, char **argv, const char **ret_file,
			    struct err_detail *why)
{
	const char *env = getenv("MQONCE_CONF");
	int n = 0;

	*ret_file = env && *env ? env : CONFIG_DEFAULT;
	for (int i = 0; i < *argc; i++) {
		if (strcmp(argv[i], "-c")) {
			argv[n++] = argv[i];
			continue;
		}
		if (i + 1 == *argc)
			return err_say(why, ERR_USAGE, "-c needs a file");
		*ret_file = argv[++i];
	}
	*argc = n;
	return OK;
}

static const struct command *find_command(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const struct command *c = &commands[i];

		if (!strcmp(argv[0], c->name) &&
		    (!c->sub || (argc > 1 && !strcmp(argv[1], c->sub))))
			return c;
	}
	return NULL;
}

static enum err unknown(int argc, char **argv, struct err_detail *why)
{
	const char *names[ARRAY_LEN(commands)];
	const char *near;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		names[i] = commands[i].name;
		if (commands[i].sub && !strcmp(names[i], argv[0]))
			return err_say(why, ERR_USAGE,
				       "%s %s: no such command; see `mqonce "
				       "help`", argv[0],
				       argc > 1 ? argv[1] : "(nothing)");
	}
	near = nearest_word(span_str(argv[0]), names, ARRAY_LEN(names));
	return err_say(why, ERR_USAGE, "unknown command \"%s\"%s%s; see "
		       "`mqonce help`", argv[0], near ? "; did you mean " : "",
		       near ? near : "");
}

static enum err dispatch(int argc, char **argv, struct err_detail *why)
{
	struct command_args a = { 0 };
	const struct command *c;
	enum err e = take_config(&argc, argv, &a.config, why);
	int skip;

	if (e)
		return e;
	if (argc < 1)
		return err_say(why, ERR_USAGE, "no command; see `mqonce help`");
	if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") ||
	    !strcmp(argv[0], "-h")) {
		print_help(stdout);
		return OK;
	}
	c = find_command(argc, argv);
	if (!c)
		return unknown(argc, argv, why);
	skip = c->sub ? 2 : 1;
	a.argc = argc - skip;
	a.argv = argv + skip;
	return c->run(&a, why);
}

int main(int argc, char **argv)
{
	struct err_detail why = { "" };
	enum err e;

	umask(077);
	e = dispatch(argc - 1, argv + 1, &why);
	if (!e && (fflush(stdout) || ferror(stdout)))
		e = err_say(&why, ERR_IO, "cannot write the output");
	if (e)
		fprintf(stderr, "mqonce: %s\n",
			*why.text ? why.text : err_text(e));
	return err_exit_status(e);
}
