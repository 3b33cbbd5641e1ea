#include "rig.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "test.h"

/* @H and @D are replaced. */
static void expand(const struct rig *r, const char *text, char *out,
		   size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++) {
		if (!strncmp(text, "@H", 2) || !strncmp(text, "@D", 2)) {
			n += (size_t)snprintf(out + n, size - n, "%s%s", r->dir,
					      text[1] == 'H' ? "/h.sql" : "");
			text++;
		} else {
			out[n++] = *text;
		}
	}
	out[n] = '\0';
}

static void load_config(struct rig *r, const char *groups)
{
	char text[8192], tail[6144];
	struct err_detail why = { "" };

	expand(r, groups, tail, sizeof(tail));
	snprintf(text, sizeof(text),
		 "[store]\npath = %s/store.db\nschema = %s/s.sql\n"
		 "max_size = 16M\n[broker]\nurl = mqtt://127.0.0.1:1\n"
		 "client_id = rig\nsession_expiry = 1h\n%s",
		 r->dir, r->dir, tail);
	if (config_parse("conf", span_str(text), &r->config, &why))
		fail_msg("configuration: %s", why.text);
}

static void on_delivery(void *arg, const struct event *ev)
{
	ingest_deliver(&((struct rig *)arg)->d.ingest, ev);
}

void rig_start(struct rig *r)
{
	struct err_detail why = { "" };

	r->d = (struct daemon){ .config = r->config };
	if (daemon_open(&r->d, &why))
		fail_msg("%s", why.text);
	r->events =
		(struct link_events){ .arg = r, .on_delivery = on_delivery };
}

void rig_stop(struct rig *r)
{
	daemon_close(&r->d, OK);
}

void rig_kill(struct rig *r)
{
	daemon_close(&r->d, ERR_BUG); /* nothing is saved */
}

struct rig *rig_new(const char *sql, const char *handler, const char *groups)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	fake_broker_reset();
	folder_temp(r->dir);
	file_put(r->dir, "s.sql", "%s", sql);
	file_put(r->dir, "h.sql", "%s", handler);
	load_config(r, groups);
	rig_start(r);
	return r;
}

void rig_set_handler(struct rig *r, const char *handler)
{
	file_put(r->dir, "h.sql", "%s", handler);
}

void rig_free(struct rig *r)
{
	rig_kill(r);
	folder_remove(r->dir);
	config_free(r->config);
	free(r);
}

void rig_restart(struct rig *r)
{
	rig_stop(r);
	rig_start(r);
}

void rig_configure(struct rig *r, const char *groups)
{
	rig_stop(r);
	config_free(r->config);
	load_config(r, groups);
	rig_start(r);
}

int rig_publish(const char *topic, const char *payload)
{
	const struct event ev = {
		.topic = span_str(topic),
		.payload = span_str(payload),
		.payload_bytes = strlen(payload),
		.qos = 1,
		.received_wall_ms = fake_clock.wall_ms,
	};

	return fake_publish(&ev);
}

enum err rig_turn(struct rig *r)
{
	if (!r->d.ingest.link) {
		r->d.ingest.link = fake_connect(&r->events);
		r->connects++;
	}
	return ingest_turn(&r->d.ingest, fake_clock.boot_ms);
}

void rig_drain(struct rig *r)
{
	for (unsigned i = 0; i < 1000; i++) {
		assert_ok(rig_turn(r));
		if (fake_broker.next == fake_broker.len)
			break;
	}
	assert_int_equal(fake_broker.next, fake_broker.len);
	assert_ok(retry_refresh(&r->d.retry));
}

void rig_retry_after(struct rig *r, int64_t ms)
{
	fake_clock.boot_ms += ms;
	fake_clock.wall_ms += ms;
	assert_ok(retry_refresh(&r->d.retry));
	for (unsigned i = 0; i < 1000; i++) {
		if (retry_wait_ms(&r->d.retry, fake_clock.boot_ms) != 0)
			return;
		assert_ok(retry_turn(&r->d.retry, fake_clock.boot_ms));
	}
	fail_msg("something is always due");
}

static sqlite3_stmt *ask(sqlite3 **db, struct rig *r, const char *sql)
{
	sqlite3_stmt *q = NULL;
	char path[128];

	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	assert_int_equal(sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL),
			 SQLITE_OK);
	if (sqlite3_prepare_v2(*db, sql, -1, &q, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(*db));
	if (sqlite3_step(q) != SQLITE_ROW)
		fail_msg("%s: no row", sql);
	return q;
}

int64_t rig_int(struct rig *r, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *q = ask(&db, r, sql);
	int64_t v = sqlite3_column_int64(q, 0);

	sqlite3_finalize(q);
	sqlite3_close(db);
	return v;
}

const char *rig_text(struct rig *r, const char *sql)
{
	static char text[256];
	sqlite3 *db;
	sqlite3_stmt *q = ask(&db, r, sql);
	const char *v = (const char *)sqlite3_column_text(q, 0);

	snprintf(text, sizeof(text), "%s", v ? v : "(null)");
	sqlite3_finalize(q);
	sqlite3_close(db);
	return text;
}

void rig_exec(struct rig *r, const char *sql)
{
	sqlite3 *db;
	char path[128], *words = NULL;

	snprintf(path, sizeof(path), "%s/store.db", r->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &words))
		fail_msg("%s: %s", sql, words);
	sqlite3_close(db);
}
