/*
 * A disk that is full, and is not any more: on a small tmpfs in a mount
 * namespace of this process.
 */
#include "../support/gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/test.h"

#define SCHEMA                                                                 \
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, b TEXT) STRICT;"
#define HANDLER                                                                \
	"INSERT INTO effect (id, b) VALUES (:event_id, :payload);"             \
	"SELECT reject('broken') WHERE :payload ->> 'bad'"                     \
	" AND NOT EXISTS (SELECT 1 FROM effect WHERE id = 'mend');"
#define GROUP                                                                  \
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n"      \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define EFFECTS "SELECT count(*) FROM effect"

static bool may_mount;

static struct gateway *make(const char *tmpfs_size)
{
	struct gateway *g = gateway_new(
		&(struct gateway_options){ .groups = GROUP,
					   .schema = SCHEMA,
					   .handler = HANDLER,
					   .broker = "reconnect_max = 1s\n" });
	char path[128], options[64];

	snprintf(path, sizeof(path), "%s/store", g->dir);
	snprintf(options, sizeof(options), "size=%s,mode=0700", tmpfs_size);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mount("tmpfs", path, "tmpfs", 0, options), 0);
	return g;
}

static void finish(struct gateway *g)
{
	char path[128];

	if (g->daemon)
		gateway_end(g, SIGKILL);
	snprintf(path, sizeof(path), "%s/store", g->dir);
	umount2(path, MNT_DETACH);
	gateway_free(g);
}

static void publish(struct gateway *g, int from, int to)
{
	static char text[200][5000];
	const char *list[200];

	for (int i = from; i < to; i++) {
		snprintf(text[i - from], sizeof(text[0]),
			 "{\"id\":\"e%d\",\"x\":\"%04900d\"}", i, i);
		list[i - from] = text[i - from];
	}
	gateway_publish(g, "t", list, (unsigned)(to - from));
}

/* What others wrote fills the disk: the file @name takes all there is. */
static void fill_up(struct gateway *g)
{
	static const char block[4096] = { 1 };
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/store/other", g->dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void free_up(struct gateway *g)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/store/other", g->dir);
	assert_int_equal(unlink(path), 0);
}

static bool ballast_is_there(struct gateway *g)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/store/s.db.ballast", g->dir);
	return access(path, F_OK) == 0;
}

static void a_full_disk_stops_ingest_and_loses_nothing(void **state UNUSED)
{
	struct gateway *g;

	if (!may_mount)
		skip();
	g = make("6M"); /* too small for a ballast */
	gateway_up(g);
	publish(g, 0, 50);
	gateway_wait(g, EFFECTS, 50, 10000);
	assert_int_equal(gateway_logged(g, "store.medium"), 1);
	fill_up(g);
	for (int i = 0; i < 5; i++)
		publish(g, 50 + i * 100, 150 + i * 100);
	gateway_wait_log(g, "ingest.stopped", 1, 20000);
	assert_false(gateway_ended(g));
	assert_true(gateway_logged(g, "the disk is full") > 0);
	free_up(g);
	gateway_wait(g, EFFECTS, 550, 30000);
	assert_int_equal(gateway_logged(g, "ingest.open"), 1);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, "SELECT count(DISTINCT id)"
					" FROM effect"),
			 550);
	assert_int_equal(gateway_int(g, EFFECTS), 550);
	finish(g);
}

static void the_ballast_is_given_up_and_put_back(void **state UNUSED)
{
	struct gateway *g;

	if (!may_mount)
		skip();
	g = make("40M");
	gateway_up(g);
	publish(g, 0, 10);
	gateway_wait(g, EFFECTS, 10, 10000);
	assert_true(ballast_is_there(g));
	fill_up(g);
	for (int i = 0; i < 3; i++)
		publish(g, 10 + i * 100, 110 + i * 100);
	gateway_wait_log(g, "ingest.stopped", 1, 20000);
	assert_false(ballast_is_there(g));
	/* The room it left is for maintenance, not for events. */
	sleep(6);
	assert_int_equal(gateway_logged(g, "ingest.open"), 0);
	free_up(g);
	gateway_wait(g, EFFECTS, 310, 30000);
	assert_true(ballast_is_there(g));
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, EFFECTS), 310);
	finish(g);
}

static void bury(struct gateway *g, int from, int to)
{
	static char text[200][5000];
	const char *list[200];

	for (int i = from; i < to; i++) {
		snprintf(text[i - from], sizeof(text[0]),
			 "{\"id\":\"b%d\",\"bad\":1,\"x\":\"%04900d\"}", i, i);
		list[i - from] = text[i - from];
	}
	gateway_publish(g, "t", list, (unsigned)(to - from));
}

static void says(struct gateway *g, const char *args, const char *words)
{
	static char out[1 << 20];
	int s = gateway_command(g, out, sizeof(out), args);

	/* The first one may find the reserve still in place. */
	if (s == 74 && strstr(out, "ask again"))
		s = gateway_command(g, out, sizeof(out), args);
	if (s || !strstr(out, words))
		fail_msg("%s: status %d, \"%s\"", args, s, out);
}

/* With the daemon, and without it. */
static void letters_can_be_cleared_on_a_full_disk(void **state UNUSED)
{
	struct gateway *g;

	if (!may_mount)
		skip();
	for (int up = 0; up < 2; up++) {
		g = make("40M");
		gateway_up(g);
		bury(g, 0, 200);
		gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 200,
			     10000);
		if (!up)
			assert_int_equal(gateway_end(g, SIGTERM), 0);
		fill_up(g);
		says(g, "status", "open dead   200 permanent");
		says(g, "dead list --max 5", "broken");
		says(g, "dead discard --all --yes", "discard: 200");
		says(g, "dead purge --all --count 200 --yes", "purge: 200");
		free_up(g);
		if (!up)
			gateway_up(g);
		publish(g, 0, 20);
		gateway_wait(g, EFFECTS, 20, 30000);
		says(g, "store verify", "ok");
		assert_int_equal(gateway_end(g, SIGTERM), 0);
		finish(g);
	}
}

/* The ballast makes room for it; a file beside the store is none. */
static void letters_can_be_replayed_and_pulled_on_a_full_disk(
	void **state UNUSED)
{
	const char *mend = "{\"id\":\"mend\"}";
	struct gateway *g;

	if (!may_mount)
		skip();
	for (int up = 0; up < 2; up++) {
		g = make("40M");
		gateway_up(g);
		bury(g, 0, 100);
		gateway_wait(g, "SELECT count(*) FROM once_dead_letter", 100,
			     10000);
		gateway_publish(g, "t", &mend, 1);
		gateway_wait(g, EFFECTS, 1, 10000);
		if (!up)
			assert_int_equal(gateway_end(g, SIGTERM), 0);
		fill_up(g);
		says(g, "dead replay --all --max 90 --yes --wait", "90 done");
		says(g, "dead pull --max 5 --out /dev/shm/mqonce-pulled",
		     "pulled 5 letters");
		unlink("/dev/shm/mqonce-pulled");
		assert_int_equal(gateway_int(g, EFFECTS), 91);
		free_up(g);
		if (!up)
			gateway_up(g);
		publish(g, 0, 20);
		gateway_wait(g, EFFECTS, 111, 30000);
		says(g, "store verify", "ok");
		assert_int_equal(gateway_end(g, SIGTERM), 0);
		finish(g);
	}
}

/* What letters held at the page budget is there for events again. */
static void purged_letters_make_room_for_events(void **state UNUSED)
{
	struct gateway *g =
		gateway_new(&(struct gateway_options){ .groups = GROUP,
						       .schema = SCHEMA,
						       .handler = HANDLER,
						       .broker = "" });

	gateway_file(g, "mqonce.conf",
		     "[store]\npath = @D/store/s.db\nschema = @D/s.sql\n"
		     "max_size = 4M\n[broker]\nurl = mqtt://127.0.0.1:@P\n"
		     "client_id = gw\nsession_expiry = 1h\nreconnect_max = "
		     "1s\n" GROUP);
	gateway_up(g);
	for (int i = 0; i < 4; i++)
		bury(g, i * 200, i * 200 + 200);
	gateway_wait_log(g, "max_size is nearly reached", 1, 20000);
	publish(g, 0, 20);
	says(g, "dead list --max 5", "broken");
	says(g, "dead discard --all --yes", "discard: ");
	says(g, "dead discard --all --yes", "discard: ");
	for (int i = 0; i < 100 && gateway_int(g, EFFECTS) < 20; i++) {
		char args[80];

		says(g, "dead discard --all --yes", "discard: ");
		snprintf(args, sizeof(args), "dead purge --all --count %d "
			 "--yes", (int)gateway_int(g, "SELECT count(*) FROM"
			 " once_dead_letter WHERE state = 'discarded'"));
		says(g, args, "purge: ");
		sleep_ms(200);
	}
	gateway_wait(g, EFFECTS, 20, 20000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	gateway_free(g);
}

/* The page budget, with the disk nearly empty. */
static void at_max_size_events_stay_with_the_broker(void **state UNUSED)
{
	struct gateway *g =
		gateway_new(&(struct gateway_options){ .groups = GROUP,
						       .schema = SCHEMA,
						       .handler = HANDLER,
						       .broker = "" });
	char out[4096];

	gateway_file(g, "mqonce.conf",
		     "[store]\npath = @D/store/s.db\nschema = @D/s.sql\n"
		     "max_size = 4M\n[broker]\nurl = mqtt://127.0.0.1:@P\n"
		     "client_id = gw\nsession_expiry = 1h\nreconnect_max = "
		     "1s\n" GROUP);
	gateway_up(g);
	for (int i = 0; i < 8; i++)
		publish(g, i * 100, i * 100 + 100);
	gateway_wait_log(g, "max_size is nearly reached", 1, 20000);
	assert_int_equal(gateway_command(g, out, sizeof(out), "status"), 0);
	assert_non_null(strstr(out, "max_size is nearly reached"));
	assert_true(gateway_int(g, EFFECTS) < 800);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	/* The operator raises the budget; the rest arrives. */
	gateway_file(g, "mqonce.conf",
		     "[store]\npath = @D/store/s.db\nschema = @D/s.sql\n"
		     "max_size = 64M\n[broker]\nurl = mqtt://127.0.0.1:@P\n"
		     "client_id = gw\nsession_expiry = 1h\n" GROUP);
	gateway_up(g);
	gateway_wait(g, EFFECTS, 800, 20000);
	assert_int_equal(gateway_end(g, SIGTERM), 0);
	assert_int_equal(gateway_int(g, EFFECTS), 800);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_stops_ingest_and_loses_nothing),
		cmocka_unit_test(the_ballast_is_given_up_and_put_back),
		cmocka_unit_test(at_max_size_events_stay_with_the_broker),
		cmocka_unit_test(letters_can_be_cleared_on_a_full_disk),
		cmocka_unit_test(
			letters_can_be_replayed_and_pulled_on_a_full_disk),
		cmocka_unit_test(purged_letters_make_room_for_events),
	};

	/* Needs root, or user namespaces; otherwise those tests say skipped. */
	may_mount = unshare(CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
