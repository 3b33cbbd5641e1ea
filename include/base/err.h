/*
 * The one error space of the program.
 *
 * Adapters translate foreign codes into it at the boundary and nowhere else.
 * Add a value only when some caller would act on it differently.  The number
 * is the exit status it ends the program with (sysexits.h).
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

#include "base/defs.h"

/* clang-format off */
#define ERR_LIST(X)							\
	X(OK,		0,  "ok")					\
	X(ERR_NO,	1,  "no")					\
	X(ERR_USAGE,	64, "wrong use of the command")			\
	X(ERR_INPUT,	65, "input is not valid")			\
	X(ERR_SCHEMA,	65, "the file is not a store of this program")	\
	X(ERR_CORRUPT,	65, "stored data is damaged")			\
	X(ERR_LINK,	69, "broker not reachable")			\
	X(ERR_BUG,	70, "internal error")				\
	X(ERR_NOMEM,	71, "out of memory")				\
	X(ERR_CREATE,	73, "cannot create file")			\
	X(ERR_FULL,	74, "no space left")				\
	X(ERR_IO,	74, "input/output error")			\
	X(ERR_BUSY,	75, "busy, try again")				\
	X(ERR_GONE,	75, "no such row in that state")		\
	X(ERR_PERM,	77, "permission denied")			\
	X(ERR_CONFIG,	78, "configuration is not valid")
/* clang-format on */

#define ERR_ENUM_(name, status, text) name,
enum err { ERR_LIST(ERR_ENUM_) };
#undef ERR_ENUM_

/* A constant text, never NULL. */
const char *err_text(enum err e);

/* The system's words; for want of descriptors also what to do. */
const char *err_system(int err_no);

/* The exit status of sysexits.h that stands for @e. */
int err_exit_status(enum err e);

/* Words for a person: what, where, what to do; one line, no newline. */
struct err_detail {
	char text[512];
};

/* Writes the words and returns @e, for `return err_say(...)`. */
enum err err_say(struct err_detail *d, enum err e, const char *fmt, ...)
	PRINTF(3, 4);

#endif
