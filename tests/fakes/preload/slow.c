/*
 * Preloaded into a program: a flash that takes SLOW_SYNC_MS for each sync and
 * adds a byte to the file SLOW_SYNC_COUNT for it, a name server that never
 * answers for names that begin with "hangs.", and with NO_SHARED_MAP a file
 * system that, as JFFS2, maps no file shared and writable.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void wait_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

static void count(void)
{
	const char *file = getenv("SLOW_SYNC_COUNT");
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

	if (fd >= 0 && write(fd, ".", 1) != 1)
		abort();
	if (fd >= 0)
		close(fd);
}

static int sync_slowly(const char *name, int fd)
{
	const char *ms = getenv("SLOW_SYNC_MS");
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);

	if (ms)
		wait_ms(strtol(ms, NULL, 10));
	count();
	return next(fd);
}

int fsync(int fd)
{
	return sync_slowly("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_slowly("fdatasync", fd);
}

int getaddrinfo(const char *restrict host, const char *restrict service,
		const struct addrinfo *restrict hints,
		struct addrinfo **restrict ret_list)
{
	int (*next)(const char *, const char *, const struct addrinfo *,
		    struct addrinfo **) =
		(int (*)(const char *, const char *, const struct addrinfo *,
			 struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");

	while (host && !strncmp(host, "hangs.", 6))
		wait_ms(1000);
	return next(host, service, hints, ret_list);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *(*next)(void *, size_t, int, int, int, off_t) =
		(void *(*)(void *, size_t, int, int, int, off_t))dlsym(
			RTLD_NEXT, "mmap");

	if (fd >= 0 && flags & MAP_SHARED && prot & PROT_WRITE &&
	    getenv("NO_SHARED_MAP")) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return next(at, len, prot, flags, fd, offset);
}
