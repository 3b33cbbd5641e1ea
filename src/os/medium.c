#include "os/medium.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OVERLAYS 4 /* one on another, at most, before we call it unseen */

static const struct {
	const char *type;
	enum medium_kind kind;
} known[] = {
	{ "tmpfs", MEDIUM_MEMORY },   { "ramfs", MEDIUM_MEMORY },
	{ "rootfs", MEDIUM_MEMORY },  { "nfs", MEDIUM_NETWORK },
	{ "nfs4", MEDIUM_NETWORK },   { "cifs", MEDIUM_NETWORK },
	{ "smb3", MEDIUM_NETWORK },   { "9p", MEDIUM_NETWORK },
	{ "afs", MEDIUM_NETWORK },    { "ceph", MEDIUM_NETWORK },
	{ "fuse", MEDIUM_FUSE },      { "fuseblk", MEDIUM_FUSE },
	{ "virtiofs", MEDIUM_FUSE },  { "vfat", MEDIUM_FAT },
	{ "msdos", MEDIUM_FAT },      { "exfat", MEDIUM_FAT },
	{ "overlay", MEDIUM_UNSEEN }, { "overlayfs", MEDIUM_UNSEEN },
};

static const char *const faults[] = {
	[MEDIUM_MEMORY] = "in memory: a power cut takes the store, and events "
			  "that were acknowledged with it",
	[MEDIUM_NETWORK] = "on another machine: SQLite's WAL does not work "
			   "over a network",
	[MEDIUM_FUSE] = "by a program (FUSE): only that knows whether a commit "
			"is on the disk",
	[MEDIUM_FAT] = "which has no journal: a power cut can take the file's "
		       "name or size",
	[MEDIUM_UNSEEN] = "whose upper directory cannot be seen from here: "
			  "what it lies on is not known",
};

/* Of fuse.sshfs and the like, what stands before the dot counts. */
static enum medium_kind kind_of(const char *type)
{
	size_t n = strcspn(type, ".");

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strncmp(type, known[i].type, n) && !known[i].type[n])
			return known[i].kind;
	return MEDIUM_DISK;
}

/* Space, tab, newline and backslash stand there as \040. */
static void decode(char *s)
{
	char *to = s;

	for (; *s; to++) {
		unsigned c = 0;
		int n = 0;

		if (*s == '\\' && sscanf(s + 1, "%3o%n", &c, &n) == 1 && n == 3) {
			*to = (char)c;
			s += 4;
		} else {
			*to = *s++;
		}
	}
	*to = '\0';
}

/* One line: `36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw`. */
static bool read_line(char *line, int *ret_id, char **ret_type,
		      char **ret_options)
{
	char *tail = strstr(line, " - ");

	if (!tail || sscanf(line, "%d ", ret_id) != 1)
		return false;
	tail += 3;
	*ret_type = strsep(&tail, " ");
	(void)strsep(&tail, " ");
	*ret_options = strsep(&tail, "\n");
	return *ret_options;
}

static void upper_of(char *options, char *buf, size_t size)
{
	char *option;

	*buf = '\0';
	while ((option = strsep(&options, ",")))
		if (!strncmp(option, "upperdir=", 9)) {
			decode(option + 9);
			snprintf(buf, size, "%s", option + 9);
		}
}

static void read_mount(FILE *mountinfo, int mount, struct medium *m)
{
	size_t room = 0;
	char *line = NULL;

	rewind(mountinfo);
	while (getline(&line, &room, mountinfo) > 0) {
		char *type, *options;
		int id;

		if (!read_line(line, &id, &type, &options) || id != mount)
			continue;
		snprintf(m->type, sizeof(m->type), "%s", type);
		upper_of(options, m->upper, sizeof(m->upper));
	}
	free(line);
}

void medium_read(FILE *mountinfo, const char *path,
		 int (*mount_of)(const char *path), struct medium *ret)
{
	struct medium m = { 0 };
	char upper[sizeof(m.upper)] = "";
	int mount = mount_of(path);

	for (int i = 0; mount >= 0 && i < OVERLAYS; i++) {
		read_mount(mountinfo, mount, &m);
		m.kind = kind_of(m.type);
		mount = -1;
		if (m.kind == MEDIUM_UNSEEN && *m.upper)
			mount = mount_of(m.upper);
		if (mount >= 0)
			memcpy(upper, m.upper, sizeof(upper));
	}
	memcpy(m.upper, upper, sizeof(upper));
	*ret = m;
}

/* As the kernel sees it now: a path alone does not tell what covers it. */
static int mount_of(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	char text[64];
	FILE *f = NULL;
	int id = -1;

	snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", fd);
	if (fd >= 0)
		f = fopen(text, "re");
	while (f && id < 0 && fgets(text, sizeof(text), f))
		(void)sscanf(text, "mnt_id: %d", &id);
	if (f)
		fclose(f);
	return id;
}

/* The directory of @path, or what it will be made in; no links in it. */
static bool directory_of(const char *path, char ret_dir[PATH_MAX])
{
	char copy[PATH_MAX], *dir;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return false;
	dir = dirname(copy);
	return realpath(dir, ret_dir) || realpath(dirname(dir), ret_dir);
}

/*
 * Mapping is asked for and no more: to write there could be a SIGBUS where the
 * disk is full.
 */
static enum err check_map(const char *dir, const struct medium *m,
			  struct err_detail *why)
{
	AUTO_CLOSE int fd = -1;
	char name[PATH_MAX + 32];
	void *page;

	snprintf(name, sizeof(name), "%s/.mqonce-map-XXXXXX", dir);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return OK;
	(void)unlink(name); /* its name is all that would be left */
	if (ftruncate(fd, 4096))
		return OK;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED)
		munmap(page, 4096);
	/* How mmap(2) says that the file system cannot; all else may pass. */
	if (page != MAP_FAILED || (errno != EINVAL && errno != ENODEV))
		return OK;
	return err_say(why, ERR_CONFIG,
		       "%s: lies on %s, where no file can be mapped shared and "
		       "writable (%s), as SQLite's WAL needs; set [store] path "
		       "to a directory on ext4, f2fs, btrfs or UBIFS",
		       dir, *m->type ? m->type : "a file system",
		       err_system(errno));
}

static void tell(const char *dir, const struct medium *m,
		 void (*warn)(const char *text))
{
	char text[PATH_MAX + 1024];

	snprintf(text, sizeof(text),
		 "%s%s%s lies on %s, %s; set [store] path to a directory on "
		 "ext4, f2fs, btrfs or UBIFS",
		 dir, *m->upper ? ", written to " : "", m->upper, m->type,
		 faults[m->kind]);
	warn(text);
}

enum err medium_check(const char *path, void (*warn)(const char *text),
		      struct err_detail *why)
{
	struct medium m = { 0 };
	char dir[PATH_MAX];
	FILE *mounts;

	if (!directory_of(path, dir))
		return OK; /* to make it, or to open it, will say more */
	mounts = fopen("/proc/self/mountinfo", "re");
	if (mounts) {
		medium_read(mounts, dir, mount_of, &m);
		fclose(mounts);
	}
	if (m.kind != MEDIUM_DISK)
		tell(dir, &m, warn);
	return check_map(dir, &m, why);
}
