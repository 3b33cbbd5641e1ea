/* The layer itself: every method of SQLite's files, told to the model. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../support/host.h"
#include "fake_clock.h"
#include "pass_vfs.h"
#include "power_internal.h"

struct vfs_file {
	struct pass_file pass;	  /* must be first */
	struct power_file *model; /* NULL: not watched */
	bool syncs_directory;	  /* with its first sync, as unixSync() does */
};

static sqlite3_vfs *real_vfs, vfs;
static sqlite3_io_methods methods;

static struct vfs_file *file_of(sqlite3_file *f)
{
	return (struct vfs_file *)f;
}

static void vfs_sector(void *file, int64_t at, uint8_t *ret_sector)
{
	(void)PASS(file, xRead, ret_sector, POWER_SECTOR, at);
}

static int64_t size_of(sqlite3_file *f)
{
	sqlite3_int64 n = 0;

	must(!PASS(f, xFileSize, &n), "power: no size");
	return n;
}

static int x_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
	return power_is_dead() ? SQLITE_IOERR_READ
			       : PASS(f, xRead, buf, n, at);
}

static int put(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	struct power_file *m = file_of(f)->model;
	int rc;

	if (m)
		power_note(m, vfs_sector, f, at, n);
	rc = PASS(f, xWrite, buf, n, at);
	if (m)
		power_note_size(m, size_of(f));
	return rc;
}

static int x_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	bool was_dead = power_is_dead();
	int rc = power_judge(POWER_WRITE), part;

	if (!rc)
		return put(f, buf, n, at);
	part = was_dead ? 0 : power_part(n);
	if (part)
		(void)put(f, buf, part, at);
	return rc;
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	struct power_file *m = file_of(f)->model;
	int rc = power_judge(POWER_TRUNCATE);

	if (rc)
		return rc;
	if (m)
		power_note(m, vfs_sector, f, size, size_of(f) - size);
	rc = PASS(f, xTruncate, size);
	if (m)
		power_note_size(m, size_of(f));
	return rc;
}

static int x_sync(sqlite3_file *f, int flags)
{
	struct vfs_file *ff = file_of(f);
	int rc = power_judge(POWER_SYNC);

	(void)flags;
	if (rc && ff->model && !power_is_dead())
		power_file_lied(ff->model);
	if (rc)
		return rc;
	if (ff->model)
		power_file_synced(ff->model, size_of(f));
	if (ff->syncs_directory)
		power_directory_synced();
	ff->syncs_directory = false;
	return SQLITE_OK;
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend,
		     void volatile **ret)
{
	int rc = power_judge(POWER_SHM);

	return rc ? rc : PASS(f, xShmMap, page, size, extend, ret);
}

static int x_shm_unmap(sqlite3_file *f, int del)
{
	return PASS(f, xShmUnmap, del && !power_is_dead());
}

static void watch(struct vfs_file *ff, const char *name, bool made, int flags)
{
	ff->model = power_file(name);
	if (!ff->model)
		ff->model = power_file_add(name, made, size_of(&ff->pass.base));
	/* Whether it was there or not: somebody may have died in between. */
	ff->syncs_directory = (flags & SQLITE_OPEN_CREATE) &&
			      (flags & (SQLITE_OPEN_WAL |
					SQLITE_OPEN_MAIN_JOURNAL |
					SQLITE_OPEN_SUPER_JOURNAL));
}

static int x_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
		  int *ret_flags)
{
	struct vfs_file *ff = file_of(f);
	bool made = name && access(name, F_OK);
	int rc = power_judge(POWER_OPEN);

	(void)v;
	f->pMethods = NULL;
	if (rc)
		return SQLITE_CANTOPEN;
	rc = pass_open(real_vfs, name, f, sizeof(*ff), &methods, flags,
		       ret_flags);
	ff->model = NULL;
	ff->syncs_directory = false;
	if (!rc)
		watch(ff, name, made, flags);
	return rc;
}

static int x_delete(sqlite3_vfs *v, const char *name, int sync_directory)
{
	(void)v;
	if (power_judge(POWER_DELETE))
		return SQLITE_IOERR_DELETE;
	if (power_delete(name))
		return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT
				       : SQLITE_IOERR_DELETE;
	if (sync_directory)
		power_directory_synced();
	return SQLITE_OK;
}

static int x_randomness(sqlite3_vfs *v, int n, char *out)
{
	(void)v;
	for (int i = 0; i < n; i++)
		out[i] = (char)power_random();
	return n;
}

static int x_time(sqlite3_vfs *v, sqlite3_int64 *ret_ms)
{
	(void)v;
	/* Julian day 0 in milliseconds before 1970 */
	*ret_ms = fake_clock.wall_ms + INT64_C(210866760000000);
	return SQLITE_OK;
}

static void set_methods(void)
{
	methods = pass_methods;
	methods.xRead = x_read;
	methods.xWrite = x_write;
	methods.xTruncate = x_truncate;
	methods.xSync = x_sync;
	methods.xShmMap = x_shm_map;
	methods.xShmUnmap = x_shm_unmap;
}

void power_install(void)
{
	set_methods();
	sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1);
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs; /* all else goes to the real one's functions */
	vfs.zName = "power";
	vfs.szOsFile = (int)sizeof(struct vfs_file) + real_vfs->szOsFile;
	vfs.xOpen = x_open;
	vfs.xDelete = x_delete;
	vfs.xRandomness = x_randomness;
	vfs.xCurrentTimeInt64 = x_time;
	must(!sqlite3_vfs_register(&vfs, 1), "power: not taken");
}
