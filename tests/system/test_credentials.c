/*
 * Names, passwords, certificates and addresses that are wrong: the daemon
 * says so in one line per attempt, and goes on by itself once they are right.
 */
#include "../support/cli.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fakes/certificates.h"
#include "../support/test.h"

#define EFFECTS	 "SELECT count(*) FROM effect"
#define ONCE	 "SELECT count(DISTINCT id) FROM effect"
#define PASSWORD "right-horse"
#define EVENTS	 10

/* What the config names; all of it can be spoilt on disk. */
#define TLS                                                                    \
	"ca = @D/ca.pem\ncert = @D/cert.pem\nkey = @D/key.pem\n"               \
	"user = gw\npassword_file = @D/pw\nreconnect_max = 2s\n"

/* In both, the server's and the client's certificates share a key. */
static struct certificates good, expired, elsewhere;

struct site {
	struct gateway *g;
	const char *protocol;
	int tls_port;
	int published;
};

static int make_certificates(void **state UNUSED)
{
	certificates_make(&good, NULL);
	certificates_make(&expired, &(struct cert_spec){ .from_days = -30,
							 .to_days = -1 });
	certificates_make(&elsewhere,
			  &(struct cert_spec){ .names = "DNS:elsewhere" });
	return 0;
}

static int remove_certificates(void **state UNUSED)
{
	certificates_remove(&good);
	certificates_remove(&expired);
	certificates_remove(&elsewhere);
	return 0;
}

static void put(struct site *s, const char *name, const char *from)
{
	char command[512];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from,
		 cli_path(s->g, name));
	assert_int_equal(system(command), 0);
}

static void put_server(struct site *s, const struct certificates *c)
{
	put(s, "server.pem", c->cert);
	put(s, "server.key", c->key);
}

static void put_all(struct site *s)
{
	put(s, "ca.pem", good.ca);
	put(s, "clients.pem", good.ca);
	put(s, "cert.pem", good.client_cert);
	put(s, "key.pem", good.client_key);
	put_server(s, &good);
	gateway_file(s->g, "pw", PASSWORD "\n");
}

static void write_mosquitto(struct site *s)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "listener @P 127.0.0.1\nlistener %d 127.0.0.1\n"
		 "cafile @D/clients.pem\ncertfile @D/server.pem\n"
		 "keyfile @D/server.key\nrequire_certificate true\n"
		 "listener 0 @D/mqtt.sock\n"
		 "allow_anonymous true\npassword_file @D/users\nuser root\n"
		 "max_queued_messages 1000\n"
		 "persistence true\npersistence_location @D/\n",
		 s->tls_port);
	gateway_file(s->g, "mosquitto.conf", text);
}

static void write_config(struct site *s, const char *url, const char *broker)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "[store]\npath = @D/store/s.db\nschema = @D/s.sql\n"
		 "[broker]\nurl = %s\nclient_id = gw\nsession_expiry = 1h\n"
		 "protocol = %s\n%s" GROUP("payload:$.id"),
		 url, s->protocol, broker);
	gateway_file(s->g, "mqonce.conf", text);
}

/* All is right; the broker runs. */
static void open_site(struct site *s, const char *protocol)
{
	char text[512], url[64];

	*s = (struct site){ .protocol = protocol };
	s->g = gateway_new(&(struct gateway_options){ .no_broker = true,
						      .port = port_reserve(),
						      .groups = "",
						      .schema = SCHEMA,
						      .handler = HANDLER });
	s->tls_port = port_reserve();
	put_all(s);
	snprintf(text, sizeof(text), "mosquitto_passwd -b -c '%s' gw " PASSWORD,
		 cli_path(s->g, "users"));
	assert_int_equal(system(text), 0);
	snprintf(url, sizeof(url), "mqtts://127.0.0.1:%d", s->tls_port);
	write_mosquitto(s);
	write_config(s, url, TLS);
	gateway_broker_start(s->g);
}

static void publish(struct site *s)
{
	static char text[EVENTS][64];
	const char *list[EVENTS];

	for (int i = 0; i < EVENTS; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":\"e%d\"}",
			 s->published++);
		list[i] = text[i];
	}
	gateway_publish(s->g, "t/1", list, EVENTS);
}

static void all_arrived_once(struct site *s)
{
	gateway_wait(s->g, EFFECTS, s->published, LIMIT_MS);
	assert_int_equal(gateway_end(s->g, SIGTERM), 0);
	assert_int_equal(gateway_int(s->g, EFFECTS), s->published);
	assert_int_equal(gateway_int(s->g, ONCE), s->published);
	assert_int_equal(gateway_logged(s->g, "session.lost"), 0);
	assert_int_equal(gateway_logged(s->g, PASSWORD), 0);
	gateway_free(s->g);
}

/* good ones */

static void certificates_and_a_password_from_files_connect(void **state UNUSED)
{
	static const char *const protocols[] = { "5", "3.1.1" };

	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		struct site s;

		open_site(&s, protocols[i]);
		gateway_up(s.g);
		publish(&s);
		assert_int_equal(gateway_logged(s.g, "link.down"), 0);
		all_arrived_once(&s);
	}
}

static void a_unix_socket_connects(void **state UNUSED)
{
	static const char *const protocols[] = { "5", "3.1.1" };

	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		struct site s;

		open_site(&s, protocols[i]);
		write_config(&s, "unix:@D/mqtt.sock", "");
		gateway_up(s.g);
		publish(&s);
		all_arrived_once(&s);
	}
}

/* troubles */

static void no_password_file(struct site *s)
{
	unlink(cli_path(s->g, "pw"));
}

static void empty_password(struct site *s)
{
	gateway_file(s->g, "pw", "\n");
}

static void wrong_password(struct site *s)
{
	gateway_file(s->g, "pw", "wrong-horse\n");
}

static void no_ca(struct site *s)
{
	unlink(cli_path(s->g, "ca.pem"));
}

static void wrong_ca(struct site *s)
{
	put(s, "ca.pem", good.other_ca);
}

static void torn_ca(struct site *s)
{
	gateway_file(s->g, "ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB");
}

static void no_cert(struct site *s)
{
	unlink(cli_path(s->g, "cert.pem"));
}

static void no_key(struct site *s)
{
	unlink(cli_path(s->g, "key.pem"));
}

static void other_key(struct site *s)
{
	put(s, "key.pem", elsewhere.client_key);
}

/* It signed itself. */
static void stranger(struct site *s)
{
	put(s, "cert.pem", elsewhere.other_ca);
	put(s, "key.pem", elsewhere.key);
}

/* The broker's own certificate is read when it starts. */
static void restart_with(struct site *s, const struct certificates *c)
{
	gateway_broker_end(s->g, SIGTERM);
	put_server(s, c);
	put(s, "ca.pem", c->ca);
	gateway_broker_start(s->g);
}

static void old_server(struct site *s)
{
	restart_with(s, &expired);
}

static void other_server(struct site *s)
{
	restart_with(s, &elsewhere);
}

static void right_server(struct site *s)
{
	restart_with(s, &good);
}

/* What is left when a reset overtakes the broker's alert. */
#define RESET "closed during TLS: does the broker "

static const struct trouble {
	const char *protocol;
	void (*spoil)(struct site *s);
	void (*mend)(struct site *s);
	const char *said;
} troubles[] = {
	{ "5", wrong_password, put_all,
	  "(code 135): check user, password_file and what the broker allows" },
	{ "3.1.1", wrong_password, put_all,
	  "(code 5): check user, password_file and what the broker allows" },
	{ "5", no_password_file, put_all,
	  "password_file @D/pw: No such file or directory: make it a file that "
	  "this user can read" },
	{ "5", empty_password, put_all,
	  "password_file @D/pw: its first line is empty: write the password "
	  "there" },
	{ "5", no_ca, put_all,
	  "ca @D/ca.pem: No such file or directory: make it a PEM file" },
	{ "5", wrong_ca, put_all,
	  "certificate of 127.0.0.1 is signed by an unknown CA: put that CA's "
	  "certificate into ca @D/ca.pem" },
	{ "5", torn_ca, put_all, "ca @D/ca.pem: no certificate in it" },
	{ "5", no_cert, put_all,
	  "cert @D/cert.pem: No such file or directory: make it a PEM file" },
	{ "5", no_key, put_all,
	  "key @D/key.pem: No such file or directory: make it a PEM file" },
	{ "5", other_key, put_all,
	  "key @D/key.pem: no key that fits cert @D/cert.pem" },
	{ "3.1.1", stranger, put_all,
	  "TLS: the broker says 'unknown CA': the CA that signed cert is not "
	  "one of the broker's|" RESET
	  "accept cert and key, and is this its TLS port?" },
	{ "5", old_server, right_server,
	  "certificate of 127.0.0.1 has expired (this machine's clock says " },
	{ "3.1.1", other_server, right_server,
	  "certificate of 127.0.0.1 is made out to another name: use the name "
	  "in it as host of url" },
};

/* @said: one of these, with | between them. */
static bool says(struct site *s, const char *line, const char *said)
{
	char copy[512], *rest = copy, *part;

	snprintf(copy, sizeof(copy), "%s", cli_expand(s->g, said));
	while ((part = strsep(&rest, "|")))
		if (strstr(line, part))
			return true;
	return false;
}

/* From the second start until it is up there is nothing but that to say. */
static void one_line_per_attempt(struct site *s, const char *said)
{
	size_t n;
	char *log = cli_file(s->g->log, &n), *line, *rest;
	int attempts = 0, before_ms = 0;

	rest = strstr(strstr(log, "run.start") + 1, "run.start");
	strsep(&rest, "\n");
	while ((line = strsep(&rest, "\n")) && *line &&
	       !strstr(line, "link.up")) {
		const char *wait = strstr(line, "action=reconnect in_ms=");
		int wait_ms = wait ? atoi(strrchr(line, '=') + 1) : 0;

		if (strncmp(line, "<4>link.down why=\"", 18) || !wait ||
		    !says(s, line, said))
			fail_msg("want \"%s\" in: %s", said, line);
		if (++attempts <= 2)
			assert_true(wait_ms >= before_ms);
		before_ms = wait_ms;
	}
	assert_true(attempts >= 2);
	free(log);
}

/* It has a session, goes away, and comes back to the trouble. */
static void spoil_site(struct site *s, const struct trouble *t)
{
	open_site(s, t->protocol);
	gateway_up(s->g);
	publish(s);
	gateway_wait(s->g, EFFECTS, s->published, LIMIT_MS);
	assert_int_equal(gateway_end(s->g, SIGTERM), 0);
	t->spoil(s);
	gateway_start(s->g, NULL);
}

/*
 * Between two attempts, when it has a second to wait: mending is several
 * steps, and an attempt amid them would meet another trouble.
 */
static void hold_all(struct site *sites, size_t n)
{
	unsigned seen[ARRAY_LEN(troubles)];
	size_t held = 0;

	for (size_t i = 0; i < n; i++)
		seen[i] = gateway_logged(sites[i].g, "link.down");
	for (int ms = 0; held < n && ms < LIMIT_MS; ms += 10) {
		for (size_t i = 0; i < n; i++) {
			struct gateway *g = sites[i].g;

			if (seen[i] == UINT_MAX ||
			    gateway_logged(g, "link.down") == seen[i])
				continue;
			kill(g->daemon, SIGSTOP);
			seen[i] = UINT_MAX;
			held++;
		}
		sleep_ms(10);
	}
	assert_int_equal(held, n);
}

static void
what_is_wrong_is_said_and_once_right_nothing_is_missing(void **state UNUSED)
{
	static struct site sites[ARRAY_LEN(troubles)];

	for (size_t i = 0; i < ARRAY_LEN(troubles); i++)
		spoil_site(&sites[i], &troubles[i]);
	for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
		gateway_wait_log(sites[i].g, "link.down", 2, LIMIT_MS);
		publish(&sites[i]);
	}
	hold_all(sites, ARRAY_LEN(troubles));
	for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
		troubles[i].mend(&sites[i]);
		kill(sites[i].g->daemon, SIGCONT);
	}
	for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
		gateway_wait_log(sites[i].g, "link.up", 2, LIMIT_MS);
		one_line_per_attempt(&sites[i], troubles[i].said);
		all_arrived_once(&sites[i]);
	}
}

/* Nothing on disk is wrong here but the configuration: SIGHUP is enough. */
static void
a_client_without_a_certificate_is_told_to_have_one(void **state UNUSED)
{
	struct site s;
	char url[64];

	open_site(&s, "5");
	snprintf(url, sizeof(url), "mqtts://127.0.0.1:%d", s.tls_port);
	gateway_up(s.g);
	publish(&s);
	gateway_wait(s.g, EFFECTS, s.published, LIMIT_MS);
	assert_int_equal(gateway_end(s.g, SIGTERM), 0);
	write_config(&s, url, "ca = @D/ca.pem\nreconnect_max = 2s\n");
	gateway_start(s.g, NULL);
	gateway_wait_log(s.g, "link.down", 2, LIMIT_MS);
	publish(&s);
	one_line_per_attempt(
		&s, "TLS: the broker says 'certificate required': set cert and "
		    "key to a certificate that it accepts|" RESET
		    "want a certificate (cert and key), and is this its "
		    "TLS port?");
	write_config(&s, url, TLS);
	kill(s.g->daemon, SIGHUP);
	gateway_wait_log(s.g, "link.up", 2, LIMIT_MS);
	all_arrived_once(&s);
}

/* addresses */

/* It waits in vain for an answer of up to 15 s. */
#define SILENCE_MS 25000
#define TLS_PORT   "plain words to the port that wants TLS"

static struct site lost_site(const char *url)
{
	struct site s;
	char text[640];

	open_site(&s, "5");
	if (strcmp(url, TLS_PORT))
		snprintf(text, sizeof(text), "%s", url);
	else
		snprintf(text, sizeof(text), "mqtt://127.0.0.1:%d", s.tls_port);
	write_config(&s, text,
		     strncmp(url, "mqtts", 5) ? "reconnect_max = 1s\n"
					      : "ca = @D/ca.pem\n"
						"reconnect_max = 1s\n");
	gateway_start(s.g, NULL);
	return s;
}

static void
an_address_that_does_not_answer_is_named_with_a_hint(void **state UNUSED)
{
	int fd, silent = port_listen(&fd), closed = port_reserve();
	struct {
		char url[64];
		const char *said;
		struct site site;
	} lost[] = {
		{ "mqtt://no-such-name.invalid",
		  "check the host in url and this "
		  "machine's name server",
		  { 0 } },
		{ "",
		  "Connection refused: does the broker run, and is url where "
		  "it listens?",
		  { 0 } },
		{ "unix:@D/none.sock",
		  "@D/none.sock: No such file or directory: "
		  "does the broker run",
		  { 0 } },
		{ "mqtts://127.0.0.1:@P", "TLS", { 0 } },
		{ TLS_PORT, "with or without TLS", { 0 } },
		{ "", "no answer in time", { 0 } },
	};

	snprintf(lost[1].url, sizeof(lost[1].url), "mqtt://127.0.0.1:%d",
		 closed);
	snprintf(lost[5].url, sizeof(lost[5].url), "mqtt://127.0.0.1:%d",
		 silent);
	for (size_t i = 0; i < ARRAY_LEN(lost); i++)
		lost[i].site = lost_site(lost[i].url);
	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		struct gateway *g = lost[i].site.g;

		gateway_wait_log(g, "link.down", 1, SILENCE_MS);
		gateway_wait_log(g, cli_expand(g, lost[i].said), 1, 1000);
		assert_false(gateway_ended(g));
		assert_int_equal(gateway_end(g, SIGTERM), 0);
		gateway_free(g);
	}
	close(fd);
}

static void a_broker_that_comes_later_is_found(void **state UNUSED)
{
	struct site s;

	open_site(&s, "5");
	write_config(&s, "unix:@D/mqtt.sock", "reconnect_max = 1s\n");
	gateway_broker_end(s.g, SIGTERM);
	unlink(cli_path(s.g, "mqtt.sock"));
	gateway_start(s.g, NULL);
	gateway_wait_log(s.g, "link.down", 2, LIMIT_MS);
	gateway_broker_start(s.g);
	gateway_wait_log(s.g, "link.up", 1, LIMIT_MS);
	publish(&s);
	all_arrived_once(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			certificates_and_a_password_from_files_connect),
		cmocka_unit_test(a_unix_socket_connects),
		cmocka_unit_test(
			what_is_wrong_is_said_and_once_right_nothing_is_missing),
		cmocka_unit_test(
			a_client_without_a_certificate_is_told_to_have_one),
		cmocka_unit_test(
			an_address_that_does_not_answer_is_named_with_a_hint),
		cmocka_unit_test(a_broker_that_comes_later_is_found),
	};

	return cmocka_run_group_tests_name(
		"credentials", tests, make_certificates, remove_certificates);
}
