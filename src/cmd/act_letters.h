/* Which letters an act is about: what all commands on letters share. */
#ifndef CMD_ACT_LETTERS_H
#define CMD_ACT_LETTERS_H

#include "act.h"
#include "core/topic.h"
#include "store/letter.h"

struct letters_asked {
	struct letter_filter filter;	/* its spans lie below */
	struct span topic;		/* a topic filter; absent: any */
	char tenant[256], kind[16], type[64], state[16], event[256];
	char topic_text[1024];
};

MUST_CHECK enum err letters_asked(const struct act *a,
				  const struct act_context *c,
				  struct letters_asked *ret_q,
				  struct err_detail *why);

#define LETTERS_SLICE	500	/* of one transaction */
#define LETTERS_SLICE_BYTES	((uint64_t)4 << 20)	/* of their payloads */

struct letters_slice {
	const struct letters_asked *q;
	int64_t ids[LETTERS_SLICE];
	unsigned len;
	uint64_t bytes;
};

/*
 * The next slice of the letters in @state that the request is about; a->cursor
 * and a->step belong to it (the caller counts a->step up).  ERR_USAGE when the
 * request names neither letters nor a filter; ERR_NO: one that it names is not
 * in @state.
 */
MUST_CHECK enum err letters_select(struct act *a, const struct act_context *c,
				   const char *state, struct letters_slice *s,
				   bool *ret_more, struct err_detail *why);

/* What the store's own filter does not know. */
bool letters_match(const struct letters_asked *q, const struct letter *l);

#endif
