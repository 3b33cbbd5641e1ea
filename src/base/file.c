#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static enum err read_all(int fd, const char *path, size_t size, char *buf,
			 struct err_detail *why)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(fd, buf + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_say(
				why, ERR_INPUT, "%s: cannot read: %s", path,
				n ? err_system(errno) : "it became shorter");
		got += (size_t)n;
	}
	buf[size] = '\0';
	return OK;
}

enum err file_read(const char *path, size_t max, char **ret_memory,
		   struct span *ret_text, struct err_detail *why)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *buf = NULL;
	struct stat sb;
	enum err e;

	if (fd < 0 || fstat(fd, &sb))
		return err_say(why, errno == EACCES ? ERR_PERM : ERR_INPUT,
			       "%s: cannot open: %s", path, err_system(errno));
	if (!S_ISREG(sb.st_mode))
		return err_say(why, ERR_INPUT, "%s: not a plain file", path);
	if ((size_t)sb.st_size > max)
		return err_say(why, ERR_INPUT, "%s: larger than %zu bytes",
			       path, max);
	buf = malloc((size_t)sb.st_size + 1);
	if (!buf)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	e = read_all(fd, path, (size_t)sb.st_size, buf, why);
	if (e)
		return e;
	*ret_text = span_of(buf, (size_t)sb.st_size);
	*ret_memory = buf;
	buf = NULL;
	return OK;
}
