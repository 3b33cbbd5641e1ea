/* What tests of operators at work share: one gateway, commands, letters. */
#ifndef TESTS_GATEWAY_STEPS_H
#define TESTS_GATEWAY_STEPS_H

#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "gateway.h"

#define EFFECT								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, body TEXT) STRICT;" \
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
/* Refuses "k":"bad" until the event "mend" has come. */
#define REFUSE_BAD							\
	"INSERT INTO effect (id, body) VALUES (:event_id, :payload);"	\
	"SELECT reject('broken') FROM switch WHERE broken"		\
	" AND :payload ->> 'k' IS 'bad';"				\
	"UPDATE switch SET broken = 0 WHERE :event_id = 'mend';"

static struct gateway *g;
static char out[1 << 20];

static inline int teardown(void **state UNUSED)
{
	gateway_free(g);
	g = NULL;
	return 0;
}

static inline void publish(const char *payload)
{
	gateway_publish(g, "t", &payload, 1);
}

#define BURY_MAX 5000

/* Letters b0 ... */
static inline void bury(int n)
{
	static char text[BURY_MAX][48];
	static const char *list[BURY_MAX];

	for (int i = 0; i < n; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"b%d\",\"k\":\"bad\"}", i);
		list[i] = text[i];
	}
	gateway_publish(g, "t", list, (unsigned)n);
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", n, 20000);
}

static inline void mend(void)
{
	publish("{\"id\":\"mend\"}");
	gateway_wait(g, "SELECT count(*) FROM switch WHERE broken = 0", 1,
		     10000);
}

/* @D in @args is the directory. */
static inline int run(const char *args)
{
	char text[512];

	gateway_expand(g, args, text, sizeof(text));
	return gateway_command(g, out, sizeof(out), text);
}

static inline void says(const char *args, int status, const char *words)
{
	int s = run(args);

	if (s != status || !strstr(out, words))
		fail_msg("%s: status %d, \"%s\"", args, s, out);
}

static inline int64_t count(const char *what)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	return gateway_int(g, sql);
}

/* Descriptors that the daemon has open. */
static inline unsigned descriptors(void)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)g->daemon);
	d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Memory of the daemon, in kB. */
static inline long resident_kb(void)
{
	char path[64], line[256];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)g->daemon);
	f = fopen(path, "r");
	assert_non_null(f);
	while (kb < 0 && fgets(line, sizeof(line), f))
		(void)sscanf(line, "VmRSS: %ld", &kb);
	fclose(f);
	assert_true(kb > 0);
	return kb;
}

#endif
