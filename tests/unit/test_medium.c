#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/medium.h"

/* OpenWrt's, a Pi's, a container's: what stands in /proc/self/mountinfo. */
static const char openwrt[] =
	"15 1 0:2 / / rw - rootfs rootfs rw\n"
	"20 15 31:3 / /rom ro,relatime - squashfs /dev/root ro\n"
	"21 15 0:14 / /tmp rw,nosuid - tmpfs tmpfs rw\n"
	"23 15 31:4 / /overlay rw,noatime - jffs2 /dev/mtdblock4 rw\n"
	"24 15 0:16 / / rw,noatime - overlay overlayfs:/overlay "
	"rw,lowerdir=/,upperdir=/overlay/upper,workdir=/overlay/work\n"
	"25 24 179:1 / /srv rw,noatime shared:3 - ext4 /dev/mmcblk0p1 rw\n";
static const char pi[] =
	"24 1 179:2 / / rw,noatime shared:1 - ext4 /dev/root rw\n"
	"30 24 179:1 / /boot/firmware rw - vfat /dev/mmcblk0p1 rw\n"
	"31 24 0:24 / /run rw,nosuid - tmpfs tmpfs rw,size=93380k\n"
	"32 24 0:50 / /mnt/the\\040share rw - nfs4 10.0.0.1:/x rw,vers=4.2\n"
	"33 24 0:51 / /mnt/stick rw - fuseblk /dev/sda1 rw,user_id=0\n"
	"34 24 0:52 / /mnt/far rw - fuse.sshfs far:/ rw\n"
	"35 24 0:53 / /data rw - tmpfs tmpfs rw\n"
	"36 35 179:3 / /data rw - f2fs /dev/mmcblk0p3 rw\n"
	"37 24 0:54 / /mnt/plain rw - fuse none rw,user_id=0\n"
	"38 24 0:55 / /mnt/ntfs rw - fuseblk.ntfs /dev/sdb1 rw\n";
static const char container[] =
	"900 1 0:99 / / rw - overlay overlay "
	"rw,lowerdir=/l/A:/l/B,upperdir=/docker/diff,workdir=/docker/work\n"
	"901 900 8:1 /volumes/x /var/lib/mqonce rw - ext4 /dev/sda1 rw\n"
	"a line cut off\n";

/* A jail, its root in memory, with one folder of an overlay bound into it. */
static const char jail[] =
	"70 1 0:30 / / ro - tmpfs tmpfs rw\n"
	"71 70 0:16 /srv/mqonce /srv/mqonce rw - overlay overlayfs:/overlay "
	"rw,lowerdir=/,upperdir=/not/seen,workdir=/overlay/work\n";

/* One overlay over another over a disk; one that is its own upper. */
static const char nested[] =
	"10 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
	"11 10 0:20 / /one rw - overlay overlay rw,upperdir=10\n"
	"12 10 0:21 / /two rw - overlay overlay rw,upperdir=11\n"
	"13 10 0:22 / /loop rw - overlay overlay rw,upperdir=13\n"
	"14 10 0:23 / /x rw - overlay overlay rw,upperdir=/a\\040b,workdir=/w\n";

/* The tests' paths are numbers of mounts, but for these. */
static int mount_of(const char *path)
{
	return !strcmp(path, "/overlay/upper") ? 23
	       : !strcmp(path, "/a b")	       ? 10
	       : *path == '/'		       ? -1
					       : (int)strtol(path, NULL, 10);
}

static const struct row {
	const char *mounts, *path, *type, *upper;
	enum medium_kind kind;
} rows[] = {
	{ openwrt, "24", "jffs2", "/overlay/upper", MEDIUM_DISK },
	{ openwrt, "21", "tmpfs", "", MEDIUM_MEMORY },
	{ openwrt, "25", "ext4", "", MEDIUM_DISK },
	{ openwrt, "20", "squashfs", "", MEDIUM_DISK },
	{ pi, "24", "ext4", "", MEDIUM_DISK },
	{ pi, "31", "tmpfs", "", MEDIUM_MEMORY },
	{ pi, "30", "vfat", "", MEDIUM_FAT },
	{ pi, "32", "nfs4", "", MEDIUM_NETWORK },
	{ pi, "33", "fuseblk", "", MEDIUM_FUSE },
	{ pi, "34", "fuse.sshfs", "", MEDIUM_FUSE },
	{ pi, "37", "fuse", "", MEDIUM_FUSE },
	{ pi, "38", "fuseblk.ntfs", "", MEDIUM_FUSE },
	{ pi, "36", "f2fs", "", MEDIUM_DISK },
	{ container, "900", "overlay", "", MEDIUM_UNSEEN },
	{ container, "901", "ext4", "", MEDIUM_DISK },
	{ jail, "71", "overlay", "", MEDIUM_UNSEEN },
	{ nested, "12", "ext4", "10", MEDIUM_DISK },
	{ nested, "14", "ext4", "/a b", MEDIUM_DISK },
	{ nested, "13", "overlay", "13", MEDIUM_UNSEEN },
	{ nested, "99", "", "", MEDIUM_DISK },
	{ "", "1", "", "", MEDIUM_DISK },
};

static void a_directory_is_judged_by_the_mount_that_is_seen(void **s UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		FILE *f = *r->mounts ? fmemopen((void *)(uintptr_t)r->mounts,
						strlen(r->mounts), "r")
				     : fopen("/dev/null", "r");
		struct medium m;

		assert_non_null(f);
		medium_read(f, r->path, mount_of, &m);
		fclose(f);
		assert_string_equal(m.type, r->type);
		assert_string_equal(m.upper, r->upper);
		assert_int_equal(m.kind, r->kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_is_judged_by_the_mount_that_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
