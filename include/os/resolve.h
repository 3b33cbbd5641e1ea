/*
 * Name resolution that does not block: getaddrinfo(3) waits as long as it
 * likes, so a short-lived child asks it and passes back numbers.
 *
 * The child holds no descriptor of the caller and dies with it.  It is waited
 * for by its own pid; nobody else may reap it (no waitpid(-1)).
 */
#ifndef OS_RESOLVE_H
#define OS_RESOLVE_H

#include <stdint.h>

#include "base/defs.h"
#include "base/err.h"

struct resolve;

#define RESOLVE_MAX	  16
#define RESOLVE_LIMIT_MS  10000
#define RESOLVE_HOST_SIZE 64

struct resolve_address {
	char host[RESOLVE_HOST_SIZE]; /* numeric IPv4 or IPv6, with scope */
	uint16_t port;
};

struct resolve_result {
	struct resolve_address list[RESOLVE_MAX]; /* in order of choice */
	unsigned len;
};

/*
 * Asks for the addresses of @host and returns at once; a number needs no
 * child and is its own answer.  ERR_LINK: no child, or the name is too long;
 * ERR_NOMEM; @why says which.  *ret_r is given: resolve_free().
 */
MUST_CHECK enum err resolve_start(const char *host, uint16_t port, int limit_ms,
				  struct resolve **ret_r,
				  struct err_detail *why);

/* Readable once there is an answer; -1: there is one already. */
int resolve_fd(const struct resolve *r);

/*
 * OK: at least one address.  ERR_BUSY: not yet, ask again when resolve_fd()
 * is readable or after a while.  ERR_LINK: no address; @why has the words.
 */
MUST_CHECK enum err resolve_take(struct resolve *r,
				 struct resolve_result *ret_result,
				 struct err_detail *why);

/* Ends the child.  Safe on NULL. */
void resolve_free(struct resolve *r);

#endif
