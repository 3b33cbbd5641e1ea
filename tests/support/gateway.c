#include "gateway.h"

#include <mosquitto.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "test.h"

void gateway_expand(const struct gateway *g, const char *text, char *out,
		    size_t size)
{
	size_t n = 0;

	for (; text && *text && n + 1 < size; text++) {
		if (text[0] == '@' && text[1] && strchr("DPH", text[1])) {
			text++;
			if (*text == 'P')
				n += (size_t)snprintf(out + n, size - n, "%d",
						      g->port);
			else
				n += (size_t)snprintf(
					out + n, size - n, "%s%s", g->dir,
					*text == 'H' ? "/h.sql" : "");
		} else {
			out[n++] = *text;
		}
	}
	out[n] = '\0';
}

void gateway_file(struct gateway *g, const char *name, const char *text)
{
	char out[16384];

	gateway_expand(g, text, out, sizeof(out));
	file_put(g->dir, name, "%s", out);
}

void gateway_broker_start(struct gateway *g)
{
	const char *script = getenv("BROKER");

	if (script) {
		if (!broker_script_start(script, g->dir, g->port, &g->broker))
			fail_msg("%s does not listen; see %s/broker.log",
				 script, g->dir);
		return;
	}
	if (!mosquitto_start(g->dir, g->port, &g->broker))
		fail_msg("mosquitto does not listen; see %s/mosquitto.log",
			 g->dir);
}

void gateway_broker_end(struct gateway *g, int signal)
{
	if (g->broker)
		process_stop(g->broker, signal);
	g->broker = 0;
}

/* Some brokers want to know who it is. */
static const char *user_lines(struct gateway *g)
{
	static char lines[256];
	const char *user = getenv("BROKER_USER");

	*lines = '\0';
	if (user) {
		gateway_file(g, "password", "none\n");
		snprintf(lines, sizeof(lines), "user = %s\npassword_file ="
			 " %s/password\n", user, g->dir);
	}
	return lines;
}

static void write_configuration(struct gateway *g,
				const struct gateway_options *o)
{
	char text[8192];

	snprintf(text, sizeof(text),
		 "%s%sallow_anonymous true\n"
		 "max_queued_messages 100000\nuser root\n%s",
		 o->no_listener ? "" : "listener @P 127.0.0.1",
		 o->no_listener ? "" : "\n", o->mosquitto ? o->mosquitto : "");
	gateway_file(g, "mosquitto.conf", text);
	gateway_file(g, "h.sql", o->handler);
	gateway_file(g, "s.sql", o->schema);
	snprintf(text, sizeof(text),
		 "[store]\npath = @D/store/s.db\nschema = @D/s.sql\n"
		 "[broker]\nurl = %s\nclient_id = gw\nsession_expiry = 1h\n"
		 "%s%s\n%s",
		 o->url ? o->url : "mqtt://127.0.0.1:@P", user_lines(g),
		 o->broker ? o->broker : "", o->groups);
	gateway_file(g, "mqonce.conf", text);
}

struct gateway *gateway_new(const struct gateway_options *o)
{
	struct gateway *g = calloc(1, sizeof(*g));
	const char *program = getenv("MQONCE");

	assert_non_null(g);
	g->program = program ? program : "build/host/mqonce";
	folder_temp(g->dir);
	snprintf(g->conf, sizeof(g->conf), "%s/mqonce.conf", g->dir);
	snprintf(g->log, sizeof(g->log), "%s/daemon.log", g->dir);
	g->port = o->no_broker ? o->port : port_reserve();
	g->no_listener = o->no_listener;
	write_configuration(g, o);
	if (!o->no_broker)
		gateway_broker_start(g);
	return g;
}

void gateway_free(struct gateway *g)
{
	if (g->daemon)
		gateway_end(g, SIGKILL);
	gateway_broker_end(g, SIGKILL);
	folder_remove(g->dir);
	free(g);
}

void gateway_start(struct gateway *g, const char *env)
{
	char *argv[] = { strdup(g->program), (char[]){ "run" },
			 (char[]){ "-c" }, g->conf, NULL };

	g->daemon = process_start(argv, g->log, env);
	free(argv[0]);
}

bool gateway_ended(struct gateway *g)
{
	int status;

	if (!process_wait(g->daemon, 0, &status))
		return false;
	g->daemon = 0;
	return true;
}

int gateway_wait_end(struct gateway *g, int limit_ms)
{
	int status = -1;

	if (!process_wait(g->daemon, limit_ms, &status))
		fail_msg("the daemon does not end");
	g->daemon = 0;
	return status;
}

int gateway_end(struct gateway *g, int signal)
{
	kill(g->daemon, signal);
	return gateway_wait_end(g, 20000);
}

void gateway_up(struct gateway *g)
{
	unsigned before = gateway_logged(g, "link.up");

	gateway_start(g, NULL);
	gateway_wait_log(g, "link.up", before + 1, 20000);
}

static void on_publish(struct mosquitto *m UNUSED, void *left, int mid UNUSED)
{
	--*(unsigned *)left;
}

void gateway_publish(struct gateway *g, const char *topic,
		     const char *const *payloads, unsigned n)
{
	unsigned left = n;
	struct mosquitto *m = mosquitto_new(NULL, true, &left);

	assert_non_null(m);
	mosquitto_publish_callback_set(m, on_publish);
	if (getenv("BROKER_USER"))
		mosquitto_username_pw_set(m, getenv("BROKER_USER"), "none");
	assert_int_equal(mosquitto_connect(m, "127.0.0.1", g->port, 60), 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(mosquitto_publish(m, NULL, topic,
						   (int)strlen(payloads[i]),
						   payloads[i], 1, false),
				 0);
		if (i % 16 == 0)
			assert_int_equal(mosquitto_loop(m, 0, 1), 0);
	}
	for (int i = 0; left && i < 20000; i++)
		assert_int_equal(mosquitto_loop(m, 10, 1), 0);
	assert_int_equal(left, 0);
	mosquitto_disconnect(m);
	mosquitto_destroy(m);
}

int64_t gateway_int(struct gateway *g, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	char path[128];
	int64_t v = -1;

	snprintf(path, sizeof(path), "%s/store/s.db", g->dir);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) ==
	    SQLITE_OK) {
		sqlite3_busy_timeout(db, 2000);
		if (!sqlite3_prepare_v2(db, sql, -1, &q, NULL) &&
		    sqlite3_step(q) == SQLITE_ROW)
			v = sqlite3_column_int64(q, 0);
	}
	sqlite3_finalize(q);
	sqlite3_close(db);
	return v;
}

void gateway_wait(struct gateway *g, const char *sql, int64_t want,
		  int limit_ms)
{
	int64_t v = -1;

	for (int i = 0; i < limit_ms / 20; i++) {
		v = gateway_int(g, sql);
		if (v >= want)
			return;
		sleep_ms(20);
	}
	fail_msg("%s: %lld after %d ms, want %lld", sql, (long long)v, limit_ms,
		 (long long)want);
}

unsigned gateway_logged(struct gateway *g, const char *text)
{
	char *log = calloc(1, 1 << 20), *p = log;
	FILE *f = fopen(g->log, "r");
	unsigned n = 0;

	if (f) {
		(void)!fread(log, 1, (1 << 20) - 1, f);
		fclose(f);
	}
	while ((p = strstr(p, text))) {
		n++;
		p++;
	}
	free(log);
	return n;
}

void gateway_wait_log(struct gateway *g, const char *text, unsigned times,
		      int limit_ms)
{
	for (int i = 0; i < limit_ms / 20; i++) {
		if (gateway_logged(g, text) >= times)
			return;
		sleep_ms(20);
	}
	fail_msg("\"%s\" is not in the log %u times after %d ms", text, times,
		 limit_ms);
}

int gateway_command(struct gateway *g, char *out, unsigned size,
		    const char *args)
{
	char command[2048];
	FILE *f;
	size_t n;
	int status;

	snprintf(command, sizeof(command), "%s %s -c %s 2>&1 </dev/null",
		 g->program, args, g->conf);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(out, 1, size - 1, f);
	out[n] = '\0';
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
