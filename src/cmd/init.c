/* Writes the example where nothing is yet. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "example.h"

#define DEFAULT_DIR "/etc/mqonce/"
#define CONF_NAME   "mqonce.conf"

static enum err make_parents(char *path, struct err_detail *why)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return err_say(why, ERR_CREATE,
				       "%s: cannot create: %s; name another "
				       "folder: mqonce init DIR",
				       path, err_system(errno));
		*p = '/';
	}
	return OK;
}

static enum err write_file(const char *path, const char *text,
			   struct err_detail *why)
{
	AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	size_t n = strlen(text);

	if (fd < 0 && errno == EEXIST) {
		printf("kept    %s (it is there already)\n", path);
		return OK;
	}
	if (fd < 0)
		return err_say(why, ERR_CREATE,
			       "%s: cannot create: %s; name another folder: "
			       "mqonce init DIR",
			       path, err_system(errno));
	errno = ENOSPC; /* unless the call knows better */
	if (write(fd, text, n) != (ssize_t)n) {
		int err_no = errno;

		unlink(path); /* half of it would be kept the next time */
		return err_say(why, err_no == ENOSPC ? ERR_FULL : ERR_IO,
			       "%s: cannot write: %s; nothing is left of it, "
			       "try again when it can be",
			       path, err_system(err_no));
	}
	printf("wrote   %s\n", path);
	return OK;
}

/* The template names the default directory; the copy names its own. */
static enum err write_example(const char *dir, const char *name,
			      const char *template, struct err_detail *why)
{
	char path[4096], text[16384];
	const char *from = template, *hit;
	size_t n = 0;

	while (n < sizeof(text) && (hit = strstr(from, DEFAULT_DIR))) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s%s/",
				      (int)(hit - from), from, dir);
		from = hit + strlen(DEFAULT_DIR);
	}
	if (n < sizeof(text))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", from);
	if (n >= sizeof(text) || (size_t)snprintf(path, sizeof(path), "%s/%s",
						  dir, name) >= sizeof(path))
		return err_say(why, ERR_CREATE,
			       "%s: the path is too long; name a shorter one",
			       dir);
	enum err e = make_parents(path, why);

	return e ? e : write_file(path, text, why);
}

/* @conf is the name of the configuration; the rest keeps its own. */
static enum err write_all(const char *dir, const char *conf,
			  struct err_detail *why)
{
	enum err e = OK;

	for (unsigned i = 0; !e && i < example_files_len; i++) {
		const struct example_file *f = &example_files[i];
		bool is_conf = !strcmp(f->name, CONF_NAME);

		e = write_example(dir, is_conf ? conf : f->name, f->text, why);
	}
	return e;
}

enum err cmd_init(const struct command_args *a, struct err_detail *why)
{
	const char *dir = NULL, *conf = CONF_NAME;
	char copy[4096], full[4096];
	unsigned n;
	enum err e = cmd_options(a, NULL, 0, &dir, 1, &n, why);

	if (e)
		return e;
	if ((size_t)snprintf(copy, sizeof(copy), "%s%s", n ? dir : a->config,
			     n ? "/" : "") >= sizeof(copy))
		return err_say(why, ERR_CREATE,
			       "the path is too long; name a "
			       "shorter one");
	umask(022);
	e = make_parents(copy, why);
	if (e)
		return e;
	if (!n) {
		conf = strrchr(a->config, '/');
		conf = conf ? conf + 1 : a->config;
		dir = dirname(copy);
	}
	if (!realpath(dir, full))
		return err_say(why, ERR_CREATE, "%s: %s; name another folder",
			       dir, err_system(errno));
	e = write_all(full, conf, why);
	if (!e)
		printf("next    edit %s/%s, then: mqonce check -c %s/%s\n",
		       full, conf, full, conf);
	return e;
}
