#include "fault_vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass_vfs.h"

#define VFS_NAME "fault"

struct fault_file {
	struct pass_file pass; /* must be first */
	const char *name;      /* SQLite keeps it while the file is open */
};

struct fault {
	uint64_t at; /* count that fails, 0: none */
	int code;    /* or, if it is 0, */
	int err_no;
	bool onwards;
};

static struct {
	pthread_mutex_t lock;
	uint64_t count[FAULT_ANY + 1], failed;
	struct fault fault[FAULT_ANY + 1];
	int last_errno;
	fault_hook_fn *hook;
	void *arg;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static sqlite3_vfs *real_vfs, vfs;
static sqlite3_io_methods methods;

/* What SQLite's layer for Unix makes of it: unixWrite(), unixOpen() ... */
static int code_of(enum fault_op op, int err_no)
{
	static const int codes[FAULT_OPS] = {
		[FAULT_OPEN] = SQLITE_CANTOPEN,
		[FAULT_READ] = SQLITE_IOERR_READ,
		[FAULT_WRITE] = SQLITE_IOERR_WRITE,
		[FAULT_TRUNCATE] = SQLITE_IOERR_TRUNCATE,
		[FAULT_SYNC] = SQLITE_IOERR_FSYNC,
		[FAULT_DELETE] = SQLITE_IOERR_DELETE,
		[FAULT_SHM] = SQLITE_IOERR_SHMSIZE,
		[FAULT_LOCK] = SQLITE_IOERR_SHMLOCK,
	};

	return op == FAULT_WRITE && err_no == ENOSPC ? SQLITE_FULL : codes[op];
}

static bool is_met(const struct fault *f, uint64_t count)
{
	return f->at && (count == f->at || (f->onwards && count > f->at));
}

/* Counts one and says what it has to answer. */
static int judge(enum fault_op op)
{
	const struct fault *f = NULL;
	int code = SQLITE_OK, err_no = 0;

	pthread_mutex_lock(&state.lock);
	state.count[op]++;
	state.count[FAULT_ANY]++;
	if (is_met(&state.fault[op], state.count[op]))
		f = &state.fault[op];
	else if (is_met(&state.fault[FAULT_ANY], state.count[FAULT_ANY]))
		f = &state.fault[FAULT_ANY];
	if (f) {
		state.failed++;
		err_no = state.last_errno = f->err_no;
		code = f->err_no ? code_of(op, f->err_no) : f->code;
	}
	pthread_mutex_unlock(&state.lock);
	if (err_no)
		errno = err_no;
	return code;
}

static void call_hook(enum fault_moment when, const char *name)
{
	fault_hook_fn *hook;
	void *arg;

	pthread_mutex_lock(&state.lock);
	hook = state.hook;
	arg = state.arg;
	pthread_mutex_unlock(&state.lock);
	if (hook)
		hook(arg, when, name ? name : "");
}

static struct fault_file *file_of(sqlite3_file *f)
{
	return (struct fault_file *)f;
}

static int x_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
	int rc = judge(FAULT_READ);

	return rc ? rc : PASS(f, xRead, buf, n, at);
}

static int x_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	int rc = judge(FAULT_WRITE);

	return rc ? rc : PASS(f, xWrite, buf, n, at);
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = judge(FAULT_TRUNCATE);

	return rc ? rc : PASS(f, xTruncate, size);
}

static int x_sync(sqlite3_file *f, int flags)
{
	int rc = judge(FAULT_SYNC);

	call_hook(FAULT_BEFORE_SYNC, file_of(f)->name);
	if (!rc)
		rc = PASS(f, xSync, flags);
	call_hook(FAULT_AFTER_SYNC, file_of(f)->name);
	return rc;
}

static int x_control(sqlite3_file *f, int op, void *arg)
{
	if (op == SQLITE_FCNTL_LAST_ERRNO && state.last_errno) {
		*(int *)arg = state.last_errno;
		return SQLITE_OK;
	}
	return PASS(f, xFileControl, op, arg);
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend,
		     void volatile **ret)
{
	int rc = judge(FAULT_SHM);

	/* That would say that it is mapped, for reading. */
	if (rc == SQLITE_READONLY)
		rc = SQLITE_IOERR_SHMMAP;
	return rc ? rc : PASS(f, xShmMap, page, size, extend, ret);
}

static int x_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	int rc = flags & SQLITE_SHM_LOCK ? judge(FAULT_LOCK) : SQLITE_OK;

	return rc ? rc : PASS(f, xShmLock, at, n, flags);
}

static int x_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
		  int *ret_flags)
{
	int rc = judge(FAULT_OPEN);

	(void)v;
	f->pMethods = NULL;
	file_of(f)->name = name;
	return rc ? rc : pass_open(real_vfs, name, f, sizeof(struct fault_file),
				   &methods, flags, ret_flags);
}

static int x_delete(sqlite3_vfs *v, const char *name, int sync_directory)
{
	int rc = judge(FAULT_DELETE);

	(void)v;
	return rc ? rc : real_vfs->xDelete(real_vfs, name, sync_directory);
}

static void set_methods(void)
{
	methods = pass_methods;
	methods.xRead = x_read;
	methods.xWrite = x_write;
	methods.xTruncate = x_truncate;
	methods.xSync = x_sync;
	methods.xFileControl = x_control;
	methods.xShmMap = x_shm_map;
	methods.xShmLock = x_shm_lock;
}

void fault_vfs_install(void)
{
	if (real_vfs)
		return;
	set_methods();
	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs; /* all else goes to the real one's functions */
	vfs.zName = VFS_NAME;
	vfs.szOsFile = (int)sizeof(struct fault_file) + real_vfs->szOsFile;
	vfs.xOpen = x_open;
	vfs.xDelete = x_delete;
	if (sqlite3_vfs_register(&vfs, 1)) {
		fprintf(stderr, "fault vfs: not taken\n");
		abort();
	}
}

void fault_vfs_reset(void)
{
	pthread_mutex_lock(&state.lock);
	memset(state.count, 0, sizeof(state.count));
	memset(state.fault, 0, sizeof(state.fault));
	state.failed = 0;
	state.last_errno = 0;
	state.hook = NULL;
	pthread_mutex_unlock(&state.lock);
}

void fault_vfs_hook(fault_hook_fn *hook, void *arg)
{
	pthread_mutex_lock(&state.lock);
	state.hook = hook;
	state.arg = arg;
	pthread_mutex_unlock(&state.lock);
}

void fault_vfs_fail(enum fault_op op, uint64_t nth, int code, bool onwards)
{
	pthread_mutex_lock(&state.lock);
	state.fault[op] = (struct fault){
		.at = code ? state.count[op] + nth : 0,
		.code = code,
		.onwards = onwards,
	};
	pthread_mutex_unlock(&state.lock);
}

void fault_vfs_fail_errno(enum fault_op op, uint64_t nth, int err_no,
			  bool onwards)
{
	pthread_mutex_lock(&state.lock);
	state.fault[op] = (struct fault){
		.at = state.count[op] + nth,
		.err_no = err_no,
		.onwards = onwards,
	};
	pthread_mutex_unlock(&state.lock);
}

uint64_t fault_vfs_count(enum fault_op op)
{
	uint64_t n;

	pthread_mutex_lock(&state.lock);
	n = state.count[op];
	pthread_mutex_unlock(&state.lock);
	return n;
}

uint64_t fault_vfs_failed(void)
{
	uint64_t n;

	pthread_mutex_lock(&state.lock);
	n = state.failed;
	pthread_mutex_unlock(&state.lock);
	return n;
}
