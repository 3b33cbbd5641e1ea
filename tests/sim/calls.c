/*
 * What the program does to files past SQLite, and its random bytes: the linker
 * gives these in the place of the library's (--wrap).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../fakes/power.h"

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_rename(const char *from, const char *to);
int __real_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __real_unlink(const char *path);
int __wrap_fsync(int fd);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t n, off_t at);
ssize_t __real_pwrite(int fd, const void *buf, size_t n, off_t at);
int __wrap_posix_fallocate(int fd, off_t at, off_t n);
ssize_t __wrap_getrandom(void *buf, size_t n, unsigned flags);

/* Of the files of a store: not the lock, which nobody reads after a cut. */
static bool is_store(const char *path)
{
	return strstr(path, "store.db") && !strstr(path, ".lock");
}

static int dead(void)
{
	errno = EIO;
	return -1;
}

int __wrap_open(const char *path, int flags, ...)
{
	bool fresh = access(path, F_OK) != 0;
	mode_t mode = 0;
	va_list ap;
	int fd;

	if (!(flags & O_CREAT))
		return __real_open(path, flags);
	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if (is_store(path) && !power_step(POWER_OPEN))
		return dead();
	fd = __real_open(path, flags, mode);
	if (fd >= 0 && is_store(path) && fresh)
		power_made(path);
	return fd;
}

int __wrap_rename(const char *from, const char *to)
{
	int rc;

	if (!is_store(to))
		return __real_rename(from, to);
	if (!power_step(POWER_OTHER))
		return dead();
	rc = __real_rename(from, to);
	if (!rc)
		power_renamed(from, to);
	return rc;
}

int __wrap_unlink(const char *path)
{
	if (!is_store(path))
		return __real_unlink(path);
	if (access(path, F_OK))
		return __real_unlink(path);
	if (!power_step(POWER_DELETE))
		return dead();
	return power_delete(path);
}

/* Empty for what is no file of a store. */
static void path_of(int fd, char *buf, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	if (!is_store(buf))
		buf[0] = '\0';
}

int __wrap_fsync(int fd)
{
	char path[256];
	bool done = power_step(POWER_SYNC);

	path_of(fd, path, sizeof(path));
	if (*path)
		power_synced(path, fd, done);
	else if (done)
		power_directory_synced();
	return done ? 0 : dead();
}

ssize_t __wrap_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	char path[256];

	path_of(fd, path, sizeof(path));
	if (!*path)
		return __real_pwrite(fd, buf, n, at);
	if (!power_step(POWER_WRITE))
		return dead();
	power_writes(path, fd, at, n);
	return __real_pwrite(fd, buf, n, at);
}

/* Room that is only held back need not be there. */
int __wrap_posix_fallocate(int fd, off_t at, off_t n)
{
	return ftruncate(fd, at + n);
}

ssize_t __wrap_getrandom(void *buf, size_t n, unsigned flags)
{
	uint8_t *p = buf;

	(void)flags;
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)power_random();
	return (ssize_t)n;
}
