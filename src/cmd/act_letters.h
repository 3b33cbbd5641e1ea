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

/* What the store's own filter does not know. */
bool letters_match(const struct letters_asked *q, const struct letter *l);

#endif
