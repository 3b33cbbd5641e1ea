#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define NOBODY 65534

struct gateway *cli_gateway(void)
{
	struct gateway *g =
		gateway_new(&(struct gateway_options){ .no_broker = true,
						       .groups = "",
						       .schema = SCHEMA,
						       .handler = HANDLER });

	gateway_file(g, "mqonce.conf", GOOD_CONF);
	return g;
}

const char *cli_path(const struct gateway *g, const char *name)
{
	static char path[4][160];
	static unsigned n;
	char *p = path[n++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", g->dir, name);
	return p;
}

const char *cli_expand(const struct gateway *g, const char *text)
{
	static char out[1024];

	gateway_expand(g, text, out, sizeof(out));
	return out;
}

char *cli_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "r");
	char *buf = calloc(1, 1 << 20);

	assert_non_null(buf);
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	*ret_len = fread(buf, 1, (1 << 20) - 1, f);
	fclose(f);
	return buf;
}

void cli_file_into(const char *path, char *buf, size_t size)
{
	size_t n;
	char *text = cli_file(path, &n);

	assert_true(n < size);
	memcpy(buf, text, n + 1);
	free(text);
}

/* In the child. */
static void prepare(struct gateway *g, const struct how *how)
{
	int out = how->out_fd ? how->out_fd
			      : open(cli_path(g, "out"),
				     O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int err = open(cli_path(g, "err"), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	if (how->ignore_pipe)
		signal(SIGPIPE, SIG_IGN);
	if (how->columns)
		setenv("COLUMNS", how->columns, 1);
	else
		unsetenv("COLUMNS");
	if (how->as_nobody && setuid(NOBODY))
		_exit(126);
}

static int wait_for(pid_t pid)
{
	int status = -1;

	if (process_wait(pid, LIMIT_MS, &status))
		return status;
	process_stop(pid, SIGKILL);
	fail_msg("it does not end");
	return -1;
}

void cli_run_how(struct gateway *g, struct ran *r, const char *args,
		 const struct how *how)
{
	char copy[256], *argv[16], *rest = copy;
	int argc = 0;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s", args);
	argv[argc++] = (char *)(uintptr_t)g->program;
	while (argc < 13 && rest && *rest)
		argv[argc++] = strsep(&rest, " ");
	argv[argc++] = (char[]){ "-c" };
	argv[argc++] = g->conf;
	argv[argc] = NULL;
	pid = process_fork();
	if (!pid) {
		prepare(g, how);
		process_become(argv);
	}
	r->status = wait_for(pid);
	r->out[0] = '\0';
	if (!how->out_fd)
		cli_file_into(cli_path(g, "out"), r->out, sizeof(r->out));
	cli_file_into(cli_path(g, "err"), r->err, sizeof(r->err));
}

void cli_run(struct gateway *g, struct ran *r, const char *args)
{
	cli_run_how(g, r, args, &(struct how){ 0 });
}

void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in: %s", part, text);
}

void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in: %s", part, text);
}

void cli_assert_error(struct gateway *g, const struct ran *r, const char *args,
		      int status, const char *part)
{
	const char *end = strchr(r->err, '\n');

	if (r->status != status)
		fail_msg("%s: status %d, not %d: %s", args, r->status, status,
			 r->err);
	if (strncmp(r->err, "mqonce: ", 8) || !end || end[1])
		fail_msg("%s: not one line of ours: %s", args, r->err);
	assert_has(r->err, cli_expand(g, part));
	assert_lacks(r->err, CANARY);
}

void cli_each_fails(struct gateway *g, const char *commands, int status,
		    const char *part)
{
	char copy[256], *rest = copy, *args;
	static struct ran r;

	snprintf(copy, sizeof(copy), "%s", commands);
	while ((args = strsep(&rest, "|"))) {
		cli_run(g, &r, args);
		cli_assert_error(g, &r, args, status, part);
	}
}

void cli_make_store(struct gateway *g)
{
	unsigned before = gateway_logged(g, "run.start");

	gateway_start(g, NULL);
	gateway_wait_log(g, "run.start", before + 1, LIMIT_MS);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
}

void assert_narrow(const char *text, size_t width)
{
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strcspn(p, "\n") > width)
			fail_msg("wider than %zu: %.200s", width, p);
}
