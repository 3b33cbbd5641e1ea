/* The commands of the program: one file each, one table in main.c. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"
#include "core/config.h"

struct store;

struct command_args {
	const char *config; /* file: -c, MQONCE_CONF or the default */
	int argc;	    /* of the words behind the command's name */
	char **argv;
};

typedef enum err command_fn(const struct command_args *a,
			    struct err_detail *why);

command_fn cmd_init, cmd_check, cmd_run, cmd_version, cmd_status;
command_fn cmd_dead_list, cmd_dead_show, cmd_dead_summary;
command_fn cmd_dead_discard, cmd_dead_restore, cmd_dead_purge;
command_fn cmd_dead_replay, cmd_job_list, cmd_job_show, cmd_job_cancel;
command_fn cmd_job_resume, cmd_pending_list;
command_fn cmd_group_list, cmd_audit_list, cmd_dead_pull, cmd_event_show;
command_fn cmd_event_forget, cmd_pending_retry, cmd_group_pause;
command_fn cmd_group_resume;
command_fn cmd_group_rename, cmd_group_drop;
command_fn cmd_store_verify, cmd_store_sweep, cmd_store_backup;
command_fn cmd_store_quarantine;

/* *ret_c is given: config_free(). */
MUST_CHECK enum err cmd_load_config(const struct command_args *a,
				    struct config **ret_c,
				    struct err_detail *why);

/* Whether the schema files and handlers of @c can be used; NULL: in silence. */
typedef void cmd_prepared_fn(const struct group_config *g);
MUST_CHECK enum err cmd_prepare_all(const struct config *c,
				    cmd_prepared_fn *prepared,
				    struct err_detail *why);

/* Names each group with records in the store that @c does not have. */
typedef void cmd_group_fn(struct span name);
MUST_CHECK enum err cmd_unconfigured(struct store *st, const struct config *c,
				     cmd_group_fn *found);

/* A long option: with @value it takes an argument. */
struct command_option {
	const char *name; /* "--json" */
	bool *flag;
	const char **value;
};

/*
 * Reads options and leaves at most @words_max other words in @words.
 * ERR_USAGE names what is not understood.
 */
MUST_CHECK enum err cmd_options(const struct command_args *a,
				const struct command_option *options,
				unsigned options_len, const char **words,
				unsigned words_max, unsigned *ret_words,
				struct err_detail *why);

/*
 * Text for a terminal: what could steer it, or turn its writing round, and
 * what is not UTF-8 becomes '?'.  Cut to @size between characters; returns the
 * length, without the NUL.
 */
size_t cmd_safe(char *buf, size_t size, struct span s);
void cmd_print_safe(struct span s);

/* "3 d", "5 h", "12 s": how long ago. */
#define CMD_AGE_SIZE 32
const char *cmd_age(char buf[CMD_AGE_SIZE], int64_t ms);

/* "234K": a size in two or three digits, rounded up. */
#define CMD_SIZE_SIZE 24
const char *cmd_size(char buf[CMD_SIZE_SIZE], int64_t bytes);

/* Undoes base64; returns the bytes, as many as fit. */
size_t cmd_base64(struct span text, char *buf, size_t size);

/* Asks on the terminal; @yes answers for scripts.  ERR_USAGE without either. */
MUST_CHECK enum err cmd_confirm(const char *question, bool yes,
				struct err_detail *why);

#endif
