#include "tsv.h"

#include "test.h"

void tsv_open(struct tsv *t, const char *path)
{
	*t = (struct tsv){ .file = fopen(path, "r"), .path = path };
	if (!t->file)
		fail_msg("cannot read %s; run tests from the top folder", path);
}

static int hex_digit(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* Undoes the escapes in place; returns the new end. */
static char *unescape(char *from, char *end)
{
	char *to = from;

	while (from < end) {
		char c = *from++;

		if (c != '\\' || from == end) {
			*to++ = c;
			continue;
		}
		c = *from++;
		if (c == 'x' && end - from >= 2) {
			c = (char)(hex_digit(from[0]) << 4 |
				   hex_digit(from[1]));
			from += 2;
		} else if (c == 'n' || c == 't') {
			c = c == 'n' ? '\n' : '\t';
		}
		*to++ = c;
	}
	*to = '\0';
	return to;
}

static void split(struct tsv *t)
{
	char *start = t->text;

	for (unsigned i = 0; i < TSV_FIELDS; i++) {
		char *end = start ? strchrnul(start, '\t') : NULL;
		char *next = end && *end ? end + 1 : NULL;

		t->field[i] = (struct span){ 0 };
		if (start)
			t->field[i] = span_of(
				start, (size_t)(unescape(start, end) - start));
		start = next;
	}
}

bool tsv_next(struct tsv *t)
{
	while (fgets(t->text, sizeof(t->text), t->file)) {
		t->line++;
		t->text[strcspn(t->text, "\n")] = '\0';
		if (!t->text[0] || t->text[0] == '#')
			continue;
		split(t);
		return true;
	}
	fclose(t->file);
	return false;
}

void tsv_blame(const struct tsv *t)
{
	print_error("case %s:%d\n", t->path, t->line);
}
