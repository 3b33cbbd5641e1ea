/*
 * The asking side of the commands: options into a request, the request to the
 * owner or, without one, carried out here; rows to whoever reads them.
 */
#ifndef CMD_ASK_H
#define CMD_ASK_H

#include "base/json.h"
#include "cmd.h"

enum ask_format { ASK_TABLE, ASK_JSON, ASK_NDJSON, ASK_CSV };

enum ask_column_kind {
	ASK_TEXT,		/* null is "-" */
	ASK_NUMBER,
	ASK_AGE,		/* milliseconds */
	ASK_TIME,		/* wall clock in milliseconds */
	ASK_BYTES,
};

struct ask_column {
	const char *title, *field;
	enum ask_column_kind kind;
	unsigned min;		/* see table.h */
	bool spare;
};

struct ask;

/* One row, for acts that print in their own way. */
typedef enum err ask_row_fn(struct ask *k, struct json_value row);

struct ask_spec {
	const char *act;	/* name of the act */
	bool writes;
	const char *options;	/* those it takes, with blanks between:
				   "group= kind= all dry-run"; '=': a value */
	const char *words;	/* option that bare words become; NULL: none */
	const struct ask_column *columns;	/* NULL: name and value lines */
	unsigned columns_len;
	ask_row_fn *row;	/* instead of columns; NULL: none */
	const char *empty;	/* said when there was no row */
};

#define ASK_OPTIONS	24
#define ASK_LINE_MAX	((size_t)128 << 10)	/* of one row */

struct ask {
	const struct ask_spec *spec;
	struct config *config;
	struct {
		const char *name;
		const char *value;	/* "" for a flag */
	} option[ASK_OPTIONS];
	unsigned options_len;
	char words[8192];
	enum ask_format format;
	bool utc;
	bool here;		/* not by the owner, even if there is one */
	bool writes;		/* needs the lock while nobody has it */
	unsigned rows;
	bool owned;		/* an owner answered */
	struct table *table;
	void *arg;		/* of the row function */
};

/* The whole command: options, request, rows, exit. */
MUST_CHECK enum err ask_run(const struct ask_spec *spec,
			    const struct command_args *a,
			    struct err_detail *why);

/* In steps, for commands that ask more than once. */
MUST_CHECK enum err ask_open(struct ask *k, const struct ask_spec *spec,
			     const struct command_args *a,
			     struct err_detail *why);
MUST_CHECK enum err ask_set(struct ask *k, const char *name,
			    const char *value, struct err_detail *why);
const char *ask_get(const struct ask *k, const char *name); /* NULL: not set */
void ask_unset(struct ask *k, const char *name);
MUST_CHECK enum err ask_send(struct ask *k, struct err_detail *why);
void ask_close(struct ask *k);

/* Members of a row; a text is unescaped into @buf. */
bool ask_field(struct json_value row, const char *name,
	       struct json_value *ret_v);
int64_t ask_number(struct json_value row, const char *name);
struct span ask_text(struct json_value row, const char *name, char *buf,
		     size_t size);	/* absent for null */
/* Any value as people read it, until the next call. */
struct span ask_value(struct json_value v);

/* The default printers, in ask_print.c. */
MUST_CHECK enum err ask_print_row(struct ask *k, struct span line);
void ask_print_end(struct ask *k);

#endif
