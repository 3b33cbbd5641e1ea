/*
 * What the data disk must hold after a power cut, read from a copy of it: a
 * file system and a store that are whole, every effect once, and the effect of
 * every event that was acknowledged.
 */
#ifndef TESTS_POWER_ORACLE_H
#define TESTS_POWER_ORACLE_H

#include "../support/host.h"
#include "power_tap.h"

/* Table `effect` has a row for each event that was handled, `total` counts. */
#define ORACLE_SCHEMA                                                          \
	"CREATE TABLE effect (n INTEGER) STRICT;"                              \
	"CREATE TABLE total (n INTEGER) STRICT;"                               \
	"INSERT INTO total VALUES (0);"
#define ORACLE_HANDLER                                                         \
	"INSERT INTO effect VALUES (:payload ->> 'n');"                        \
	"UPDATE total SET n = n + 1;"

/* Runs a line of sh; its output goes to @dir/log.  Its exit status. */
int shell(const char *dir, const char *fmt, ...) PRINTF(2, 3);

/*
 * Looks at @dir/data.img, with the store's configuration @dir/verify.conf for
 * its path @dir/left/store.db, and ends the program where something is wrong.
 * Returns how many events have had their effect.
 */
unsigned oracle_check(const char *dir, struct tap *t);

#endif
