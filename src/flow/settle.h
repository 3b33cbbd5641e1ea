/* What becomes of one event in one group, inside the batch's transaction. */
#ifndef FLOW_SETTLE_H
#define FLOW_SETTLE_H

#include "flow/batch.h"

enum settled {
	SETTLED,		/* at its place, once committed */
	SETTLED_NOT,		/* w is to be run alone, or took all down:
				   the transaction is to be thrown away */
};

/* OK or the store's failure; @w keeps what it was, but for alone and decided. */
MUST_CHECK enum err settle(struct batch *b, struct work *w,
			   enum settled *ret_how);

#endif
