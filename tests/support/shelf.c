#include "shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

const char *const shelf_suffixes[SHELF_FILES] = {
	[SHELF_DB] = "", [SHELF_WAL] = "-wal", [SHELF_SHM] = "-shm"
};

static void take_file(struct shelf_bytes *b, const char *name)
{
	FILE *f = fopen(name, "rbe");
	struct stat sb;

	*b = (struct shelf_bytes){ 0 };
	if (!f)
		return;
	must(!fstat(fileno(f), &sb), "%s: no size", name);
	b->data = malloc((size_t)sb.st_size + 1);
	must(b->data, "no memory");
	b->len = fread(b->data, 1, (size_t)sb.st_size, f);
	fclose(f);
}

static void put_file(const struct shelf_bytes *b, const char *name)
{
	FILE *f;

	unlink(name);
	if (!b->data)
		return;
	f = fopen(name, "wbe");
	must(f && fwrite(b->data, 1, b->len, f) == b->len && !fclose(f),
	     "%s: not written", name);
}

void shelf_take(struct shelf *s, const char *path)
{
	char name[256];

	for (int i = 0; i < SHELF_FILES; i++) {
		snprintf(name, sizeof(name), "%s%s", path, shelf_suffixes[i]);
		take_file(&s->file[i], name);
	}
}

void shelf_put(const struct shelf *s, const char *path)
{
	char name[256];

	for (int i = 0; i < SHELF_FILES; i++) {
		snprintf(name, sizeof(name), "%s%s", path, shelf_suffixes[i]);
		put_file(&s->file[i], name);
	}
}

void shelf_copy(struct shelf *to, const struct shelf *from)
{
	for (int i = 0; i < SHELF_FILES; i++) {
		const struct shelf_bytes *b = &from->file[i];

		to->file[i] = *b;
		if (!b->data)
			continue;
		to->file[i].data = malloc(b->len + 1);
		must(to->file[i].data, "no memory");
		memcpy(to->file[i].data, b->data, b->len);
	}
}

void shelf_free(struct shelf *s)
{
	for (int i = 0; i < SHELF_FILES; i++)
		free(s->file[i].data);
	*s = (struct shelf){ 0 };
}
