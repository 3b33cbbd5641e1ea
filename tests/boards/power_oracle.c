#include "power_oracle.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHELL_MS 60000

int shell(const char *dir, const char *fmt, ...)
{
	char text[1024], log[256];
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, text, NULL };
	int status;
	pid_t pid;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(log, sizeof(log), "%s/log", dir);
	pid = process_start(argv, log, NULL);
	must(process_wait(pid, SHELL_MS, &status), "no end of: %s", text);
	return status;
}

/* The files as the next mount would find them. */
static void extract(const char *d)
{
	must(!shell(d,
		    "rm -rf %s/left && mkdir -m 700 %s/left && cp"
		    " --sparse=always %s/data.img %s/left/disk",
		    d, d, d, d),
	     "no room for a copy of the disk");
	must(shell(d, "e2fsck -p %s/left/disk", d) <= 1 &&
		     !shell(d, "e2fsck -fn %s/left/disk", d),
	     "the file system is damaged: see %s/log", d);
	for (int wal = 0; wal < 2; wal++)
		must(!shell(d,
			    "debugfs -R 'dump /mqonce/store.db%s"
			    " %s/left/store.db%s' %s/left/disk",
			    wal ? "-wal" : "", d, wal ? "-wal" : "", d),
		     "debugfs: see %s/log", d);
}

static sqlite3_stmt *ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *q = NULL;

	must(!sqlite3_prepare_v2(db, sql, -1, &q, NULL) && q, "%s: %s", sql,
	     sqlite3_errmsg(db));
	return q;
}

static unsigned number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *q = ask(db, sql);
	unsigned n;

	must(sqlite3_step(q) == SQLITE_ROW, "%s: no row", sql);
	n = (unsigned)sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return n;
}

static void check_whole(sqlite3 *db)
{
	sqlite3_stmt *q = ask(db, "PRAGMA integrity_check");

	must(sqlite3_step(q) == SQLITE_ROW &&
		     !strcmp((const char *)sqlite3_column_text(q, 0), "ok"),
	     "the store is damaged: %s", sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
}

/* Without a table nothing was handled yet. */
static unsigned read_effects(sqlite3 *db, bool *had)
{
	unsigned events = 0;
	sqlite3_stmt *q;
	int rc;

	if (!number(db, "SELECT count(*) FROM sqlite_schema"
			" WHERE name IN ('effect', 'total')"))
		return 0;
	q = ask(db, "SELECT n, count(*) FROM effect GROUP BY n");
	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		unsigned n = (unsigned)sqlite3_column_int64(q, 0);

		must(n < TAP_EVENTS_MAX && sqlite3_column_int(q, 1) == 1,
		     "event %u happened %d times", n, sqlite3_column_int(q, 1));
		had[n] = true;
		events++;
	}
	must(rc == SQLITE_DONE, "effect: %s", sqlite3_errmsg(db));
	sqlite3_finalize(q);
	must(number(db, "SELECT n FROM total") == events,
	     "%u events, but counted %u", events,
	     number(db, "SELECT n FROM total"));
	return events;
}

static void verify(const char *d)
{
	const char *program = getenv("MQONCE");

	must(!shell(d, "%s store verify -c %s/verify.conf",
		    program ? program : "build/host/mqonce", d),
	     "store verify finds something: see %s/log", d);
}

unsigned oracle_check(const char *dir, struct tap *t)
{
	static bool had[TAP_EVENTS_MAX];
	unsigned events = 0, lost = 0, first = 0;
	char path[256];
	sqlite3 *db;

	memset(had, 0, sizeof(had));
	extract(dir);
	snprintf(path, sizeof(path), "%s/left/store.db", dir);
	if (!access(path, F_OK)) {
		must(!sqlite3_open(path, &db), "%s does not open", path);
		check_whole(db);
		events = read_effects(db, had);
		sqlite3_close(db);
	}
	for (unsigned n = TAP_EVENTS_MAX; n--;) {
		if (!tap_has(t, n) || had[n])
			continue;
		first = n;
		lost++;
	}
	must(!lost, "%u acknowledged events are lost, from event %u on", lost,
	     first);
	if (events)
		verify(dir);
	return events;
}
