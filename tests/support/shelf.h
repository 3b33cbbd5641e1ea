/* The files of a store, taken out of their folder and put back as they were. */
#ifndef TESTS_SHELF_H
#define TESTS_SHELF_H

#include <stddef.h>
#include <stdint.h>

enum shelf_file { SHELF_DB, SHELF_WAL, SHELF_SHM, SHELF_FILES };

struct shelf {
	struct shelf_bytes {
		uint8_t *data; /* NULL: the file is not there */
		size_t len;
	} file[SHELF_FILES];
};

extern const char *const shelf_suffixes[SHELF_FILES];

/* Reads what stands at @path; an owner may be at work. */
void shelf_take(struct shelf *s, const char *path);

/* In place of whatever is there. */
void shelf_put(const struct shelf *s, const char *path);

/* Another of the same. */
void shelf_copy(struct shelf *to, const struct shelf *from);
void shelf_free(struct shelf *s);

#endif
