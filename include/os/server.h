/*
 * A Unix stream socket for a few clients of this machine: one request line
 * from each, answered in pages.  A page is asked for only when the one before
 * has left, so that a slow or stopped client costs one buffer and nothing else.
 *
 * It watches its descriptors by itself; the loop waits on server_fd().
 */
#ifndef OS_SERVER_H
#define OS_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"

struct server;

#define SERVER_CLIENTS		8
#define SERVER_REQUEST_MAX	((size_t)1 << 20)
#define SERVER_PAGE_BYTES	((size_t)64 << 10)
#define SERVER_PATIENCE_MS	30000	/* for a client that does not move */
#define SERVER_CROWDED_MS	5000	/* the same while others wait */
#define SERVER_SILENT_MS	250	/* and for one that asks nothing */
#define SERVER_LOOK_MS		1000	/* between looks for the socket's file */

struct server_events {			/* kept */
	void *arg;
	/*
	 * A whole request came, without its newline.  Returns what answers it,
	 * to be passed to the other two; NULL refuses it without a word.
	 */
	void *(*on_request)(void *arg, uid_t uid, struct span line);
	/*
	 * Appends to @buf of @room bytes what comes next; returns the bytes.
	 * *ret_more: there is another page.
	 */
	size_t (*on_page)(void *arg, void *answer, char *buf, size_t room,
			  bool *ret_more);
	/* It is over, in whatever way. */
	void (*on_end)(void *arg, void *answer);
};

/* Whether a socket may be made at @path, as far as can be seen. */
MUST_CHECK enum err server_check(const char *path, struct err_detail *why);

/*
 * Listens at @path, mode 0600, in place of a socket that is left there and
 * that nobody listens on.  Only root and the user of this process get past the
 * door (SO_PEERCRED, unix(7)).  *ret_s is given: server_close().
 */
MUST_CHECK enum err server_open(const char *path,
				const struct server_events *ev,
				struct server **ret_s, struct err_detail *why);
void server_close(struct server *s);	/* removes the socket; safe on NULL */

/* For the loop: readable when there is something to do. */
int server_fd(const struct server *s);

/*
 * Looks whether clients still find it, each SERVER_LOOK_MS; if its file was
 * removed, it listens at the path again: *ret_again.  Who is inside stays.
 */
MUST_CHECK enum err server_look(struct server *s, bool *ret_again,
				struct err_detail *why);

/* What can be done without waiting, a page per client at most. */
void server_turn(struct server *s, int64_t boot_ms);

/* Until a turn has something to do that server_fd() does not tell; -1: never. */
int64_t server_wait_ms(const struct server *s);

/* Clients that are being served. */
unsigned server_clients(const struct server *s);

#endif
