/*
 * An operator's SQL, in its sandbox: it sees the event's values and the
 * operator's tables and nothing else.
 *
 * Parameters: :event_id :group :tenant :topic :payload :content_type
 * :received_at :attempt :qos :retain :stale :order_key :order_by.  Functions: topic(n), property(name),
 * retry(type), reject(type), poison(type).
 */
#ifndef STORE_SCRIPT_H
#define STORE_SCRIPT_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "core/config.h"
#include "core/handler.h"

struct store;
struct script;

struct script_options {
	const char *file;		/* for messages */
	enum payload_format format;	/* json and text are bound as TEXT */
	int64_t timeout_ms;		/* of one run */
};

/*
 * ERR_INPUT: @why names file, line and what is wrong.  *ret_script is given:
 * script_free(), before its store closes.
 */
MUST_CHECK enum err script_prepare(struct store *st,
				   const struct script_options *o,
				   struct span text, struct script **ret_script,
				   struct err_detail *why);
void script_free(struct script *s);

/* Runs all statements for one event: a handler_attempt_fn. */
enum err script_attempt(void *script, const struct attempt *a,
			struct result *ret_r);

/*
 * Applies an operator's schema file in the same sandbox, once: its name and
 * hash are recorded.  Part of a transaction.  ERR_INPUT: not valid, or the
 * file was edited after it was applied.
 */
MUST_CHECK enum err schema_apply(struct store *st, const char *file,
				 struct span text, int64_t wall_ms,
				 struct err_detail *why);

/*
 * Only whether schema_apply() would refuse a file that was edited after it was
 * applied: ERR_INPUT.  A reader may ask.
 */
MUST_CHECK enum err schema_check(struct store *st, const char *file,
				 struct span text, struct err_detail *why);

#endif
