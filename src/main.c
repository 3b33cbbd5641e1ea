/* A table of commands; everything else is one file each in src/cmd/. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/cmd.h"

#define CONFIG_DEFAULT "/etc/mqonce/mqonce.conf"
#define NAME_SIZE      24 /* of a command's words */
#define HELP_COLUMN    34 /* where the words about a command begin */

#define FILTER_HELP							\
	"  --group G --tenant T --kind K --type T --event ID --topic FILTER\n" \
	TIME_HELP
#define TIME_HELP							\
	"  --since 2d --until 30m   died at most, at least so long ago\n"
#define STATE_HELP							\
	"  --state open|replaying|resolved|discarded\n"
#define FORMAT_HELP							\
	"  --json --ndjson --csv    for programs\n"
#define CHANGE_HELP							\
	"  --dry-run   only say how many letters it is about\n"		\
	"  --yes       do not ask; for scripts\n"

static const struct command {
	const char *name, *sub;
	command_fn *run;
	const char *usage, *help, *more;
} commands[] = {
	{ "init", NULL, cmd_init, "[DIR]", "write an example to start from",
	  "Writes FILE, or mqonce.conf in DIR, with a schema and a handler "
	  "beside it.\nWhat is there already is kept.\n" },
	{ "check", NULL, cmd_check, "[--print] [--accept]",
	  "look for mistakes, then say what is promised",
	  "Reads the configuration, prepares all handlers, looks at the store "
	  "and prints\nthe promise of each group. Changes nothing but with "
	  "--accept.\n\n"
	  "  --print   every key with its value in force, as a file that -c "
	  "reads\n"
	  "  --accept  take changed id and tenant selectors of groups that "
	  "have records;\n"
	  "            copies of their events may run again; stop the daemon "
	  "first\n" },
	{ "run", NULL, cmd_run, "[--accept-restored]",
	  "the daemon, in the foreground",
	  "Logs to standard error, one line per event with a priority as in "
	  "<4>.\nSIGTERM ends it in order, SIGHUP makes it read the "
	  "configuration again.\n\n"
	  "  --accept-restored  go on with a backup as the store: what was "
	  "acknowledged\n"
	  "                     since it was made is not in it\n" },
	{ "status", NULL, cmd_status, "[-q]", "connection, counts and depths",
	  "Asks the daemon or, while none runs, the store.\n\n"
	  "  -q             only alarms, one a line; exit status 1 if there is "
	  "one:\n"
	  "                 open dead letters, no connection, a refused filter, "
	  "ingest\n"
	  "                 stopped, a WAL that grows, no daemon\n"
	  "  --max-age D    an alarm of its own for letters older than D (24h)\n"
	  "  --json         for programs\n"
	  "  --prometheus   the counters, for a scraper or node_exporter\n" },
	{ "dead", "list", cmd_dead_list, "[FILTER] [--utc]",
	  "dead letters, newest first",
	  "On a terminal, rows fit its width ($COLUMNS goes before it) and ~ "
	  "stands where\nsomething is cut; elsewhere nothing is cut. A ? marks "
	  "times of a clock that\nwas not set.\n\n"
	  "  --utc      times in UTC, not local\n"
	  "  --max N    the newest N only\n"
	  FILTER_HELP STATE_HELP FORMAT_HELP },
	{ "dead", "show", cmd_dead_show, "ID [--payload] [--utc]",
	  "one dead letter with its history",
	  "ID is the number that `mqonce dead list` shows.\n\n"
	  "  --payload  also the event's properties and payload\n"
	  "  --utc      times in UTC, not local\n" },
	{ "dead", "summary", cmd_dead_summary, "[FILTER]",
	  "how many of each sort",
	  "  --group G --tenant T --kind K --type T\n"
	  TIME_HELP STATE_HELP FORMAT_HELP },
	{ "dead", "discard", cmd_dead_discard, "ID...|FILTER|--all",
	  "set letters aside; restore undoes it", CHANGE_HELP FILTER_HELP },
	{ "dead", "restore", cmd_dead_restore, "ID...|FILTER|--all",
	  "open discarded letters again", CHANGE_HELP FILTER_HELP },
	{ "dead", "purge", cmd_dead_purge, "--count N ID...|FILTER|--all",
	  "take discarded letters away for good",
	  "N is how many letters you expect to go: if others match, none "
	  "does.\n\n" CHANGE_HELP FILTER_HELP },
	{ "dead", "replay", cmd_dead_replay, "ID...|FILTER|--all",
	  "run letters again, as a job",
	  "The daemon runs them with the live handler, once each; what fails "
	  "again is an\nopen letter again.\n\n"
	  "  --rate N --max N --stop-after N   a second; in all; failures\n"
	  "  --wait            until the job is through, with a bar\n"
	  "  --payload FILE    run one letter with this payload instead\n"
	  CHANGE_HELP FILTER_HELP },
	{ "dead", "pull", cmd_dead_pull, "--max N --out FILE [FILTER]",
	  "take letters away in a file",
	  "The file is whole and synced before a letter is marked: pulled "
	  "letters are\ndiscarded here and say where they went.\n\n"
	  FILTER_HELP },
	{ "job", "list", cmd_job_list, "", "replay jobs, newest first", "" },
	{ "job", "show", cmd_job_show, "JOB", "one replay job", "" },
	{ "job", "cancel", cmd_job_cancel, "JOB",
	  "what has not run is an open letter again", "" },
	{ "job", "resume", cmd_job_resume, "JOB",
	  "go on with a stopped job", "" },
	{ "pending", "list", cmd_pending_list, "[--group G]",
	  "events that wait for their next attempt", "" },
	{ "pending", "retry", cmd_pending_retry, "--group G|--all",
	  "run them now", "" },
	{ "event", "show", cmd_event_show, "--group G [--tenant T] ID",
	  "what is known of one event", "" },
	{ "event", "forget", cmd_event_forget, "--group G [--tenant T] ID",
	  "a copy of it may run again",
	  "Removes the markers of one event, so that it runs again when it "
	  "comes again.\n\n  --yes  do not ask; for scripts\n" },
	{ "group", "list", cmd_group_list, "", "groups and their counts", "" },
	{ "group", "pause", cmd_group_pause, "GROUP",
	  "its events wait, none is run", "" },
	{ "group", "resume", cmd_group_resume, "GROUP", "let it run again",
	  "" },
	{ "group", "rename", cmd_group_rename, "OLD NEW",
	  "a group goes on under another name",
	  "Its records stay its own. Stop the daemon, change the name in the "
	  "configuration,\nrename, start: under a name that the store does not "
	  "know, all its events are new.\n" },
	{ "group", "drop", cmd_group_drop, "NAME",
	  "a group that is no longer configured goes",
	  "Refused while events of it wait or letters of it are not resolved. "
	  "Its number is\nnever used again.\n\n"
	  "  --yes  do not ask; for scripts\n" },
	{ "audit", "list", cmd_audit_list, "", "what operators did", "" },
	{ "store", "verify", cmd_store_verify, "", "whether the store is sound",
	  "Reads all of it beside the daemon, and prints ok, or each fault and "
	  "exit status 1.\n" },
	{ "store", "sweep", cmd_store_sweep, "[--dry-run]",
	  "take away now what has had its time",
	  "Expired markers, histories of what came to a good end, resolved "
	  "letters, all older\nthan the longest ttl. The daemon does so by "
	  "itself.\n\n  --dry-run  only say how many\n" },
	{ "store", "backup", cmd_store_backup, "FILE",
	  "a consistent copy, beside the daemon",
	  "A copy that is put in the store's place says of when it is, and "
	  "wants\n`mqonce run --accept-restored`.\n" },
	{ "store", "quarantine", cmd_store_quarantine, "[--yes]",
	  "a damaged store goes aside, whole",
	  "The file, its WAL and its shared memory get names with the time in "
	  "them. Stop the\ndaemon first.\n" },
	{ "version", NULL, cmd_version, "[--json]",
	  "versions of this program and its libraries",
	  "With --json also the commit, and how the libraries were built.\n" },
};

static const char *full_name(const struct command *c, char buf[NAME_SIZE])
{
	snprintf(buf, NAME_SIZE, "%s%s%s", c->name, c->sub ? " " : "",
		 c->sub ? c->sub : "");
	return buf;
}

static void print_all_help(void)
{
	char name[NAME_SIZE], left[48];

	printf("usage: mqonce COMMAND [-c FILE]\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		snprintf(left, sizeof(left), "%s %s",
			 full_name(&commands[i], name), commands[i].usage);
		if (strlen(left) >= HELP_COLUMN)
			printf("  %s\n  %*s%s\n", left, HELP_COLUMN, "",
			       commands[i].help);
		else
			printf("  %-*s%s\n", HELP_COLUMN, left,
			       commands[i].help);
	}
	printf("  %-*s%s\n", HELP_COLUMN, "help [COMMAND]",
	       "this, or more about one");
	printf("\nFILE is $MQONCE_CONF or " CONFIG_DEFAULT " unless given.\n"
	       "Exit status: 0 yes, 1 no; others as in sysexits.h, with one "
	       "line on stderr.\n");
}

static void print_help(const struct command *c)
{
	char name[NAME_SIZE];

	printf("usage: mqonce %s %s%s[-c FILE]\n\n%s%s%s", full_name(c, name),
	       c->usage, *c->usage ? " " : "", c->help,
	       *c->more ? "\n\n" : "\n", c->more);
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
		if (i + 1 == *argc || !*argv[i + 1])
			return err_say(why, ERR_USAGE, "-c needs a file");
		*ret_file = argv[++i];
	}
	*argc = n;
	return OK;
}

static const struct command *find_command(int argc, char **argv)
{
	for (size_t i = 0; argc && i < ARRAY_LEN(commands); i++) {
		const struct command *c = &commands[i];

		if (!strcmp(argv[0], c->name) &&
		    (!c->sub || (argc > 1 && !strcmp(argv[1], c->sub))))
			return c;
	}
	return NULL;
}

/* "dead" alone, or "dead lst". */
static enum err unknown_sub(int argc, char **argv, const char *const *subs,
			    unsigned n, struct err_detail *why)
{
	const char *near =
		argc > 1 ? nearest_word(span_str(argv[1]), subs, n) : NULL;
	char list[64] = "";

	for (unsigned i = 0; i < n; i++) {
		size_t at = strlen(list);

		snprintf(list + at, sizeof(list) - at, "%s%s", i ? " or " : "",
			 subs[i]);
	}
	if (near)
		return err_say(why, ERR_USAGE,
			       "unknown command \"%s %s\"; did you mean \"%s "
			       "%s\"?",
			       argv[0], argv[1], argv[0], near);
	return err_say(why, ERR_USAGE, "%s needs another word: %s", argv[0],
		       list);
}

static enum err unknown(int argc, char **argv, struct err_detail *why)
{
	const char *names[ARRAY_LEN(commands) + 1];
	const char *subs[ARRAY_LEN(commands)], *near;
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		names[i] = commands[i].name;
		if (commands[i].sub && !strcmp(names[i], argv[0]))
			subs[n++] = commands[i].sub;
	}
	if (n)
		return unknown_sub(argc, argv, subs, n, why);
	if (argv[0][0] == '-')
		return err_say(why, ERR_USAGE,
			       "unknown option %s; see `mqonce help`", argv[0]);
	names[ARRAY_LEN(commands)] = "help";
	near = nearest_word(span_str(argv[0]), names, ARRAY_LEN(names));
	if (near)
		return err_say(why, ERR_USAGE,
			       "unknown command \"%s\"; did you mean \"%s\"?",
			       argv[0], near);
	return err_say(why, ERR_USAGE,
		       "unknown command \"%s\"; see `mqonce help`", argv[0]);
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return !strcmp(word, a) || !strcmp(word, b);
}

/* "help", "help dead list", "--help", "dead list --help". */
static bool wants_help(int *argc, char ***argv)
{
	int last = *argc - 1;

	if (!strcmp(*argv[0], "help") || is_one_of(*argv[0], "--help", "-h")) {
		++*argv;
		--*argc;
		return true;
	}
	if (!is_one_of((*argv)[last], "--help", "-h"))
		return false;
	--*argc;
	return true;
}

static enum err help(int argc, char **argv, struct err_detail *why)
{
	const struct command *c = find_command(argc, argv);
	bool found = c;

	/* For the manual's makers, so that it does not drift. */
	if (argc == 1 && !strcmp(argv[0], "conf")) {
		config_print_facts(stdout);
		return OK;
	}
	if (!argc)
		print_all_help();
	if (c)
		print_help(c);
	for (size_t i = 0; argc == 1 && !c && i < ARRAY_LEN(commands); i++) {
		if (strcmp(argv[0], commands[i].name))
			continue;
		printf("%s", found ? "\n" : "");
		print_help(&commands[i]);
		found = true;
	}
	return !argc || found ? OK : unknown(argc, argv, why);
}

static enum err dispatch(int argc, char **argv, struct err_detail *why)
{
	static char version[] = "version";
	struct command_args a = { 0 };
	const struct command *c;
	enum err e = take_config(&argc, argv, &a.config, why);
	int skip;

	if (e)
		return e;
	if (argc < 1)
		return err_say(why, ERR_USAGE, "no command; see `mqonce help`");
	if (wants_help(&argc, &argv))
		return help(argc, argv, why);
	if (is_one_of(argv[0], "--version", "-V"))
		argv[0] = version;
	c = find_command(argc, argv);
	if (!c)
		return unknown(argc, argv, why);
	skip = c->sub ? 2 : 1;
	a.argc = argc - skip;
	a.argv = argv + skip;
	return c->run(&a, why);
}

/* A file must not become standard output because that was closed. */
static void keep_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static void print_error(const char *text)
{
	char line[sizeof(struct err_detail)];

	cmd_safe(line, sizeof(line), span_str(text));
	fprintf(stderr, "mqonce: %s\n", line);
}

int main(int argc, char **argv)
{
	struct err_detail why = { "" };
	enum err e;

	umask(077);
	/* A file that may not grow is an error, as a full disk is. */
	signal(SIGXFSZ, SIG_IGN);
	keep_standard_files();
	e = dispatch(argc - 1, argv + 1, &why);
	if (!e && (fflush(stdout) || ferror(stdout)))
		e = err_say(&why, ERR_IO,
			    "cannot write the output: %s; not "
			    "all of it was printed",
			    err_system(errno));
	if (e)
		print_error(*why.text ? why.text : err_text(e));
	return err_exit_status(e);
}
