#include "store/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "database.h"

#define LOCK_SUFFIX	".lock"

static bool lock_path(char *buf, size_t size, const char *path)
{
	return (size_t)snprintf(buf, size, "%s" LOCK_SUFFIX, path) < size;
}

enum err owner_lock(struct store *st, struct err_detail *why)
{
	char path[4096], text[256];
	pid_t pid;
	int fd;

	if (!lock_path(path, sizeof(path), st->path))
		return err_say(why, ERR_CREATE, "%s: path too long", st->path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_say(why, errno == EACCES ? ERR_PERM : ERR_CREATE,
			       "%s: cannot create the lock file: %s%s", path,
			       err_system(errno), errno == EACCES
			       ? "; run this as the daemon's user or as root"
			       : "");
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		st->lock_fd = fd;
		owner_say(st, "");
		return OK;
	}
	close(fd);
	owner_look(st->path, &pid, text, sizeof(text));
	return err_say(why, ERR_BUSY,
		       "%s: another mqonce owns this store (pid %d); stop it "
		       "first (status and dead list work meanwhile)", st->path, (int)pid);
}

void owner_say(struct store *st, const char *text)
{
	char buf[768];
	int n = snprintf(buf, sizeof(buf), "pid %d\n%s", (int)getpid(), text);

	if (n >= (int)sizeof(buf))
		n = (int)sizeof(buf) - 1;
	/* For people only: what cannot be written is not missed. */
	if (pwrite(st->lock_fd, buf, (size_t)n, 0) == n)
		(void)!ftruncate(st->lock_fd, n);
}

void owner_look(const char *path, pid_t *ret_pid, char *text, size_t size)
{
	char file[4096], buf[768];
	AUTO_CLOSE int fd = -1;
	ssize_t n;
	char *rest;
	long pid;

	*ret_pid = 0;
	snprintf(text, size, "%s", "");
	if (!lock_path(file, sizeof(file), path))
		return;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0)
		return;			/* nobody holds it */
	n = read(fd, buf, sizeof(buf) - 1);
	buf[n > 0 ? n : 0] = '\0';
	if (strncmp(buf, "pid ", 4))
		return;
	pid = strtol(buf + 4, &rest, 10);
	if (pid <= 0 || pid > INT_MAX)
		return;
	*ret_pid = (int)pid;
	snprintf(text, size, "%s", rest + (*rest == '\n'));
}
