/*
 * The whole consumer against everything that can happen to it, from a seed:
 * worlds of a few hundred steps each, in which the real daemon is fed, killed,
 * cut off its power and started again.
 *
 *	sim SEED [STEPS [STATES [SECONDS]]]
 *
 * One world, or as many, with SEED and the numbers behind it, as it takes to
 * look at so many states or for so long.  STEPS: of each world; 0: the usual.
 * The same seed gives the same world.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../fakes/fake_clock.h"
#include "../fakes/power.h"
#include "broker.h"
#include "fail.h"
#include "machine.h"
#include "operator.h"

#define STEPS	    600
#define DRAIN_TURNS 5000
#define LINGER_MS   200
#define TELL	    10000 /* states between two lines of progress */

static struct machine machine;
static struct plan plan;
static unsigned step;
static FILE *out; /* the log has the standard error */

static uint64_t states(void)
{
	return machine_counts.kills + machine_counts.cuts;
}

_Noreturn void sim_fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(out, "VIOLATION seed=%llu steps=%u step=%u states=%llu: ",
		(unsigned long long)plan.seed, plan.steps, step,
		(unsigned long long)states());
	va_start(ap, fmt);
	vfprintf(out, fmt, ap);
	va_end(ap);
	fprintf(out, "\n");
	plan_print(&plan, out);
	fprintf(out, "again: make sim SEED=%llu STEPS=%u; the files are in "
		"%s\n", (unsigned long long)plan.seed, plan.steps, machine.dir);
	fflush(out);
	_exit(1);
}

static void print_figures(void)
{
	const struct machine_counts *c = &machine_counts;
	const struct broker_counts *b = broker_counts();
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	fprintf(out, "states=%llu kills=%llu cuts=%llu in_start=%llu "
		"faults=%llu starts=%llu turns=%llu commands=%llu "
		"published=%llu delivered=%llu again=%llu pubacks=%llu "
		"lost=%llu violations=0 rss_kib=%ld\n",
		(unsigned long long)states(), (unsigned long long)c->kills,
		(unsigned long long)c->cuts, (unsigned long long)c->relapses,
		(unsigned long long)c->faults, (unsigned long long)c->starts,
		(unsigned long long)c->turns, (unsigned long long)c->commands,
		(unsigned long long)b->published,
		(unsigned long long)b->delivered,
		(unsigned long long)b->redelivered,
		(unsigned long long)b->acked, (unsigned long long)b->lost,
		r.ru_maxrss);
	fflush(out);
}

static void publish(struct machine *m)
{
	unsigned n = 1 + seeded_below(&m->chance, plan.burst);

	for (unsigned i = 0; i < n; i++) {
		int e = world_next(&m->world, m->on_ms);

		if (e < 0)
			return;
		(void)broker_publish((unsigned)e);
	}
}

/* Mostly moments; sometimes as long as a retry; hours when nothing waits. */
static void pass_time(struct machine *m)
{
	struct seeded *s = &m->chance;
	unsigned how = seeded_below(s, 1000);

	if (how < 900)
		machine_pass(m, seeded_below(s, 1500));
	else if (how < 990)
		machine_pass(m, seeded_below(s, 400000));
	else if (!broker_waiting())
		machine_pass(m, (int64_t)seeded_below(s, 20) * 3600 * 1000);
	/* Time servers lie, and people set clocks. */
	if (seeded_chance(s, 1))
		fake_clock.wall_ms = (int64_t)seeded_below(s, 2000000000) *
				     1000 * seeded_below(s, 3);
}

static void take_step(struct machine *m)
{
	struct seeded *s = &m->chance;

	if (seeded_chance(s, 40))
		publish(m);
	if (seeded_chance(s, plan.death))
		machine_arm(m);
	if (seeded_chance(s, plan.fault))
		machine_arm_fault(m);
	if (seeded_chance(s, plan.drop))
		broker_drop();
	if (seeded_below(s, 1000) < plan.loss)
		broker_lose_session();
	if (seeded_chance(s, plan.command))
		operator_act(m);
	if (seeded_chance(s, 1)) {
		machine_stop(m);
		machine_start(m);
	}
	pass_time(m);
	machine_turn(m);
	machine_turn(m);
	if (seeded_chance(s, 2))
		oracle_check(&m->oracle, m->on_ms, false);
}

static bool is_drained(const struct machine *m)
{
	int64_t waiting = broker_waiting();

	for (unsigned i = 0; i < m->config->groups_len; i++)
		waiting += m->d.groups[i].pending_rows;
	return !waiting && m->d.replay.idle;
}

/* Faults stop, outages end: everything comes to its place. */
static void drain(struct machine *m)
{
	m->calm = true;
	power_kill();
	broker_calm();
	machine_stop(m);
	machine_start(m);
	operator_let_go(m);
	for (unsigned i = 0; i < DRAIN_TURNS; i++) {
		int64_t wait = daemon_wait_ms(&m->d);

		if (broker_is_readable() && wait > LINGER_MS)
			wait = LINGER_MS;
		machine_pass(m, wait > 0 ? wait : 1);
		machine_turn(m);
		if (is_drained(m))
			break;
	}
	if (broker_waiting())
		sim_fail("%u deliveries were never acknowledged", broker_waiting());
	oracle_check(&m->oracle, m->on_ms, true);
	oracle_check_drained(&m->oracle);
}

static void run_world(const char *dir)
{
	step = 0;
	machine_init(&machine, &plan, dir);
	machine_start(&machine);
	for (step = 1; step <= plan.steps; step++)
		take_step(&machine);
	drain(&machine);
	machine_fini(&machine);
}

static void choose_dir(char dir[FOLDER_SIZE])
{
	snprintf(dir, FOLDER_SIZE, "%s/mqonce-sim-%d",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
}

/* The program's log is of no interest, unless one looks for a cause. */
static void put_log_aside(void)
{
	int null;

	out = stdout;
	if (getenv("SIM_LOG"))
		return;
	null = open("/dev/null", O_WRONLY);
	dup2(null, STDERR_FILENO);
	close(null);
}

static uint64_t number(int argc, char **argv, int i)
{
	return i < argc ? strtoull(argv[i], NULL, 10) : 0;
}

int main(int argc, char **argv)
{
	uint64_t seed = number(argc, argv, 1), want = number(argc, argv, 3);
	unsigned steps = (unsigned)number(argc, argv, 2);
	time_t end = (time_t)number(argc, argv, 4);
	uint64_t told = 0;
	char dir[FOLDER_SIZE];

	put_log_aside();
	choose_dir(dir);
	power_install();
	end = end ? time(NULL) + end : 0;
	plan_make(&plan, seed, steps ? steps : STEPS);
	plan_print(&plan, out);
	do {
		plan_make(&plan, seed++, plan.steps);
		run_world(dir);
		if (states() - told >= TELL) {
			told = states();
			print_figures();
		}
	} while (states() < want && !(end && time(NULL) >= end));
	print_figures();
	return 0;
}
