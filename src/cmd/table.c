#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd.h"

#define COLUMNS_MAX    12
#define ROWS_MAX       100 /* more are printed as another page */
#define CELL_SIZE      260 /* an event id has 255 bytes at most */
#define TEXT_SIZE      (64 * 1024)
#define GAP	       2  /* between columns */
#define TERMINAL_WIDTH 80 /* of one that does not say */

struct table {
	const struct table_column *column;
	unsigned columns_len;
	unsigned width[COLUMNS_MAX];
	bool hidden[COLUMNS_MAX];
	bool headed; /* widths stand, the header is out */
	unsigned cells_len;
	const char *cell[ROWS_MAX * COLUMNS_MAX];
	size_t text_len;
	char text[TEXT_SIZE];
};

/* 0: no limit. */
static unsigned width_limit(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws = { 0 };
	int64_t n;

	if (columns && !parse_uint(span_str(columns), &n) && n > 0 && n < 10000)
		return (unsigned)n;
	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) || !ws.ws_col)
		return TERMINAL_WIDTH;
	return ws.ws_col;
}

static bool starts_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static unsigned characters(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += starts_character(*s);
	return n;
}

/* Behind the first @n characters of @s. */
static const char *skip(const char *s, unsigned n)
{
	for (; *s && (n || !starts_character(*s)); s++)
		n -= starts_character(*s);
	return s;
}

enum err table_new(const struct table_column *columns, unsigned n,
		   struct table **ret_t)
{
	struct table *t = n > COLUMNS_MAX ? NULL : calloc(1, sizeof(*t));

	if (!t)
		return ERR_NOMEM;
	t->column = columns;
	t->columns_len = n;
	for (unsigned i = 0; i < n; i++)
		t->width[i] = characters(columns[i].name);
	*ret_t = t;
	return OK;
}

void table_free(struct table *t)
{
	free(t);
}

void table_cell(struct table *t, struct span s)
{
	unsigned at = t->cells_len % t->columns_len, n;
	char *to;

	if (!at && (t->cells_len / t->columns_len == ROWS_MAX ||
		    TEXT_SIZE - t->text_len < t->columns_len * CELL_SIZE))
		table_print(t);
	to = t->text + t->text_len;
	n = (unsigned)cmd_safe(to, CELL_SIZE - 1, s);
	if (s.len >= CELL_SIZE - 1)
		to[n++] = '~';
	to[n] = '\0';
	t->text_len += n + 1;
	t->cell[t->cells_len++] = to;
	n = characters(to);
	if (!t->headed && n > t->width[at])
		t->width[at] = n;
}

static unsigned total(const struct table *t)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < t->columns_len; i++)
		if (!t->hidden[i])
			sum += t->width[i] + GAP;
	return sum - GAP;
}

/* The column with the most to spare. */
static unsigned widest(const struct table *t, unsigned *ret_excess)
{
	unsigned best = 0;

	*ret_excess = 0;
	for (unsigned i = 0; i < t->columns_len; i++) {
		unsigned min = t->column[i].min;

		if (!min || t->hidden[i] || t->width[i] <= min ||
		    t->width[i] - min <= *ret_excess)
			continue;
		*ret_excess = t->width[i] - min;
		best = i;
	}
	return best;
}

static void fit(struct table *t, unsigned limit)
{
	unsigned excess, i;

	for (i = t->columns_len; limit && i-- && total(t) > limit;)
		t->hidden[i] = t->column[i].spare;
	while (limit && total(t) > limit) {
		i = widest(t, &excess);
		if (!excess)
			return;
		t->width[i]--;
	}
}

/* Ids differ at their ends, error types too: the middle is what goes. */
static void print_cell(const struct table *t, unsigned i, const char *s)
{
	unsigned width = t->width[i], n = characters(s);
	unsigned tail = (width - 1) / 2, head = width - 1 - tail;
	bool last = i + 1 == t->columns_len || t->hidden[i + 1];

	if (n > width && t->column[i].min)
		printf("%.*s~%s", (int)(skip(s, head) - s), s,
		       skip(s, n - tail));
	else if (t->column[i].right)
		printf("%*s%s", n < width ? (int)(width - n) : 0, "", s);
	else if (last)
		printf("%s", s);
	else
		printf("%s%*s", s, n < width ? (int)(width - n) : 0, "");
	if (!last)
		printf("%*s", GAP, "");
}

static void print_header(struct table *t)
{
	fit(t, width_limit());
	for (unsigned i = 0; i < t->columns_len; i++)
		if (!t->hidden[i])
			print_cell(t, i, t->column[i].name);
	putchar('\n');
	t->headed = true;
}

void table_print(struct table *t)
{
	if (!t->headed && t->cells_len)
		print_header(t);
	for (unsigned c = 0; c < t->cells_len; c++) {
		unsigned i = c % t->columns_len;

		if (!t->hidden[i])
			print_cell(t, i, t->cell[c]);
		if (i + 1 == t->columns_len)
			putchar('\n');
	}
	t->cells_len = 0;
	t->text_len = 0;
}
