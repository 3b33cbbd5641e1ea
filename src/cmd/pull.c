/* `dead pull`: letters into a file that is whole before they are marked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"

#define MARKED_AT_ONCE	500

struct pull {
	FILE *file;
	char *ids;		/* of the whole letters, with commas */
	size_t ids_len, ids_size;
	int64_t under_way, n;
	int err_no;		/* of the write that failed */
	char member[16];	/* open in the file; "" for none */
};

static enum err note_id(struct pull *p)
{
	char id[24];
	int n = snprintf(id, sizeof(id), "%" PRId64 ",", p->under_way);

	if (p->ids_len + (size_t)n + 1 > p->ids_size) {
		size_t size = p->ids_size ? p->ids_size * 2 : 4096;
		char *more = realloc(p->ids, size);

		if (!more)
			return ERR_NOMEM;
		p->ids = more;
		p->ids_size = size;
	}
	memcpy(p->ids + p->ids_len, id, (size_t)n + 1);
	p->ids_len += (size_t)n;
	p->n++;
	return OK;
}

/* Properties are JSON, the others are text. */
static void open_member(struct pull *p, const char *name)
{
	if (!strcmp(p->member, name))
		return;
	if (*p->member && strcmp(p->member, "properties"))
		putc('"', p->file);
	snprintf(p->member, sizeof(p->member), "%s", name);
	if (*name)
		fprintf(p->file, ",\"%s\":%s", name,
			strcmp(name, "properties") ? "\"" : "");
}

static void write_piece(struct pull *p, struct json_value row)
{
	struct json_value text;
	struct span s = { 0 };
	char name[sizeof(p->member)];

	if (!ask_text(row, "member", name, sizeof(name)).data)
		return;
	open_member(p, name);
	if (ask_field(row, "text", &text))
		s = strcmp(name, "properties") ? text.raw : ask_value(text);
	if (s.data)
		fwrite(s.data, 1, s.len, p->file);
}

static enum err check_written(struct pull *p)
{
	if (!ferror(p->file))
		return OK;
	p->err_no = errno;
	return ERR_IO;
}

/* A letter's row without its end, then what is long in pieces, then the end. */
static enum err write_row(struct ask *k, struct json_value row)
{
	struct pull *p = k->arg;
	struct json_value v, last;
	enum err e;

	if (ask_field(row, "member", &v)) {
		write_piece(p, row);
	} else if (!ask_field(row, "payload_base64", &v)) {
		p->under_way = ask_number(row, "id");
		fwrite(row.raw.data, 1, row.raw.len - 1, p->file);
	} else {
		open_member(p, "payload_base64");
		fwrite(v.raw.data, 1, v.raw.len, p->file);
	}
	if (!ask_field(row, "last", &last) || !span_is(last.raw, "true"))
		return check_written(p);
	open_member(p, "");
	fputs("}\n", p->file);
	e = check_written(p);
	return e ? e : note_id(p);
}

static enum err sync_folder(const char *path)
{
	char copy[4096];
	AUTO_CLOSE int fd = -1;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) ? ERR_IO : OK;
}

static enum err cannot_write(const char *file, int err_no,
			     struct err_detail *why)
{
	return err_say(why, err_no == ENOSPC ? ERR_FULL : ERR_IO,
		       "%s: %s; nothing was taken", file, err_system(err_no));
}

static enum err fill(struct ask *k, struct pull *p, const char *draft,
		     struct err_detail *why)
{
	enum err e = ask_send(k, why);

	if (p->err_no)
		e = cannot_write(draft, p->err_no, why);
	if (!e && (fflush(p->file) || fsync(fileno(p->file))))
		e = cannot_write(draft, errno, why);
	if (fclose(p->file) && !e)
		e = cannot_write(draft, errno, why);
	return e;
}

/* Under another name until it is whole and on the disk. */
static enum err copy(struct ask *k, struct pull *p, const char *path,
		     struct err_detail *why)
{
	char draft[4096];
	int fd;
	enum err e;

	snprintf(draft, sizeof(draft), "%s.part", path);
	if (access(path, F_OK) == 0)
		return err_say(why, ERR_CREATE, "%s is there already; name "
			       "another file", path);
	fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	p->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!p->file)
		return err_say(why, ERR_CREATE, "%s: %s", draft,
			       err_system(errno));
	e = fill(k, p, draft, why);
	if (!e && p->n && (rename(draft, path) || sync_folder(path)))
		e = cannot_write(path, errno, why);
	if (e || !p->n)
		unlink(draft);
	return e;
}

static enum err keep_nothing(struct ask *k UNUSED, struct json_value row UNUSED)
{
	return OK;
}

/* The next few ids of the list, cut off with a NUL. */
static char *cut_ids(char **rest)
{
	char *ids = *rest, *p = ids;

	for (int i = 0; i < MARKED_AT_ONCE && *p; i++)
		p = strchr(p, ',') + 1;
	*rest = p;
	if (p > ids)
		p[-1] = '\0';
	return ids;
}

static enum err mark(struct ask *k, struct pull *p, const char *path,
		     struct err_detail *why)
{
	static const struct ask_spec spec = { .act = "dead pulled",
					      .writes = true,
					      .row = keep_nothing };
	char *rest = p->ids;
	enum err e = OK;

	k->spec = &spec;
	while (!e && rest && *rest) {
		k->options_len = 0;
		k->rows = 0;
		e = ask_set(k, "ids", cut_ids(&rest), why);
		if (!e)
			e = ask_set(k, "out", path, why);
		if (!e)
			e = ask_send(k, why);
	}
	return e;
}

enum err cmd_dead_pull(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead pull", .writes = true, .row = write_row,
		.options = "group= tenant= kind= type= topic= since= until= "
			   "event= max= out=",
	};
	struct pull p = { 0 };
	struct ask k;
	char path[4096] = "";
	enum err e = ask_open(&k, &spec, a, why);

	k.arg = &p;
	if (!e && !ask_get(&k, "out"))
		e = err_say(why, ERR_USAGE, "dead pull needs --out FILE");
	if (!e) {
		snprintf(path, sizeof(path), "%s", ask_get(&k, "out"));
		ask_unset(&k, "out");
		e = copy(&k, &p, path, why);
	}
	if (!e)
		e = mark(&k, &p, path, why);
	if (!e && p.n)
		printf("pulled %" PRId64 " letters to %s; they are discarded "
		       "here: purge or restore them\n", p.n, path);
	else if (!e)
		printf("no letter to pull; `mqonce dead list --state "
		       "discarded` has those that were pulled before, `dead "
		       "show` says where one is\n");
	free(p.ids);
	ask_close(&k);
	return e;
}
