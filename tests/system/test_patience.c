/*
 * Brokers that say nothing more, at every stage.  All of them are waited for
 * at the same time: each takes its limit, and costs next to nothing until then.
 */
#include "../support/test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/hostile.h"

enum lane {
	SILENT,	      /* nothing after TCP is up */
	SILENT_TLS,   /* nothing in the handshake */
	BLACK_HOLE,   /* not even TCP */
	HANGING_NAME, /* the name server does not answer */
	VANISHED,     /* subscribed, then gone without a word */
	VANISHED_TLS,
	DEAF, /* sends on, and takes nothing */
	LANES
};

static const char *const names[LANES] = {
	"silent",   "silent in TLS",	 "black hole", "hanging name",
	"vanished", "vanished with TLS", "deaf",
};

#define WATCH_MS	 2000
#define CPU_MOST_MS	 (WATCH_MS / 4)
#define DEAF_BATCH	 1000
#define DEAF_BATCH_BYTES 20000
#define DEAF_AHEAD	 1000000
#define DEAF_BATCHES	 50
#define TICK_MS		 10
#define QUIET_MS	 500
#define DEAF_MS		 7000
#define DEAF_KB		 4096

static struct hostile *lane[LANES];
static pid_t asker; /* the child that asks the name server */
static int full_fds[3] = { -1, -1, -1 };

static bool is_tls(enum lane n)
{
	return n == SILENT_TLS || n == VANISHED_TLS;
}

/* A port whose backlog is full: SYN gets no answer. */
static uint16_t black_hole(void)
{
	int fd, port = port_listen(&fd);
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	assert_int_equal(listen(fd, 0), 0);
	full_fds[0] = fd;
	for (int i = 1; i < 3; i++) {
		full_fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(full_fds[i], (struct sockaddr *)&to, sizeof(to));
	}
	return (uint16_t)port;
}

static struct hostile *make(enum lane n, const char *url)
{
	return hostile_new(&(struct hostile_options){
		.tls = is_tls(n), .narrow = n == DEAF, .url = url });
}

/* What the broker sends, though nobody takes what it gets: copies. */
static void send_copies(struct hostile *h, unsigned batches)
{
	static char bytes[DEAF_BATCH * 32];
	size_t len = 0;

	for (unsigned i = 1; i <= DEAF_BATCH; i++) {
		static const char head[] = { 0x32, 18, 0, 1, 't' };

		memcpy(bytes + len, head, sizeof(head));
		len += sizeof(head);
		bytes[len++] = (char)(i >> 8);
		bytes[len++] = (char)(i & 255);
		bytes[len++] = 0;
		len += (size_t)sprintf(bytes + len, "{\"id\":\"%03u\"}",
				       i % 1000);
	}
	for (unsigned i = 0; i < batches; i++)
		broker_send(h->b, bytes, len);
}

/* 0: the program has none. */
static pid_t child_of(const struct hostile *h)
{
	char path[96];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		 (int)h->g->daemon, (int)h->g->daemon);
	f = fopen(path, "r");
	assert_non_null(f);
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

static int start_all(void **state UNUSED)
{
	char url[64];

	for (int n = SILENT; n < LANES; n++) {
		if (n == BLACK_HOLE)
			snprintf(url, sizeof(url), "mqtt://127.0.0.1:%u",
				 black_hole());
		lane[n] = make((enum lane)n, n == BLACK_HOLE ? url
					     : n == HANGING_NAME
						     ? "mqtt://hangs.example:@P"
						     : NULL);
	}
	broker_ignore(lane[SILENT]->b, true);
	broker_ignore(lane[SILENT_TLS]->b, true);
	hostile_up(lane[VANISHED]);
	hostile_up(lane[VANISHED_TLS]);
	hostile_up(lane[DEAF]);
	hostile_publish(lane[VANISHED], 0, 5);
	hostile_publish(lane[VANISHED_TLS], 0, 5);
	hostile_wait_effects(lane[VANISHED], 5);
	hostile_wait_effects(lane[VANISHED_TLS], 5);
	for (int side = WIRE_CLIENT; side <= WIRE_BROKER; side++) {
		wire_hold(lane[VANISHED]->wire, (enum wire_side)side, true);
		wire_hold(lane[VANISHED_TLS]->wire, (enum wire_side)side, true);
	}
	gateway_start(lane[SILENT]->g, NULL);
	gateway_start(lane[SILENT_TLS]->g, NULL);
	gateway_start(lane[BLACK_HOLE]->g, NULL);
	hostile_start_slow(lane[HANGING_NAME]);
	for (int i = 0; i < 1000 && !asker; i++) {
		sleep_ms(5);
		asker = child_of(lane[HANGING_NAME]);
	}
	assert_true(asker > 0);
	return 0;
}

static int end_all(void **state UNUSED)
{
	for (int n = 0; n < LANES; n++)
		hostile_free(lane[n]);
	for (int i = 0; i < 3; i++)
		if (full_fds[i] >= 0)
			close(full_fds[i]);
	return 0;
}

/*
 * As fast as they are read, until they are read no longer: some millions of
 * bytes fill the sockets first.
 */
static unsigned send_until_unread(struct hostile *h)
{
	uint64_t before = wire_passed(h->wire, WIRE_BROKER);
	unsigned batches = 0;
	int quiet_ms = 0;
	long used = 0;

	for (int ms = 0; ms < DEAF_MS && quiet_ms < QUIET_MS; ms += TICK_MS) {
		uint64_t passed = wire_passed(h->wire, WIRE_BROKER) - before;

		quiet_ms = hostile_cpu_ms(h) == used ? quiet_ms + TICK_MS : 0;
		used = hostile_cpu_ms(h);
		if (passed + DEAF_AHEAD >
		    (uint64_t)batches * DEAF_BATCH_BYTES) {
			send_copies(h, DEAF_BATCHES);
			batches += DEAF_BATCHES;
		}
		sleep_ms(TICK_MS);
	}
	return batches * DEAF_BATCH;
}

/* What it owes is bounded: what is not taken it does not read for. */
static void a_broker_that_takes_nothing_fills_no_memory(void **state UNUSED)
{
	struct hostile *h = lane[DEAF];
	unsigned sent;
	long before;

	send_copies(h, 10);
	hostile_wait_effects(h, DEAF_BATCH);
	before = hostile_peak_kb(h);
	wire_hold(h->wire, WIRE_CLIENT, true);
#ifdef __SANITIZE_ADDRESS__
	skip(); /* what it keeps back is larger than what is looked for */
#endif
	sent = send_until_unread(h);
	print_message("%ld kB, %ld kB after %u copies\n", before,
		      hostile_peak_kb(h), sent);
	assert_true(hostile_peak_kb(h) - before < DEAF_KB);
}

/* Measured while all of them wait. */
static void whoever_is_waited_for_costs_no_cpu(void **state UNUSED)
{
	long used[LANES];

	for (int n = 0; n < LANES; n++)
		used[n] = hostile_cpu_ms(lane[n]);
	sleep_ms(WATCH_MS);
	for (int n = 0; n < LANES; n++) {
		used[n] = hostile_cpu_ms(lane[n]) - used[n];
		print_message("%s: %ld ms of %d\n", names[n], used[n],
			      WATCH_MS);
		assert_true(used[n] < CPU_MOST_MS);
	}
}

static void status_is_answered_meanwhile(void **state UNUSED)
{
	hostile_status_says(lane[SILENT], "connecting");
	hostile_status_says(lane[SILENT_TLS], "connecting");
	hostile_status_says(lane[BLACK_HOLE], "connecting");
	hostile_status_says(lane[HANGING_NAME], "connecting");
	hostile_status_says(lane[VANISHED], "connected");
}

static void a_name_server_that_hangs_is_given_up(void **state UNUSED)
{
	struct hostile *h = lane[HANGING_NAME];

	gateway_wait_log(h->g, "no answer within 10 s", 1, HOSTILE_MS);
	for (int i = 0; i < 200 && !kill(asker, 0); i++)
		sleep_ms(5);
	assert_int_equal(kill(asker, 0), -1);
	assert_false(gateway_ended(h->g));
}

static void gives_up(enum lane n, const char *why)
{
	gateway_wait_log(lane[n]->g, why, 1, HOSTILE_MS);
	assert_true(gateway_logged(lane[n]->g, "action=reconnect") > 0);
}

static void a_connect_that_hangs_is_given_up(void **state UNUSED)
{
	gives_up(BLACK_HOLE, "no answer in time");
}

/* And when it speaks again it is heard. */
static void a_broker_that_says_nothing_is_given_up(void **state UNUSED)
{
	for (int n = SILENT; n <= SILENT_TLS; n++) {
		gives_up((enum lane)n, "no answer in time");
		broker_ignore(lane[n]->b, false);
		hostile_publish(lane[n], 0, 5);
		hostile_wait_effects(lane[n], 5);
	}
}

static void
a_broker_that_vanished_is_found_by_the_keepalive(void **state UNUSED)
{
	for (int n = VANISHED; n <= VANISHED_TLS; n++) {
		struct hostile *h = lane[n];

		gives_up((enum lane)n, "no answer within the keepalive time");
		for (int side = WIRE_CLIENT; side <= WIRE_BROKER; side++)
			wire_hold(h->wire, (enum wire_side)side, false);
		hostile_publish(h, 5, 5);
		hostile_wait_effects(h, 10);
	}
}

static void a_broker_that_takes_nothing_is_left(void **state UNUSED)
{
	struct hostile *h = lane[DEAF];

	gives_up(DEAF, "no answer within the keepalive time");
	wire_hold(h->wire, WIRE_CLIENT, false);
	/* Late PUBACKs of the copies are for no event to come. */
	assert_true(broker_wait(h->b, BROKER_CLOSED, 1, HOSTILE_MS));
	hostile_publish(h, DEAF_BATCH, 5);
	hostile_wait_effects(h, DEAF_BATCH + 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broker_that_takes_nothing_fills_no_memory),
		cmocka_unit_test(whoever_is_waited_for_costs_no_cpu),
		cmocka_unit_test(status_is_answered_meanwhile),
		cmocka_unit_test(a_name_server_that_hangs_is_given_up),
		cmocka_unit_test(a_broker_that_takes_nothing_is_left),
		cmocka_unit_test(
			a_broker_that_vanished_is_found_by_the_keepalive),
		cmocka_unit_test(a_connect_that_hangs_is_given_up),
		cmocka_unit_test(a_broker_that_says_nothing_is_given_up),
	};

	return cmocka_run_group_tests_name("patience", tests, start_all,
					   end_all);
}
