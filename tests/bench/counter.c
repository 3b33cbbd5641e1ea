/*
 * Preloaded into a consumer: counts its syncs and writes.  Which file a
 * descriptor stands for is asked each time, so counted runs are not timed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counts.h"

/* https://sqlite.org/fileformat2.html#the_write_ahead_log */
#define WAL_FRAME_HEADER 24

int fsync(int fd);
int fdatasync(int fd);
ssize_t pwrite(int fd, const void *buf, size_t n, off_t at);
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at);
ssize_t write(int fd, const void *buf, size_t n);

enum kind { KIND_FILE, KIND_WAL, KIND_OTHER };

static struct counts nowhere, *counts = &nowhere;

static struct {
	int (*fsync)(int);
	int (*fdatasync)(int);
	ssize_t (*pwrite64)(int, const void *, size_t, off64_t);
	ssize_t (*write)(int, const void *, size_t);
} real;

static void *next(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	if (!p)
		abort();
	return p;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv(COUNTS_ENV);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p;

	*(void **)&real.fsync = next("fsync");
	*(void **)&real.fdatasync = next("fdatasync");
	*(void **)&real.pwrite64 = next("pwrite64");
	*(void **)&real.write = next("write");
	if (fd < 0)
		return;
	p = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 0);
	if (p != MAP_FAILED)
		counts = p;
	close(fd);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static enum kind kind_of(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (ends_with(path, ".db-wal"))
		return KIND_WAL;
	return ends_with(path, ".db") ? KIND_FILE : KIND_OTHER;
}

static void count_sync(int fd)
{
	switch (kind_of(fd)) {
	case KIND_WAL: counts->wal_syncs++; break;
	case KIND_FILE: counts->file_syncs++; break;
	case KIND_OTHER: counts->other_syncs++; break;
	}
}

/* A frame whose second word is not 0 is the last of its transaction. */
static bool ends_transaction(const void *buf, size_t n)
{
	static const char zero[4];

	return n == WAL_FRAME_HEADER &&
	       memcmp((const char *)buf + 4, zero, sizeof(zero)) != 0;
}

static void count_write(int fd, const void *buf, size_t n)
{
	switch (kind_of(fd)) {
	case KIND_WAL:
		counts->wal_bytes += n;
		counts->commits += ends_transaction(buf, n);
		break;
	case KIND_FILE: counts->file_bytes += n; break;
	case KIND_OTHER: break;
	}
}

int fsync(int fd)
{
	count_sync(fd);
	return real.fsync(fd);
}

int fdatasync(int fd)
{
	count_sync(fd);
	return real.fdatasync(fd);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	count_write(fd, buf, n);
	return real.pwrite64(fd, buf, n, at);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return pwrite64(fd, buf, n, at);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	if (n > 1) /* wake-ups of the library */
		count_write(fd, buf, n);
	return real.write(fd, buf, n);
}
