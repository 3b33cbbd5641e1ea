/* The migrations of schema/, embedded at build time, in order. */
#ifndef STORE_MIGRATIONS_H
#define STORE_MIGRATIONS_H

struct migration {
	const char *name;
	const char *sql;
};

/* Entry i takes a store from user_version i to i + 1. */
extern const struct migration migrations[];
extern const unsigned migrations_len;

extern const char verify_sql[];	/* schema/verify.sql */

#endif
