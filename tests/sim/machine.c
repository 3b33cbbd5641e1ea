#include "machine.h"

#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../fakes/fake_clock.h"
#include "../fakes/power.h"
#include "broker.h"
#include "fail.h"

#define FAILED_SYNC 3	/* of the faults */
#define RELAPSES 5	/* deaths in a row while it starts */
#define STARTS	 500	/* so many in vain are too many */
#define DEEP	 16	/* each so many checks the file itself */

struct machine_counts machine_counts;

static void boot(struct machine *m)
{
	snprintf(m->boot_id, sizeof(m->boot_id), "boot-%u", ++m->boots);
	fake_clock.boot_id = m->boot_id;
	fake_clock.boot_ms = 1000 + seeded_below(&m->chance, 60000);
	/* No battery: what the wall clock says now is anybody's guess. */
	if (seeded_chance(&m->chance, 30))
		fake_clock.wall_ms = seeded_below(&m->chance, 100000);
}

void machine_init(struct machine *m, const struct plan *p, const char *dir)
{
	struct err_detail why = { "" };
	char text[4096], prefix[FOLDER_SIZE + 16];

	memset(m, 0, sizeof(*m));
	m->plan = p;
	m->chance.at = p->seed ^ 0x6d;
	snprintf(m->dir, sizeof(m->dir), "%s", dir);
	folder_make(dir);
	file_put(dir, "s.sql", "%s", world_tables);
	snprintf(prefix, sizeof(prefix), "%s/store.db", dir);
	power_seed(p->seed ^ 0x70);
	power_watch(prefix);
	power_lies(p->lies);
	world_init(&m->world, p);
	broker_init(&m->world);
	world_config(p, dir, text, sizeof(text));
	if (config_parse("conf", span_str(text), &m->config, &why))
		sim_fail("configuration: %s", why.text);
	oracle_init(&m->oracle, &m->world, m->config);
	fake_clock.wall_ms = 1800000000000;
	boot(m);
}

void machine_fini(struct machine *m)
{
	if (m->open)
		daemon_close(&m->d, ERR_BUG);
	oracle_fini(&m->oracle);
	config_free(m->config);
	folder_remove(m->dir);
}

void machine_pass(struct machine *m, int64_t ms)
{
	m->on_ms += ms;
	fake_clock.boot_ms += ms;
	fake_clock.wall_ms += ms;
}

void machine_arm(struct machine *m)
{
	if (!m->calm)
		power_die_at(1 + seeded_below(&m->chance, m->plan->reach));
}

void machine_arm_fault(struct machine *m)
{
	static const struct {
		enum power_op op;
		int code;
	} faults[] = {
		{ POWER_WRITE, SQLITE_IOERR_WRITE },
		{ POWER_WRITE, SQLITE_FULL },
		{ POWER_WRITE, SQLITE_READONLY },
		{ POWER_SYNC, SQLITE_IOERR_FSYNC },
		{ POWER_TRUNCATE, SQLITE_IOERR_TRUNCATE },
		{ POWER_SHM, SQLITE_IOERR_SHMSIZE },
		{ POWER_SHM, SQLITE_IOERR_SHMMAP },
		{ POWER_DELETE, SQLITE_IOERR_DELETE },
		{ POWER_OPEN, SQLITE_CANTOPEN },
		{ POWER_ANY, SQLITE_IOERR },
	};
	unsigned i = seeded_below(&m->chance, 10);

	/* A failed sync that is hidden is the most wicked of them. */
	if (m->plan->lies && seeded_chance(&m->chance, 50))
		i = FAILED_SYNC;
	if (!m->calm)
		power_fail(faults[i].op,
			   1 + seeded_below(&m->chance, m->plan->reach / 4 + 1),
			   faults[i].code, seeded_chance(&m->chance, 30));
}

/* The process is gone, or the machine with it. */
static void end(struct machine *m, bool in_start)
{
	bool cut = seeded_chance(&m->chance, m->plan->cut);

	daemon_close(&m->d, ERR_BUG);
	m->open = false;
	machine_counts.relapses += in_start;
	if (!cut) {
		machine_counts.kills++;
		power_kill();
		return;
	}
	machine_counts.cuts++;
	power_cut();
	boot(m);
}

/* It ended by itself: right if something failed, and only then. */
static void end_by_itself(struct machine *m, enum err e, const char *words)
{
	if (power_failed() == m->faults_seen)
		sim_fail("the daemon ended without a cause: %s: %s", err_text(e),
			words);
	machine_counts.faults++;
	daemon_close(&m->d, e);
	m->open = false;
	power_kill();
}

/* False: it died, or gave up. */
static bool try_start(struct machine *m)
{
	struct err_detail why = { "" };
	enum err e;

	m->d = (struct daemon){ .config = m->config };
	m->faults_seen = power_failed();
	file_put(m->dir, "h.sql", "%s",
		 world_handler(m->outage, m->mended));
	m->open = true;
	e = daemon_open(&m->d, &why);
	machine_counts.starts++;
	if (power_is_dead()) {
		end(m, true);
		return false;
	}
	if (e)
		end_by_itself(m, e, why.text);
	return !e;
}

static void check(struct machine *m)
{
	bool deep = !seeded_below(&m->chance, DEEP);

	oracle_check(&m->oracle, m->on_ms, deep);
}

void machine_start(struct machine *m)
{
	unsigned tries = 0;
	bool up = false;

	m->outage = !m->calm && seeded_chance(&m->chance, m->plan->outage);
	m->mended = seeded_chance(&m->chance, 40);
	while (!up) {
		if (tries++ > STARTS)
			sim_fail("it does not start any more");
		if (tries <= RELAPSES &&
		    seeded_chance(&m->chance, m->plan->relapse))
			machine_arm(m);
		if (!m->calm && seeded_chance(&m->chance, m->plan->fault))
			machine_arm_fault(m);
		up = try_start(m);
		machine_pass(m, seeded_below(&m->chance, 1000));
	}
	power_die_at(0);
	check(m);
}

void machine_stop(struct machine *m)
{
	daemon_close(&m->d, OK);
	m->open = false;
	if (power_is_dead())
		end(m, false);
	power_kill();
}

void machine_look(struct machine *m, enum err e)
{
	char words[300];

	if (power_is_dead()) {
		end(m, false);
	} else if (e) {
		snprintf(words, sizeof(words), "%s", store_detail(m->d.store));
		end_by_itself(m, e, words);
	} else {
		return;
	}
	machine_start(m);
}

void machine_turn(struct machine *m)
{
	short ready[LOOP_SOURCES] = { 0 };

	if (broker_is_readable())
		ready[LOOP_LINK] |= POLLIN;
	if (seeded_chance(&m->chance, 20))
		ready[LOOP_LINK] |= POLLOUT;
	machine_counts.turns++;
	machine_look(m, daemon_turn(&m->d, ready));
}
