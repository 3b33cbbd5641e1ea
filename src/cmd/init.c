/* Writes the example where nothing is yet. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "example.h"

static enum err make_parents(char *path, struct err_detail *why)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return err_say(why, ERR_CREATE, "%s: %s", path,
				       strerror(errno));
		*p = '/';
	}
	return OK;
}

static enum err write_file(const char *path, const char *text,
			   struct err_detail *why)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				 0644);
	size_t n = strlen(text);

	if (fd < 0 && errno == EEXIST) {
		printf("kept    %s (it is there already)\n", path);
		return OK;
	}
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return err_say(why, ERR_CREATE, "%s: cannot write: %s", path,
			       strerror(errno));
	printf("wrote   %s\n", path);
	return OK;
}

/* The template names the default directory; the copy names its own. */
static enum err write_example(const char *dir, const struct example_file *f,
			      struct err_detail *why)
{
	char path[4096], text[16384], *to = text;
	const char *from = f->text, *hit;

	while ((hit = strstr(from, "/etc/mqonce/"))) {
		to += snprintf(to, (size_t)(text + sizeof(text) - to),
			       "%.*s%s/", (int)(hit - from), from, dir);
		from = hit + strlen("/etc/mqonce/");
	}
	snprintf(to, (size_t)(text + sizeof(text) - to), "%s", from);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, f->name) >=
	    sizeof(path))
		return err_say(why, ERR_CREATE, "%s: path too long", dir);
	enum err e = make_parents(path, why);

	return e ? e : write_file(path, text, why);
}

enum err cmd_init(const struct command_args *a, struct err_detail *why)
{
	const char *dir = NULL;
	char copy[4096], full[4096];
	unsigned n;
	enum err e = cmd_options(a, NULL, 0, &dir, 1, &n, why);

	if (e)
		return e;
	snprintf(copy, sizeof(copy), "%s", a->config);
	if (!n)
		dir = dirname(copy);
	umask(022);
	if (mkdir(dir, 0755) && errno != EEXIST)
		return err_say(why, ERR_CREATE, "%s: %s", dir, strerror(errno));
	if (!realpath(dir, full))
		return err_say(why, ERR_CREATE, "%s: %s", dir, strerror(errno));
	for (unsigned i = 0; !e && i < example_files_len; i++)
		e = write_example(full, &example_files[i], why);
	if (!e)
		printf("next    edit %s/mqonce.conf, then: mqonce check -c "
		       "%s/mqonce.conf\n", full, full);
	return e;
}
