/* Consumer groups as the store knows them. */
#ifndef STORE_GROUP_H
#define STORE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"
#include "core/breaker.h"
#include "core/config.h"

struct store;

struct group_record {
	int64_t group_no;	/* never used for another group */
	int64_t recipe;		/* number of its fingerprint's selectors */
	int64_t vouches_since_ms;
	bool paused;		/* by the operator: nothing is run */
	struct breaker breaker;	/* open or not, and for how long */
};

/*
 * Finds or makes the group's row and notes its selectors and ttl; part of a
 * transaction.  ERR_CONFIG when `id` or `tenant` changed while the store holds
 * records of the group and @accept is false: its events would all look new.
 */
MUST_CHECK enum err group_register(struct store *st,
				   const struct group_config *g, int64_t now_ms,
				   bool accept, struct group_record *ret_g,
				   struct err_detail *why);

struct group_line {
	int64_t group_no;
	struct span name;
	int64_t ttl_ms;
};

typedef enum err group_line_fn(void *arg, const struct group_line *l);

/* Every group that ever wrote here. */
MUST_CHECK enum err group_list(struct store *st, group_line_fn *row, void *arg);

/* ERR_NO: the store does not know the group. */
MUST_CHECK enum err group_find(struct store *st, const char *name,
			       struct group_record *ret_g);

/* Only whether group_register() would refuse without @accept: ERR_CONFIG. */
MUST_CHECK enum err group_check(struct store *st, const struct group_config *g,
				struct err_detail *why);

/* Holds the group back or lets it go; ERR_GONE if it is so already. */
MUST_CHECK enum err group_pause(struct store *st, int64_t group_no,
				bool paused);

/* Writes down a breaker that was @old: ERR_GONE if the store knows another. */
MUST_CHECK enum err group_breaker_put(struct store *st, int64_t group_no,
				      const struct breaker *old,
				      const struct breaker *b);

/* Whether anything of it is kept: events that wait, letters, markers. */
MUST_CHECK enum err group_has_records(struct store *st, int64_t group_no,
				      bool *ret_has);

/* Its number stays.  Part of a transaction; ERR_BUG: the name is taken. */
MUST_CHECK enum err group_rename(struct store *st, int64_t group_no,
				 struct span name);

/*
 * Takes away a group without pending rows and letters, with its counts; its
 * markers age as they would have.  Part of a transaction.
 */
MUST_CHECK enum err group_drop(struct store *st, int64_t group_no);

/* The longest ttl of any group that ever wrote here, in milliseconds. */
MUST_CHECK enum err group_longest_ttl(struct store *st, int64_t *ret_ms);

#endif
