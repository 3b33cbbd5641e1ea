/*
 * Takes the power from a gateway, again and again, while events flow: a
 * virtual machine that is killed, over a disk that loses what was not flushed.
 * The broker stays; a tap before it knows what was acknowledged.
 */
#include <mosquitto.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "../support/seeded.h"
#include "power_flash.h"
#include "power_oracle.h"
#include "power_tap.h"

#define CUTS	   20
#define BOOT_MS	   40000 /* most, from power on to the subscription */
#define BOOT_GUESS 5000	 /* until one is known */
#define LOAD_MS	   3000	 /* most, from there to the cut */
#define WRITES	   60	 /* most, from a moment to the cut at a write */
#define DRAIN_MS   120000
#define BURST	   8 /* events at a time, most */
#define PATH	   512

/* As another user than ours, mosquitto would not end when we do. */
#define BROKER                                                                 \
	"allow_anonymous true\nuser root\n"                                    \
	"max_queued_messages 1000000\nmax_queued_bytes 0\n"

struct bench {
	const char *dir, *image;
	struct seeded chance;
	struct tap *tap;
	struct flash *flash;
	struct mosquitto *publisher;
	pid_t broker, machine;
	int64_t on_ms;	     /* when the power came */
	bool flows;	     /* the broker knows the session */
	unsigned events;     /* published */
	unsigned unanswered; /* of those and their copies, by the broker */
	unsigned boots, boot_ms[CUTS + 2];
	unsigned cuts_in_boot, cuts_in_load, cached, lost;
	unsigned cuts_between; /* a commit and its PUBACK */
};

static void on_publish(struct mosquitto *m UNUSED, void *arg, int mid UNUSED)
{
	((struct bench *)arg)->unanswered--;
}

static void publish(struct bench *b, unsigned event)
{
	char text[32];
	int n = snprintf(text, sizeof(text), TAP_PAYLOAD, event);

	must(!mosquitto_publish(b->publisher, NULL, "events", n, text, 1,
				false),
	     "publish failed");
	b->unanswered++;
}

/* For some 10 ms: a burst of events, three in ten of them sent twice. */
static void flow(struct bench *b)
{
	unsigned n = b->flows ? seeded_below(&b->chance, BURST) : 0;

	while (n-- && b->events < TAP_EVENTS_MAX) {
		unsigned back = seeded_below(&b->chance, 10);

		publish(b, b->events);
		if (seeded_chance(&b->chance, 30))
			publish(b, b->events - (back < b->events ? back : 0));
		b->events++;
	}
	must(!mosquitto_loop(b->publisher, 0, 100), "the publisher is cut off");
	sleep_ms(10);
}

static void write_settings(const char *dir, const char *name, const char *store,
			   const char *etc, int port)
{
	file_put(dir, name,
		 "[store]\npath = %s/store.db\nschema = %s/schema.sql\n"
		 "[broker]\nurl = mqtt://10.0.2.2:%d\nclient_id = gateway\n"
		 "session_expiry = 1h\n"
		 "[group events]\nsubscribe = events\nid = payload:$.n\n"
		 "format = json\nhandler = sql:%s/handler.sql\n"
		 "redelivery_horizon = 3h\nttl = 24h\n",
		 store, etc, port, etc);
}

/* A disk with /etc/mqonce, and an empty one for the store. */
static void make_disks(struct bench *b)
{
	char etc[PATH], left[PATH];
	const char *d = b->dir;

	snprintf(etc, sizeof(etc), "%s/etc", d);
	snprintf(left, sizeof(left), "%s/left", d);
	folder_make(etc);
	file_put(etc, "schema.sql", "%s", ORACLE_SCHEMA);
	file_put(etc, "handler.sql", "%s", ORACLE_HANDLER);
	write_settings(etc, "mqonce.conf", "/var/lib/mqonce", "/etc/mqonce",
		       tap_port(b->tap));
	write_settings(d, "verify.conf", left, etc, tap_port(b->tap));
	must(!shell(d,
		    "chmod -R a+rX %s && mke2fs -q -t ext4 -L mqonce-etc"
		    " -d %s %s/etc.img 4M",
		    etc, etc, d) &&
		     !shell(d, "cp --sparse=always %s/data.img %s/data.img",
			    b->image, d),
	     "no disks: see %s/log", d);
}

static void start_world(struct bench *b)
{
	char image[PATH], socket[PATH];
	int port = port_reserve();

	file_put(b->dir, "mosquitto.conf", "listener %d 127.0.0.1\n" BROKER,
		 port);
	must(mosquitto_start(b->dir, port, &b->broker), "no broker");
	b->tap = tap_start(port);
	make_disks(b);
	snprintf(image, sizeof(image), "%s/data.img", b->dir);
	snprintf(socket, sizeof(socket), "%s/flash", b->dir);
	b->flash = flash_start(image, socket, seeded_next(&b->chance));
	b->publisher = mosquitto_new(NULL, true, b);
	must(b->publisher, "no publisher");
	mosquitto_publish_callback_set(b->publisher, on_publish);
	must(!mosquitto_connect(b->publisher, "127.0.0.1", port, 60),
	     "the publisher cannot connect");
}

/* It has no battery: each time the clock begins anew. */
static void power_on(struct bench *b)
{
	char line[4096], log[PATH];
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, line, NULL };

	snprintf(line, sizeof(line),
		 "exec qemu-system-aarch64 -M virt -cpu cortex-a53 -m 256"
		 " -nographic -no-reboot -rtc base=1970-01-01"
		 " -kernel %s/kernel -initrd %s/initrd"
		 " -append 'console=ttyAMA0 quiet'"
		 " -drive if=virtio,format=raw,readonly=on,file=%s/disk.img"
		 " -drive if=virtio,format=raw,file=nbd:unix:%s/flash"
		 " -drive if=virtio,format=raw,readonly=on,file=%s/etc.img"
		 " -netdev user,id=n -device virtio-net-device,netdev=n"
		 " </dev/null",
		 b->image, b->image, b->image, b->dir, b->dir);
	snprintf(log, sizeof(log), "%s/console", b->dir);
	flash_power(b->flash);
	b->on_ms = clock_boot_ms();
	b->machine = process_start(argv, log, NULL);
}

static int64_t since_on(const struct bench *b)
{
	return clock_boot_ms() - b->on_ms;
}

static void boot(struct bench *b)
{
	while (!tap_is_subscribed(b->tap)) {
		flow(b);
		must(process_runs(b->machine),
		     "the machine ended: see %s/console", b->dir);
		must(since_on(b) <= BOOT_MS,
		     "no subscription after %d ms: see"
		     " %s/console",
		     BOOT_MS, b->dir);
	}
	b->boot_ms[b->boots++] = (unsigned)since_on(b);
	b->flows = true;
}

/* The disk first: nothing can be flushed once the power is gone. */
static void power_off(struct bench *b)
{
	bool in_load = tap_is_subscribed(b->tap);
	int64_t after_ms = since_on(b);
	struct flash_loss loss = flash_cut(b->flash);

	process_stop(b->machine, SIGKILL);
	tap_await_end(b->tap);
	b->cuts_in_load += in_load;
	b->cuts_in_boot += !in_load;
	b->cached += loss.cached;
	b->lost += loss.lost;
	printf("cut in %s after %4.1f s: %u of %u unflushed sectors lost,"
	       " %u events acknowledged\n",
	       in_load ? "load" : "boot", (double)after_ms / 1000, loss.lost,
	       loss.cached, tap_count(b->tap));
	if (oracle_check(b->dir, b->tap) > tap_count(b->tap) && in_load)
		b->cuts_between++;
}

static void run_until(struct bench *b, int64_t end)
{
	while (since_on(b) < end && !flash_is_cut(b->flash))
		flow(b);
}

/*
 * Within the boot, as long as the last one took, or within the load.  Half the
 * time the disk has the last word, so that the cut lands between its writes.
 */
static void run_until_cut(struct bench *b, bool in_boot)
{
	unsigned last = b->boots ? b->boot_ms[b->boots - 1] : BOOT_GUESS;
	bool at_write = seeded_chance(&b->chance, 50);
	unsigned writes = 1 + seeded_below(&b->chance, WRITES);
	int64_t end = last / 4 + seeded_below(&b->chance, last * 3 / 4);

	if (!in_boot) {
		boot(b);
		end = since_on(b) + seeded_below(&b->chance, LOAD_MS);
	}
	run_until(b, end);
	if (!at_write)
		return;
	flash_cut_at(b->flash, writes);
	run_until(b, end + LOAD_MS);
}

/* Everything that was published arrives; the broker has taken all of it. */
static void drain(struct bench *b)
{
	b->flows = false;
	while (b->unanswered || tap_count(b->tap) < b->events) {
		flow(b);
		must(since_on(b) < DRAIN_MS, "%u of %u events are missing",
		     b->events - tap_count(b->tap), b->events);
	}
}

static int by_size(const void *a, const void *b)
{
	return *(const unsigned *)a < *(const unsigned *)b ? -1 : 1;
}

static void tell(struct bench *b)
{
	qsort(b->boot_ms, b->boots, sizeof(*b->boot_ms), by_size);
	printf("%u cuts in boot, %u in load, %u before the PUBACK of a commit\n"
	       "%u of %u unflushed sectors lost\n"
	       "%u events, %u PUBACKs; each event happened once\n"
	       "%u boots to the subscription: %.1f s min, %.1f median, %.1f "
	       "max\n",
	       b->cuts_in_boot, b->cuts_in_load, b->cuts_between, b->lost,
	       b->cached, b->events, tap_pubacks(b->tap), b->boots,
	       b->boot_ms[0] / 1000.0, b->boot_ms[b->boots / 2] / 1000.0,
	       b->boot_ms[b->boots - 1] / 1000.0);
}

int main(int argc, char **argv)
{
	static struct bench b;
	const char *seed = getenv("SEED");

	must(argc == 3, "usage: power IMAGE_FOLDER WORK_FOLDER");
	b.image = argv[1];
	folder_make(argv[2]);
	b.dir = realpath(argv[2], NULL);
	must(b.dir && strlen(b.dir) < PATH - 20, "%s: too long", argv[2]);
	b.chance.at =
		seed ? strtoull(seed, NULL, 10) : (uint64_t)clock_wall_ms();
	printf("SEED=%llu\n", (unsigned long long)b.chance.at);
	setvbuf(stdout, NULL, _IOLBF, 0);
	mosquitto_lib_init();
	start_world(&b);
	for (int i = 0; i < CUTS; i++) {
		power_on(&b);
		run_until_cut(&b, !i || seeded_chance(&b.chance, 30));
		power_off(&b);
	}
	power_on(&b);
	boot(&b);
	drain(&b);
	(void)flash_cut(b.flash);
	process_stop(b.machine, SIGKILL);
	tap_await_end(b.tap);
	must(oracle_check(b.dir, b.tap) == b.events, "not all are there");
	process_stop(b.broker, SIGTERM);
	tell(&b);
	return 0;
}
