/* Rows for people and for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "base/clock.h"
#include "table.h"

#define TABLE_ROWS	100	/* shown together, so that columns fit */

bool ask_field(struct json_value row, const char *name,
	       struct json_value *ret_v)
{
	struct span n;
	size_t pos = 0;

	while (json_next(row, &pos, &n, ret_v))
		if (span_is(n, name))
			return true;
	return false;
}

int64_t ask_number(struct json_value row, const char *name)
{
	struct json_value v;
	char buf[32];

	if (!ask_field(row, name, &v) || v.kind != JSON_NUMBER)
		return 0;
	snprintf(buf, sizeof(buf), "%.*s", SPAN_FMT(v.raw));
	return strtoll(buf, NULL, 10);
}

struct span ask_text(struct json_value row, const char *name, char *buf,
		     size_t size)
{
	struct json_value v;
	long n = -1;

	if (ask_field(row, name, &v) && v.kind == JSON_STRING)
		n = json_unescape(v.raw, buf, size - 1);
	if (n < 0)
		return (struct span){ 0 };
	buf[n] = '\0';
	return span_of(buf, (size_t)n);
}

struct span ask_value(struct json_value v)
{
	static char buf[ASK_LINE_MAX];	/* never longer than its escapes */
	long n;

	if (v.kind == JSON_NULL)
		return span_str("-");
	if (v.kind != JSON_STRING)
		return v.raw;
	n = json_unescape(v.raw, buf, sizeof(buf));
	return n < 0 ? v.raw : span_of(buf, (size_t)n);
}

static void cell(struct ask *k, const struct ask_column *c,
		 struct json_value row)
{
	char small[48];
	struct json_value v;
	int64_t n = ask_number(row, c->field);

	if (!ask_field(row, c->field, &v))
		v = (struct json_value){ JSON_NULL, span_str("null") };
	switch (c->kind) {
	case ASK_AGE:
		table_cell(k->table, span_str(cmd_age(small, n)));
		return;
	case ASK_BYTES:
		table_cell(k->table, span_str(cmd_size(small, n)));
		return;
	case ASK_TIME:
		if (v.kind != JSON_NULL)
			v.raw = span_str(clock_iso(small, n, k->utc));
		table_cell(k->table, v.kind == JSON_NULL ? span_str("-")
							 : v.raw);
		return;
	case ASK_TEXT:
	case ASK_NUMBER:
		break;
	}
	table_cell(k->table, ask_value(v));
}

static enum err start_table(struct ask *k)
{
	static struct table_column columns[24];

	for (unsigned i = 0; i < k->spec->columns_len; i++) {
		const struct ask_column *c = &k->spec->columns[i];

		columns[i] = (struct table_column){
			.name = c->title, .min = c->min, .spare = c->spare,
			.right = c->kind == ASK_NUMBER || c->kind == ASK_AGE ||
				 c->kind == ASK_BYTES,
		};
	}
	return table_new(columns, k->spec->columns_len, &k->table);
}

static void print_lines(struct json_value row)
{
	struct json_value v;
	struct span name;
	size_t pos = 0;

	while (json_next(row, &pos, &name, &v)) {
		printf("%-14.*s ", SPAN_FMT(name));
		cmd_print_safe(ask_value(v));
		putchar('\n');
	}
}

static enum err print_for_people(struct ask *k, struct json_value row)
{
	enum err e = OK;

	if (k->spec->row)
		return k->spec->row(k, row);
	if (!k->spec->columns) {
		print_lines(row);
		return OK;
	}
	if (!k->table)
		e = start_table(k);
	if (e)
		return e;
	for (unsigned i = 0; i < k->spec->columns_len; i++)
		cell(k, &k->spec->columns[i], row);
	if (k->rows % TABLE_ROWS == 0)
		table_print(k->table);
	return OK;
}

static void print_csv_value(struct span s)
{
	putchar('"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] == '"')
			putchar('"');
		putchar(s.data[i]);
	}
	putchar('"');
}

/* RFC 4180; the first row's names are the header. */
static void print_csv(struct ask *k, struct json_value row)
{
	struct json_value v;
	struct span name;
	size_t pos = 0;

	for (unsigned i = 0; k->rows == 1 && json_next(row, &pos, &name, &v);
	     i++)
		printf("%s%.*s", i ? "," : "", SPAN_FMT(name));
	if (k->rows == 1)
		printf("\r\n");
	pos = 0;
	for (unsigned i = 0; json_next(row, &pos, &name, &v); i++) {
		if (i)
			putchar(',');
		if (v.kind == JSON_STRING || v.kind == JSON_ARRAY)
			print_csv_value(ask_value(v));
		else if (v.kind != JSON_NULL)
			printf("%.*s", SPAN_FMT(v.raw));
	}
	printf("\r\n");
}

enum err ask_print_row(struct ask *k, struct span line)
{
	struct json_value row;

	if (!json_find(line, span_str("$"), &row))
		return ERR_INPUT;
	switch (k->format) {
	case ASK_TABLE:
		return print_for_people(k, row);
	case ASK_JSON:
		printf("%s%.*s", k->rows == 1 ? "[\n" : ",\n", SPAN_FMT(line));
		return OK;
	case ASK_NDJSON:
		printf("%.*s\n", SPAN_FMT(line));
		return OK;
	case ASK_CSV:
		print_csv(k, row);
		return OK;
	}
	return ERR_BUG;
}

void ask_print_end(struct ask *k)
{
	if (k->format == ASK_JSON)
		printf("%s]\n", k->rows ? "\n" : "[");
	if (k->format != ASK_TABLE)
		return;
	if (k->table)
		table_print(k->table);
	if (!k->rows && k->spec->empty)
		printf("%s\n", k->spec->empty);
}
