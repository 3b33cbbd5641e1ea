#include "power_flash.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../support/host.h"

#define SECTOR 512

/*
 * The NBD protocol's document, proto.md: "Fixed newstyle negotiation" and
 * "Transmission phase".  All but one option is refused, so that the client
 * falls back to that one.
 */
enum { OPT_EXPORT_NAME = 1, FIXED_NEWSTYLE = 1, NO_ZEROES = 2 };
enum { HAS_FLAGS = 1, SEND_FLUSH = 4 };
enum { READ, WRITE, DISCONNECT, FLUSH };
#define MAGIC_SERVER 0x4e42444d41474943 /* NBDMAGIC */
#define MAGIC_OPTION 0x49484156454f5054 /* IHAVEOPT */
#define MAGIC_REFUSE 0x0003e889045565a9
#define MAGIC_ASK    0x25609513
#define MAGIC_ANSWER 0x67446698
#define REFUSED	     0x80000001
#define PACKED	     __attribute__((packed))

struct PACKED greeting {
	uint64_t server, option;
	uint16_t flags;
};
struct PACKED option {
	uint64_t magic;
	uint32_t option, len;
};
struct PACKED refusal {
	uint64_t magic;
	uint32_t option, type, len;
};
struct PACKED export
{
	uint64_t size;
	uint16_t flags;
};
struct PACKED ask {
	uint32_t magic;
	uint16_t flags, type;
	uint64_t handle, offset;
	uint32_t len;
};
struct PACKED answer {
	uint32_t magic, error;
	uint64_t handle;
};

struct flash {
	pthread_mutex_t lock; /* of all below */
	pthread_t thread;
	bool on;
	unsigned powers; /* times that the power came */
	unsigned cut_at; /* requests from now on; 0: not decided */
	struct flash_loss loss;
	struct seeded chance;
	int listen_fd;
	size_t size;
	uint8_t *kept, *cache; /* the file; what is written over it */
	bool *is_cached;       /* by sector */
	uint32_t *cached;      /* their numbers */
	unsigned cached_len;
};

static bool get(int fd, void *data, size_t len)
{
	return recv(fd, data, len, MSG_WAITALL) == (ssize_t)len;
}

static bool put(int fd, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool negotiate(struct flash *f, int fd)
{
	const struct greeting hello = { htobe64(MAGIC_SERVER),
					htobe64(MAGIC_OPTION),
					htobe16(FIXED_NEWSTYLE | NO_ZEROES) };
	const struct export export = { htobe64(f->size),
				       htobe16(HAS_FLAGS | SEND_FLUSH) };
	uint32_t client;
	struct option o;
	char data[4096];

	if (!put(fd, &hello, sizeof(hello)) ||
	    !get(fd, &client, sizeof(client)))
		return false;
	while (get(fd, &o, sizeof(o)) && be32toh(o.len) <= sizeof(data) &&
	       (!o.len || get(fd, data, be32toh(o.len)))) {
		const struct refusal no = { htobe64(MAGIC_REFUSE), o.option,
					    htobe32(REFUSED), 0 };

		if (be32toh(o.option) == OPT_EXPORT_NAME)
			return put(fd, &export, sizeof(export));
		if (!put(fd, &no, sizeof(no)))
			return false;
	}
	return false;
}

static void write_cache(struct flash *f, const uint8_t *data, uint64_t offset,
			size_t len)
{
	memcpy(f->cache + offset, data, len);
	for (uint64_t s = offset / SECTOR; s < (offset + len) / SECTOR; s++) {
		if (!f->is_cached[s])
			f->cached[f->cached_len++] = (uint32_t)s;
		f->is_cached[s] = true;
	}
}

static void read_cache(const struct flash *f, uint8_t *data, uint64_t offset,
		       size_t len)
{
	for (size_t at = 0; at < len; at += SECTOR, offset += SECTOR)
		memcpy(data + at,
		       (f->is_cached[offset / SECTOR] ? f->cache : f->kept) +
			       offset,
		       SECTOR);
}

/* Sectors stay with a chance of @percent; the cache is empty then. */
static unsigned write_back(struct flash *f, unsigned percent)
{
	unsigned lost = 0;

	for (unsigned i = 0; i < f->cached_len; i++) {
		size_t at = (size_t)f->cached[i] * SECTOR;

		f->is_cached[f->cached[i]] = false;
		if (percent < 100 && !seeded_chance(&f->chance, percent))
			lost++;
		else
			memcpy(f->kept + at, f->cache + at, SECTOR);
	}
	f->cached_len = 0;
	return lost;
}

/* Half the time the whole cache goes, else a part of it. */
static void cut(struct flash *f)
{
	unsigned percent = seeded_chance(&f->chance, 50)
				   ? 0
				   : seeded_below(&f->chance, 100);

	f->on = false;
	f->loss.cached = f->cached_len;
	f->loss.lost = write_back(f, percent);
}

/* A flush in which the power goes is not done. */
static void handle(struct flash *f, const struct ask *a, uint8_t *data)
{
	bool goes = a->type != READ && f->cut_at && !--f->cut_at;

	if (a->type == READ)
		read_cache(f, data, a->offset, a->len);
	if (a->type == WRITE)
		write_cache(f, data, a->offset, a->len);
	if (goes)
		cut(f);
	else if (a->type == FLUSH)
		(void)write_back(f, 100);
}

/*
 * One request of a machine that had the power @power; without power it is not
 * answered.  False: no more come.
 */
static bool serve(struct flash *f, int fd, unsigned power)
{
	static uint8_t data[64 << 20];
	struct answer answer = { .magic = htobe32(MAGIC_ANSWER) };
	struct ask a;
	bool on, late;

	if (!get(fd, &a, sizeof(a)))
		return false;
	a.type = be16toh(a.type);
	a.offset = be64toh(a.offset);
	a.len = be32toh(a.len);
	must(be32toh(a.magic) == MAGIC_ASK && a.type <= FLUSH &&
		     a.len <= sizeof(data) && a.offset + a.len <= f->size &&
		     a.len % SECTOR == 0 && a.offset % SECTOR == 0,
	     "flash: a request that is not understood");
	if (a.type == DISCONNECT || (a.type == WRITE && !get(fd, data, a.len)))
		return false;
	pthread_mutex_lock(&f->lock);
	late = power != f->powers; /* of one that was killed */
	if (f->on && !late)
		handle(f, &a, data);
	on = f->on;
	pthread_mutex_unlock(&f->lock);
	answer.handle = a.handle;
	if (late || !on)
		return !late;
	return put(fd, &answer, sizeof(answer)) &&
	       (a.type != READ || put(fd, data, a.len));
}

static unsigned powers(struct flash *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->powers;
	pthread_mutex_unlock(&f->lock);
	return n;
}

static void *run(void *arg)
{
	struct flash *f = arg;
	int fd;

	while ((fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		bool goes_on = negotiate(f, fd);
		unsigned power = powers(f);

		while (goes_on)
			goes_on = serve(f, fd, power);
		close(fd);
	}
	return NULL;
}

static void *memory(size_t size, int fd)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
			      : MAP_SHARED,
		       fd, 0);

	must(p != MAP_FAILED, "flash: mmap: %s", strerror(errno));
	return p;
}

struct flash *flash_start(const char *image, const char *path, uint64_t seed)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct flash *f = calloc(1, sizeof(*f));
	int fd = open(image, O_RDWR | O_CLOEXEC);
	struct stat st;

	must(f && fd >= 0 && !fstat(fd, &st), "%s: %s", image, strerror(errno));
	must(strlen(path) < sizeof(to.sun_path), "%s: too long", path);
	strcpy(to.sun_path, path);
	f->chance.at = seed;
	f->size = (size_t)st.st_size;
	f->kept = memory(f->size, fd);
	f->cache = memory(f->size, -1);
	f->is_cached = memory(f->size / SECTOR, -1);
	f->cached = memory(f->size / SECTOR * sizeof(*f->cached), -1);
	close(fd);
	f->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(!bind(f->listen_fd, (struct sockaddr *)&to, sizeof(to)) &&
		     !listen(f->listen_fd, 1),
	     "%s: %s", path, strerror(errno));
	pthread_mutex_init(&f->lock, NULL);
	must(!pthread_create(&f->thread, NULL, run, f), "flash: thread");
	return f;
}

void flash_power(struct flash *f)
{
	pthread_mutex_lock(&f->lock);
	f->on = true;
	f->powers++;
	f->cut_at = 0;
	pthread_mutex_unlock(&f->lock);
}

struct flash_loss flash_cut(struct flash *f)
{
	struct flash_loss loss;

	pthread_mutex_lock(&f->lock);
	if (f->on)
		cut(f);
	loss = f->loss;
	pthread_mutex_unlock(&f->lock);
	return loss;
}

void flash_cut_at(struct flash *f, unsigned requests)
{
	pthread_mutex_lock(&f->lock);
	f->cut_at = requests;
	pthread_mutex_unlock(&f->lock);
}

bool flash_is_cut(struct flash *f)
{
	bool yes;

	pthread_mutex_lock(&f->lock);
	yes = !f->on;
	pthread_mutex_unlock(&f->lock);
	return yes;
}
