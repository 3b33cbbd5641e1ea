#include "power_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/host.h"

#define GONE ".gone"
#define POWER_PAGE 8 /* sectors of the page cache */
#define TORN 2 /* per cent of the sectors that are not kept */

static struct {
	struct seeded chance;
	char prefix[POWER_NAME];
	struct power_file files[POWER_FILES];

	uint64_t count[POWER_OPS], all, failed;
	uint64_t die_at; /* count of all; 0: not */
	bool dead;
	enum power_op fail_op;
	uint64_t fail_at; /* count of fail_op; 0: none */
	int fail_code;
	bool fail_onwards;
	bool lies;
} state;

void power_seed(uint64_t seed)
{
	state.chance.at = seed;
	sqlite3_randomness(0, NULL); /* it starts anew, from ours */
}

uint64_t power_random(void)
{
	return seeded_next(&state.chance);
}

static void drop_file(struct power_file *f)
{
	free(f->undo);
	free(f->sizes);
	*f = (struct power_file){ 0 };
}

void power_watch(const char *prefix)
{
	for (unsigned i = 0; i < POWER_FILES; i++)
		drop_file(&state.files[i]);
	snprintf(state.prefix, sizeof(state.prefix), "%s", prefix);
	power_kill();
}

void power_lies(bool on)
{
	state.lies = on;
}

void power_die_at(uint64_t nth)
{
	state.die_at = nth ? state.all + nth : 0;
}

static uint64_t count_of(enum power_op op)
{
	return op == POWER_ANY ? state.all : state.count[op];
}

void power_fail(enum power_op op, uint64_t nth, int code, bool onwards)
{
	state.fail_op = op;
	state.fail_at = code ? count_of(op) + nth : 0;
	state.fail_code = code;
	state.fail_onwards = onwards;
}

bool power_is_dead(void)
{
	return state.dead;
}

uint64_t power_count(enum power_op op)
{
	return count_of(op);
}

uint64_t power_failed(void)
{
	return state.failed;
}

int power_judge(enum power_op op)
{
	uint64_t n;

	if (state.dead)
		return SQLITE_IOERR;
	state.count[op]++;
	state.all++;
	if (state.all == state.die_at) {
		state.dead = true;
		return SQLITE_IOERR;
	}
	n = count_of(state.fail_op);
	if (!state.fail_at ||
	    (state.fail_op != op && state.fail_op != POWER_ANY))
		return SQLITE_OK;
	if (n == state.fail_at || (state.fail_onwards && n > state.fail_at)) {
		state.failed++;
		return state.fail_code;
	}
	return SQLITE_OK;
}

int power_part(int n)
{
	int sectors = n / POWER_SECTOR;

	if (!state.dead || !sectors)
		return 0;
	return POWER_SECTOR *
	       (int)seeded_below(&state.chance, (unsigned)sectors + 1);
}

bool power_step(enum power_op op)
{
	return power_judge(op) == SQLITE_OK;
}

/* files */

static bool is_watched(const char *name)
{
	return name && *state.prefix &&
	       !strncmp(name, state.prefix, strlen(state.prefix)) &&
	       !strstr(name, "-shm") && !strstr(name, ".lock");
}

struct power_file *power_file(const char *name)
{
	if (!is_watched(name))
		return NULL;
	for (unsigned i = 0; i < POWER_FILES; i++) {
		struct power_file *f = &state.files[i];

		if (f->used && !f->gone && !strcmp(f->name, name))
			return f;
	}
	return NULL;
}

struct power_file *power_file_add(const char *name, bool made, int64_t size)
{
	if (!is_watched(name))
		return NULL;
	for (unsigned i = 0; i < POWER_FILES; i++) {
		struct power_file *f = &state.files[i];

		if (f->used)
			continue;
		snprintf(f->name, sizeof(f->name), "%s", name);
		f->used = true;
		f->made = made;
		power_note_size(f, size);
		return f;
	}
	must(false, "power: more files than it knows");
	return NULL;
}

void power_note_size(struct power_file *f, int64_t size)
{
	if (f->sizes_len && f->sizes[f->sizes_len - 1] == size)
		return;
	if (f->sizes_len == f->sizes_size) {
		f->sizes_size = f->sizes_size ? f->sizes_size * 2 : 16;
		f->sizes = realloc(f->sizes,
				   f->sizes_size * sizeof(*f->sizes));
		must(f->sizes, "power: no memory");
	}
	f->sizes[f->sizes_len++] = size;
}

static struct power_undo *next_undo(struct power_file *f)
{
	if (f->undo_len == f->undo_size) {
		f->undo_size = f->undo_size ? f->undo_size * 2 : 64;
		f->undo = realloc(f->undo, f->undo_size * sizeof(*f->undo));
		must(f->undo, "power: no memory");
	}
	f->undo[f->undo_len].order = f->undo_len;
	f->undo[f->undo_len].lied = false;
	return &f->undo[f->undo_len++];
}

void power_note(struct power_file *f, power_sector_fn *sector_fn, void *file,
		int64_t at, int64_t n)
{
	int64_t first = at / POWER_SECTOR;
	int64_t last = (at + n - 1) / POWER_SECTOR;

	for (int64_t s = first; n > 0 && s <= last; s++) {
		struct power_undo *u = next_undo(f);

		u->sector = s;
		sector_fn(file, s * POWER_SECTOR, u->before);
	}
}

void power_file_lied(struct power_file *f)
{
	for (unsigned i = 0; state.lies && i < f->undo_len; i++)
		f->undo[i].lied = true;
}

/* Its page was written again since: then the whole page goes out. */
static bool is_rewritten(const struct power_file *f, unsigned i)
{
	for (unsigned j = i + 1; j < f->undo_len; j++)
		if (!f->undo[j].lied && f->undo[j].sector / POWER_PAGE ==
						f->undo[i].sector / POWER_PAGE)
			return true;
	return false;
}

void power_file_synced(struct power_file *f, int64_t size)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->undo_len; i++) {
		if (!f->undo[i].lied || is_rewritten(f, i))
			continue;
		f->undo[n] = f->undo[i];
		f->undo[n].order = n;
		n++;
	}
	f->undo_len = n;
	f->sizes_len = 0;
	power_note_size(f, size);
}

static void fd_sector(void *fd, int64_t at, uint8_t *ret_sector)
{
	memset(ret_sector, 0, POWER_SECTOR);
	(void)!pread(*(int *)fd, ret_sector, POWER_SECTOR, at);
}

/* In place only: nothing grows past SQLite. */
void power_writes(const char *path, int fd, int64_t at, size_t n)
{
	struct power_file *f = power_file(path);

	if (f)
		power_note(f, fd_sector, &fd, at, (int64_t)n);
}

void power_synced(const char *path, int fd, bool done)
{
	struct power_file *f = power_file(path);

	if (f && done)
		power_file_synced(f, lseek(fd, 0, SEEK_END));
	else if (f && !state.dead)
		power_file_lied(f);
}

/*
 * names; by calls that the program does not use, for a simulation puts its own
 * in their place
 */

static int move(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void gone_name(const char *path, char *buf, size_t size)
{
	snprintf(buf, size, "%s" GONE, path);
}

void power_made(const char *path)
{
	if (!power_file(path))
		(void)power_file_add(path, true, 0);
}

void power_renamed(const char *from, const char *to)
{
	struct power_file *f = power_file(from);

	if (!f)
		return;
	if (!*f->was && !f->made)
		snprintf(f->was, sizeof(f->was), "%s", from);
	snprintf(f->name, sizeof(f->name), "%s", to);
}

/* The directory may still know it after a power cut. */
static int put_aside(struct power_file *f)
{
	char aside[POWER_NAME + 8];

	gone_name(f->name, aside, sizeof(aside));
	if (move(f->name, aside))
		return -1;
	f->gone = true;
	return 0;
}

int power_delete(const char *path)
{
	struct power_file *f = power_file(path);
	int rc = f && !f->made ? put_aside(f) : remove(path);

	if (!rc && f && !f->gone)
		drop_file(f);
	return rc;
}

void power_directory_synced(void)
{
	char aside[POWER_NAME + 8];

	for (unsigned i = 0; i < POWER_FILES; i++) {
		struct power_file *f = &state.files[i];

		if (f->used && f->gone) {
			gone_name(f->name, aside, sizeof(aside));
			remove(aside);
			drop_file(f);
		}
		f->made = false;
		f->was[0] = '\0';
	}
}

/* the end of the process, and of the machine */

void power_kill(void)
{
	state.dead = false;
	state.die_at = 0;
	state.fail_at = 0;
}

static int by_sector(const void *a, const void *b)
{
	const struct power_undo *x = a, *y = b;

	if (x->sector != y->sector)
		return x->sector < y->sector ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Both halves were written once; bytes that no write changed are the same. */
static void tear(uint8_t *out, const uint8_t *other)
{
	struct seeded *c = &state.chance;
	unsigned at = seeded_below(c, POWER_SECTOR);
	bool garbage = seeded_chance(c, 30);

	for (unsigned i = 0; i < POWER_SECTOR; i++) {
		if (out[i] == other[i])
			continue;
		if (garbage)
			out[i] ^= (uint8_t)seeded_next(c);
		else if (i >= at)
			out[i] = other[i];
	}
}

/* @u: all that is known of one sector. */
static void settle_sector(int fd, const struct power_undo *u, unsigned n,
			  unsigned keep)
{
	struct seeded *c = &state.chance;
	uint8_t now[POWER_SECTOR] = { 0 };
	off_t at = (off_t)u->sector * POWER_SECTOR;
	const uint8_t *then;

	if (seeded_chance(c, keep))
		return;
	then = u[seeded_chance(c, 60) ? 0 : seeded_below(c, n)].before;
	if (seeded_chance(c, TORN)) {
		(void)!pread(fd, now, sizeof(now), at);
		tear(now, then);
		then = now;
	}
	must(lseek(fd, at, SEEK_SET) == at &&
		     write(fd, then, POWER_SECTOR) == POWER_SECTOR,
	     "power: cannot write");
}

static void settle_content(struct power_file *f, unsigned keep)
{
	struct seeded *c = &state.chance;
	int fd = open(f->name, O_RDWR);
	unsigned pick = seeded_chance(c, keep) ? f->sizes_len - 1
					       : seeded_below(c, f->sizes_len);
	int64_t size = f->sizes[pick];

	must(fd >= 0, "power: %s is not there", f->name);
	if (f->undo_len)
		qsort(f->undo, f->undo_len, sizeof(*f->undo), by_sector);
	for (unsigned i = 0, n; i < f->undo_len; i += n) {
		for (n = 1; i + n < f->undo_len &&
			    f->undo[i + n].sector == f->undo[i].sector; n++)
			;
		settle_sector(fd, &f->undo[i], n, keep);
	}
	must(!ftruncate(fd, size), "power: cannot truncate");
	close(fd);
	f->undo_len = 0;
	power_file_synced(f, size);
}

/* A new name or an old one: the directory's own last writes. */
static void settle_name(struct power_file *f)
{
	char aside[POWER_NAME + 8];

	if (f->gone) {
		gone_name(f->name, aside, sizeof(aside));
		if (access(f->name, F_OK) && seeded_chance(&state.chance, 50)) {
			f->gone = false;
			must(!move(aside, f->name), "power: cannot rename");
			return;
		}
		remove(aside);
		drop_file(f);
	} else if (f->made && seeded_chance(&state.chance, 50)) {
		remove(f->name);
		drop_file(f);
	} else if (*f->was && seeded_chance(&state.chance, 50)) {
		must(!move(f->name, f->was), "power: cannot rename");
		snprintf(f->name, sizeof(f->name), "%s", f->was);
	}
	f->made = false;
	f->was[0] = '\0';
}

void power_cut(void)
{
	static const unsigned keeps[] = { 0, 10, 50, 90, 100 };
	char shm[POWER_NAME + 8];
	unsigned keep = keeps[seeded_below(&state.chance, 5)];

	/* New files first: whether an old one comes back depends on them. */
	for (int gone = 0; gone < 2; gone++)
		for (unsigned i = 0; i < POWER_FILES; i++)
			if (state.files[i].used &&
			    state.files[i].gone == (gone == 1))
				settle_name(&state.files[i]);
	for (unsigned i = 0; i < POWER_FILES; i++)
		if (state.files[i].used)
			settle_content(&state.files[i], keep);
	snprintf(shm, sizeof(shm), "%s-shm", state.prefix);
	remove(shm);
	power_kill();
}
