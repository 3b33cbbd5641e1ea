/*
 * The core of the commands: what they do, whoever asks.  The same act is
 * carried out by the owner for a client of its socket, and by the program
 * itself when there is no owner.
 *
 * An act answers in pages and holds nothing between them: no transaction, no
 * statement.
 */
#ifndef CMD_ACT_H
#define CMD_ACT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"
#include "core/config.h"
#include "rows.h"

struct store;
struct daemon;

/* Who carries it out, and on what; all borrowed. */
struct act_context {
	struct store *store;
	const struct config *config;
	struct daemon *daemon;	/* NULL: no flows are running here */
	uid_t uid;		/* of who asked */
	int64_t boot_ms;
};

struct act;

/* Does the next part and writes its rows; *ret_more: there is another. */
typedef enum err act_page_fn(struct act *a, const struct act_context *c,
			     struct rows *out, bool *ret_more,
			     struct err_detail *why);

struct act_spec {
	const char *name;	/* "dead list" */
	bool writes;		/* needs the owner's lock */
	act_page_fn *page;
};

#define ACT_REQUEST_MAX	((size_t)1 << 20)

struct act {
	const struct act_spec *spec;
	char *request;		/* JSON; malloc'ed */
	struct span json;

	/* How it ended, for the page that has room to say so. */
	enum err end;
	struct err_detail why;

	/* Between pages; the spec's page function alone knows what they say. */
	int64_t cursor, limit, count, step, taken, skipped, in_job, stale,
		part;
};

/*
 * Reads a request: an object with "command" and the options by name, all
 * texts.  ERR_USAGE: not known; ERR_INPUT: not a request.
 * *ret_a is given: act_free().
 */
MUST_CHECK enum err act_new(struct span request, struct act **ret_a,
			    struct err_detail *why);
void act_free(struct act *a);

/* NULL if there is none. */
const struct act_spec *act_find(const char *name);

/*
 * One page.  The last row of the last one is {"end":true,"status":N}, with
 * "error" if it failed.
 */
void act_run(struct act *a, const struct act_context *c, struct rows *out,
	     bool *ret_more);

/* The one row that answers what is no act. */
void act_refuse(struct rows *out, enum err e, const struct err_detail *why,
		bool *ret_more);

/* Options of the request: absent if not given.  Unescaped into @buf. */
struct span act_option(const struct act *a, const char *name, char *buf,
		       size_t size);
/* The same for what must be whole: ERR_USAGE when @buf does not hold it. */
MUST_CHECK enum err act_text(const struct act *a, const char *name, char *buf,
			     size_t size, struct span *ret_v,
			     struct err_detail *why);
bool act_flag(const struct act *a, const char *name);
/* *ret_v stays as it is when the option is not given. */
MUST_CHECK enum err act_int(const struct act *a, const char *name,
			    int64_t *ret_v, struct err_detail *why);

/* The group's number by --group; 0 if not given. */
MUST_CHECK enum err act_group(const struct act *a, const struct act_context *c,
			      int64_t *ret_no, struct err_detail *why);

/* The options in words, as the audit has them; never a payload. */
void act_describe(const struct act *a, char *buf, size_t size);

/* One row more in the audit; part of a transaction. */
MUST_CHECK enum err act_audit(const struct act *a, const struct act_context *c,
			      int64_t n);

/* The same as a transaction of its own: before a payload is handed out. */
MUST_CHECK enum err act_audit_look(const struct act *a,
				   const struct act_context *c, int64_t n);

act_page_fn act_dead_list, act_dead_summary, act_dead_show;
act_page_fn act_dead_discard, act_dead_restore, act_dead_purge;
act_page_fn act_dead_replay, act_job_list, act_job_show, act_job_cancel;
act_page_fn act_job_resume, act_audit_list, act_group_list, act_pending_list;
act_page_fn act_dead_pull, act_dead_pulled, act_event_show, act_event_forget;
act_page_fn act_pending_retry, act_group_pause, act_group_resume;
act_page_fn act_status, act_group_rename;
act_page_fn act_group_drop, act_store_sweep;

#endif
