#include "consumer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/host.h"
#include "broker.h"
#include "measure.h"

#define WAIT_US 60000000

static const char config[] = "[store]\n"
			     "path = %s\n"
			     "max_size = 1G\n"
			     "schema = %s/schema.sql\n"
			     "[broker]\n"
			     "url = mqtt://127.0.0.1:%d\n"
			     "client_id = " BROKER_CLIENT_ID "\n"
			     "[group bench]\n"
			     "subscribe = " BROKER_TOPIC "\n"
			     "id = payload:$.id\n"
			     "format = json\n"
			     "handler = sql:%s/handler.sql\n"
			     "redelivery_horizon = 3h\n"
			     "ttl = 24h\n";

void consumer_init(struct consumer *c, enum contestant who, const char *build,
		   const char *dir, int port)
{
	*c = (struct consumer){ .who = who, .build = build };
	snprintf(c->dir, sizeof(c->dir), "%s", dir);
	snprintf(c->store, sizeof(c->store), "%s/store.db", dir);
	file_put(dir, "mqonce.conf", config, c->store, dir, port, dir);
	file_put(dir, "schema.sql",
		 "CREATE TABLE effect (topic TEXT NOT NULL,"
		 " payload TEXT NOT NULL) STRICT;\n");
	file_put(dir, "handler.sql",
		 "INSERT INTO effect VALUES (:topic, :payload);\n");
}

static void close_reader(struct consumer *c)
{
	sqlite3_finalize(c->last);
	sqlite3_close(c->db);
	c->last = NULL;
	c->db = NULL;
}

void consumer_fini(struct consumer *c)
{
	close_reader(c);
	if (c->counts)
		munmap(c->counts, sizeof(*c->counts));
	c->counts = NULL;
}

void consumer_start(struct consumer *c, int port)
{
	char program[600], log[600], conf[600], number[16];
	char *limit[] = { program, c->store, number,
			  (char[]){ BROKER_CLIENT_ID }, NULL };
	char *mqonce[] = { program, (char[]){ "run" }, (char[]){ "-c" }, conf,
			   NULL };

	snprintf(program, sizeof(program), "%s/%s", c->build,
		 c->who == LIMIT ? "tests/bench/limit" : "mqonce");
	snprintf(log, sizeof(log), "%s/log", c->dir);
	snprintf(conf, sizeof(conf), "%s/mqonce.conf", c->dir);
	snprintf(number, sizeof(number), "%d", port);
	c->started_us = now_us();
	c->pid = process_start(c->who == LIMIT ? limit : mqonce, log, NULL);
}

static struct counts *map_counts(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p;

	must(fd >= 0 && !ftruncate(fd, sizeof(struct counts)), "%s: %s", path,
	     strerror(errno));
	p = mmap(NULL, sizeof(struct counts), PROT_READ, MAP_SHARED, fd, 0);
	must(p != MAP_FAILED, "%s: %s", path, strerror(errno));
	close(fd);
	return p;
}

void consumer_start_counted(struct consumer *c, int port)
{
	char path[600], preload[600];

	snprintf(path, sizeof(path), "%s/counts", c->dir);
	snprintf(preload, sizeof(preload), "%s/tests/bench/counter.so",
		 c->build);
	c->counts = map_counts(path);
	setenv(COUNTS_ENV, path, 1);
	setenv("LD_PRELOAD", preload, 1);
	consumer_start(c, port);
	unsetenv("LD_PRELOAD");
	unsetenv(COUNTS_ENV);
}

void consumer_stop(struct consumer *c)
{
	process_stop(c->pid, SIGTERM);
}

/* False while the consumer has not made its tables. */
static bool open_reader(struct consumer *c)
{
	if (c->last)
		return true;
	if (!sqlite3_open_v2(c->store, &c->db, SQLITE_OPEN_READONLY, NULL) &&
	    !sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
			       NULL) &&
	    !sqlite3_prepare_v2(c->db, "SELECT max(rowid) FROM effect", -1,
				&c->last, NULL))
		return true;
	close_reader(c);
	return false;
}

static int64_t count_effects(struct consumer *c)
{
	int64_t n = 0;

	if (!open_reader(c))
		return 0;
	if (sqlite3_step(c->last) == SQLITE_ROW)
		n = sqlite3_column_int64(c->last, 0);
	sqlite3_reset(c->last);
	return n;
}

int64_t consumer_wait(struct consumer *c, int64_t n, int poll_ms)
{
	int64_t end = now_us() + WAIT_US, got;

	while ((got = count_effects(c)) < n) {
		must(process_runs(c->pid), "the consumer ended, see %s/log",
		     c->dir);
		must(now_us() < end,
		     "%lld of %lld effects after %d s, see "
		     "%s/log",
		     (long long)got, (long long)n, WAIT_US / 1000000, c->dir);
		sleep_ms(poll_ms);
	}
	return got;
}

void consumer_check(struct consumer *c, int64_t n)
{
	sqlite3_stmt *q = NULL;

	must(open_reader(c) &&
		     !sqlite3_prepare_v2(
			     c->db,
			     "SELECT count(*), count(DISTINCT payload ->> 'id')"
			     " FROM effect",
			     -1, &q, NULL) &&
		     sqlite3_step(q) == SQLITE_ROW,
	     "%s cannot be read", c->store);
	must(sqlite3_column_int64(q, 0) == n && sqlite3_column_int64(q, 1) == n,
	     "%lld effects of %lld events, not %lld of each",
	     (long long)sqlite3_column_int64(q, 0),
	     (long long)sqlite3_column_int64(q, 1), (long long)n);
	sqlite3_finalize(q);
}
