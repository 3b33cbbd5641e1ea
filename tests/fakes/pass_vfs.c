#include "pass_vfs.h"

static int x_close(sqlite3_file *f)
{
	return PASS(f, xClose);
}

static int x_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
	return PASS(f, xRead, buf, n, at);
}

static int x_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	return PASS(f, xWrite, buf, n, at);
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return PASS(f, xTruncate, size);
}

static int x_sync(sqlite3_file *f, int flags)
{
	return PASS(f, xSync, flags);
}

static int x_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return PASS(f, xFileSize, n);
}

static int x_lock(sqlite3_file *f, int l)
{
	return PASS(f, xLock, l);
}

static int x_unlock(sqlite3_file *f, int l)
{
	return PASS(f, xUnlock, l);
}

static int x_reserved(sqlite3_file *f, int *ret)
{
	return PASS(f, xCheckReservedLock, ret);
}

static int x_control(sqlite3_file *f, int op, void *arg)
{
	return PASS(f, xFileControl, op, arg);
}

static int x_sector(sqlite3_file *f)
{
	return PASS(f, xSectorSize);
}

static int x_traits(sqlite3_file *f)
{
	return PASS(f, xDeviceCharacteristics);
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend,
		     void volatile **ret)
{
	return PASS(f, xShmMap, page, size, extend, ret);
}

static int x_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return PASS(f, xShmLock, at, n, flags);
}

static void x_shm_barrier(sqlite3_file *f)
{
	PASS(f, xShmBarrier);
}

static int x_shm_unmap(sqlite3_file *f, int del)
{
	return PASS(f, xShmUnmap, del);
}

static int x_fetch(sqlite3_file *f, sqlite3_int64 at, int n, void **ret)
{
	return PASS(f, xFetch, at, n, ret);
}

static int x_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p)
{
	return PASS(f, xUnfetch, at, p);
}

const sqlite3_io_methods pass_methods = {
	.iVersion = 3,
	.xClose = x_close,
	.xRead = x_read,
	.xWrite = x_write,
	.xTruncate = x_truncate,
	.xSync = x_sync,
	.xFileSize = x_size,
	.xLock = x_lock,
	.xUnlock = x_unlock,
	.xCheckReservedLock = x_reserved,
	.xFileControl = x_control,
	.xSectorSize = x_sector,
	.xDeviceCharacteristics = x_traits,
	.xShmMap = x_shm_map,
	.xShmLock = x_shm_lock,
	.xShmBarrier = x_shm_barrier,
	.xShmUnmap = x_shm_unmap,
	.xFetch = x_fetch,
	.xUnfetch = x_unfetch,
};

int pass_open(sqlite3_vfs *real_vfs, const char *name, sqlite3_file *f,
	      size_t size, const sqlite3_io_methods *methods, int flags,
	      int *ret_flags)
{
	struct pass_file *pf = (struct pass_file *)f;
	int rc;

	pf->real = (sqlite3_file *)((char *)f + size);
	rc = real_vfs->xOpen(real_vfs, name, pf->real, flags, ret_flags);
	if (!pf->real->pMethods)
		return rc;
	pf->methods = *methods;
	pf->methods.iVersion = pf->real->pMethods->iVersion;
	f->pMethods = &pf->methods;
	return rc;
}
