#include "gateway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mosquitto.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

/* @D and @P are replaced, @H is the handler file. */
static void expand(const struct gateway *g, const char *text, char *out,
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
				n += (size_t)snprintf(out + n, size - n, "%s%s",
						      g->dir, *text == 'H'
						      ? "/h.sql" : "");
		} else {
			out[n++] = *text;
		}
	}
	out[n] = '\0';
}

void gateway_file(struct gateway *g, const char *name, const char *text)
{
	char path[160], out[16384];
	FILE *f;

	expand(g, text, out, sizeof(out));
	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(out, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int free_port(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	close(fd);
	return ntohs(sa.sin_port);
}

/* A child that dies with us; its output goes to @log. */
static pid_t spawn(char *const argv[], const char *log, const char *env)
{
	pid_t parent = getpid(), pid = fork();
	int fd;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (env)
		putenv(strdup(env));
	setenv("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin", 1);
	execvp(argv[0], argv);
	_exit(127);
}

static bool listens(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;

	close(fd);
	return ok;
}

void gateway_broker_start(struct gateway *g)
{
	char conf[128], log[128];
	char *argv[] = { (char[]){ "mosquitto" }, (char[]){ "-c" }, conf, NULL };

	snprintf(conf, sizeof(conf), "%s/mosquitto.conf", g->dir);
	snprintf(log, sizeof(log), "%s/mosquitto.log", g->dir);
	g->broker = spawn(argv, log, NULL);
	for (int i = 0; i < 500; i++) {
		if (listens(g->port))
			return;
		sleep_ms(10);
	}
	fail_msg("mosquitto does not listen; see %s", log);
}

void gateway_broker_end(struct gateway *g, int signal)
{
	int status;

	if (!g->broker)
		return;
	kill(g->broker, signal);
	waitpid(g->broker, &status, 0);
	g->broker = 0;
}

static void write_configuration(struct gateway *g,
				const struct gateway_options *o)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s%sallow_anonymous true\n"
		 "max_queued_messages 100000\nuser root\n%s",
		 o->no_listener ? "" : "listener @P 127.0.0.1",
		 o->no_listener ? "" : "\n", o->mosquitto ? o->mosquitto : "");
	gateway_file(g, "mosquitto.conf", text);
	gateway_file(g, "h.sql", o->handler);
	gateway_file(g, "s.sql", o->schema);
	snprintf(text, sizeof(text),
		 "[store]\npath = @D/store/s.db\nschema = @D/s.sql\n"
		 "[broker]\nurl = %s\nclient_id = gw\nsession_expiry = 1h\n"
		 "%s\n%s", o->url ? o->url : "mqtt://127.0.0.1:@P",
		 o->broker ? o->broker : "", o->groups);
	gateway_file(g, "mqonce.conf", text);
}

struct gateway *gateway_new(const struct gateway_options *o)
{
	struct gateway *g = calloc(1, sizeof(*g));
	const char *program = getenv("MQONCE");

	assert_non_null(g);
	g->program = program ? program : "build/host/mqonce";
	snprintf(g->dir, sizeof(g->dir), "/tmp/mqonce-sys-XXXXXX");
	assert_non_null(mkdtemp(g->dir));
	snprintf(g->conf, sizeof(g->conf), "%s/mqonce.conf", g->dir);
	snprintf(g->log, sizeof(g->log), "%s/daemon.log", g->dir);
	g->port = o->no_broker ? o->port : free_port();
	g->no_listener = o->no_listener;
	write_configuration(g, o);
	if (!o->no_broker)
		gateway_broker_start(g);
	return g;
}

void gateway_free(struct gateway *g)
{
	char command[128];

	if (g->daemon)
		gateway_end(g, SIGKILL);
	gateway_broker_end(g, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf '%s'", g->dir);
	assert_int_equal(system(command), 0);
	free(g);
}

void gateway_start(struct gateway *g, const char *env)
{
	char *argv[] = { strdup(g->program), (char[]){ "run" },
			 (char[]){ "-c" }, g->conf, NULL };

	g->daemon = spawn(argv, g->log, env);
	free(argv[0]);
}

bool gateway_ended(struct gateway *g)
{
	int status;

	if (waitpid(g->daemon, &status, WNOHANG) != g->daemon)
		return false;
	g->daemon = 0;
	return true;
}

int gateway_wait_end(struct gateway *g, int limit_ms)
{
	int status = 0;

	for (int i = 0; i < limit_ms / 5; i++) {
		if (waitpid(g->daemon, &status, WNOHANG) == g->daemon) {
			g->daemon = 0;
			return WIFEXITED(status) ? WEXITSTATUS(status)
						 : -WTERMSIG(status);
		}
		sleep_ms(5);
	}
	fail_msg("the daemon does not end");
	return -1;
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
	assert_int_equal(mosquitto_connect(m, "127.0.0.1", g->port, 60), 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(mosquitto_publish(m, NULL, topic,
			(int)strlen(payloads[i]), payloads[i], 1, false), 0);
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
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
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
	char command[512];
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
