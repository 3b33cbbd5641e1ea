/* What the layer under SQLite tells the model, for power*.c only. */
#ifndef TESTS_POWER_INTERNAL_H
#define TESTS_POWER_INTERNAL_H

#include <sqlite3.h>

#include "power.h"

#define POWER_SECTOR 512
#define POWER_FILES  16
#define POWER_NAME   128

/* What a sector was before a write that no sync covers yet. */
struct power_undo {
	int64_t sector;
	unsigned order;
	bool lied; /* a sync failed: the next ones leave it out */
	uint8_t before[POWER_SECTOR];
};

struct power_file {
	char name[POWER_NAME];
	char was[POWER_NAME]; /* under which the directory knows it, or "" */
	bool used, gone;      /* deleted: its bytes wait under another name */
	bool made;	      /* the directory does not know it */
	struct power_undo *undo;
	unsigned undo_len, undo_size;
	int64_t *sizes; /* after the last sync, and each change since */
	unsigned sizes_len, sizes_size;
};

/* NULL for files that are not watched. */
struct power_file *power_file(const char *name);
struct power_file *power_file_add(const char *name, bool made, int64_t size);

/* Reads one sector; what lies behind the end is zeros. */
typedef void power_sector_fn(void *file, int64_t at, uint8_t *ret_sector);

/* Before @n bytes at @at are written, or all behind @at cut off. */
void power_note(struct power_file *f, power_sector_fn *sector_fn, void *file,
		int64_t at, int64_t n);
void power_note_size(struct power_file *f, int64_t size);
void power_file_synced(struct power_file *f, int64_t size);

/* A sync failed: what was written looks clean, and is not on the disk. */
void power_file_lied(struct power_file *f);

/* What the operation has to answer; counts it. */
int power_judge(enum power_op op);

/* How much of @n bytes still arrives when the power fails meanwhile. */
int power_part(int n);

#endif
