/*
 * mqonce against the limit, in turn, each on a new broker with the same
 * backlog; then once more with the syncs counted.  The budgets are ratios and
 * counts, so that they hold on any machine.  The exit status tells whether the
 * measurement worked, not what it found.
 */
#include <mosquitto.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/host.h"
#include "broker.h"
#include "consumer.h"
#include "measure.h"

#define EVENTS	  100000
#define PAIRS	  3
#define PAIRS_MAX 16
#define POLL_MS	  10
#define COUNT_MS  50   /* between looks of counted runs */
#define SETTLE_MS 8000 /* until what is done when idle is done */
#define IDLE_MS	  20000
#define PAIR_S	  60 /* twice what a slow machine takes */

enum figure {
	RATE,  /* events per second, from exec to the last effect */
	CPU,   /* us per event */
	RSS,   /* MiB at the peak */
	ANON,  /* MiB of it anonymous, at the end */
	AGAIN, /* duplicates per second */
	FIGURES
};

struct run {
	double v[FIGURES];
};

static const char *const names[CONTESTANTS] = { "limit", "mqonce" };

struct io {
	double events, batches, checkpoints, syncs, bytes;
	double idle_syncs;
};

static struct {
	const char *build;
	char dir[480];
	unsigned events, pairs;
} bench;

static double seconds_since(int64_t us)
{
	return (double)(now_us() - us) / 1e6;
}

static void set_up(struct consumer *c, enum contestant who, struct broker *b)
{
	folder_make(bench.dir);
	broker_start(b, bench.dir);
	broker_fill(b, 0, bench.events);
	consumer_init(c, who, bench.build, bench.dir, b->port);
}

static void tear_down(struct consumer *c, struct broker *b)
{
	consumer_fini(c);
	broker_stop(b);
}

/* The same events again; one new behind them says that all are through. */
static double drain_again(struct consumer *c, const struct broker *b)
{
	double s;

	broker_fill(b, 0, bench.events);
	broker_fill(b, bench.events, bench.events + 1);
	consumer_start(c, b->port);
	consumer_wait(c, bench.events + 1, POLL_MS);
	s = seconds_since(c->started_us);
	consumer_stop(c);
	consumer_check(c, bench.events + 1);
	return bench.events / s;
}

static struct run measure(enum contestant who)
{
	struct consumer c;
	struct broker b;
	struct run r;

	set_up(&c, who, &b);
	consumer_start(&c, b.port);
	consumer_wait(&c, bench.events, POLL_MS);
	r = (struct run){ {
		[RATE] = bench.events / seconds_since(c.started_us),
		[CPU] = (double)measure_cpu_us(c.pid) / bench.events,
		[RSS] = (double)measure_kib(c.pid, "VmHWM") / 1024,
		[ANON] = (double)measure_kib(c.pid, "RssAnon") / 1024,
	} };
	consumer_stop(&c);
	consumer_check(&c, bench.events);
	if (who == MQONCE)
		r.v[AGAIN] = drain_again(&c, &b);
	tear_down(&c, &b);
	return r;
}

static double syncs_of(const struct counts *c)
{
	return (double)(c->wal_syncs + c->file_syncs + c->other_syncs);
}

/* A checkpoint syncs the file once, a batch never does. */
static struct io difference(const struct counts *a, const struct counts *z)
{
	return (struct io){
		.batches = (double)(z->commits - a->commits),
		.checkpoints = (double)(z->file_syncs - a->file_syncs),
		.syncs = syncs_of(z) - syncs_of(a),
		.bytes = (double)(z->wal_bytes + z->file_bytes - a->wal_bytes -
				  a->file_bytes),
	};
}

static double idle_syncs(const struct consumer *c)
{
	double before;

	sleep_ms(SETTLE_MS);
	before = syncs_of(c->counts);
	sleep_ms(IDLE_MS);
	return syncs_of(c->counts) - before;
}

/* Start and end are left out: from the first effects seen to the last. */
static struct io count(enum contestant who)
{
	struct counts first, last;
	struct consumer c;
	struct broker b;
	struct io io;
	int64_t from;

	set_up(&c, who, &b);
	consumer_start_counted(&c, b.port);
	from = consumer_wait(&c, 1, COUNT_MS);
	first = *c.counts;
	consumer_wait(&c, bench.events, COUNT_MS);
	last = *c.counts;
	must(last.commits, "nothing was counted: is the consumer static?");
	io = difference(&first, &last);
	io.events = (double)(bench.events - from);
	if (who == MQONCE)
		io.idle_syncs = idle_syncs(&c);
	consumer_stop(&c);
	consumer_check(&c, bench.events);
	tear_down(&c, &b);
	return io;
}

struct spread {
	double low, median, high;
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct spread spread_of(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), ascending);
	return (struct spread){ v[0], (v[(n - 1) / 2] + v[n / 2]) / 2,
				v[n - 1] };
}

static struct spread values(const struct run *r, enum figure f)
{
	double v[PAIRS_MAX];

	for (unsigned i = 0; i < bench.pairs; i++)
		v[i] = r[i].v[f];
	return spread_of(v, bench.pairs);
}

/* Pair by pair, so that a machine that slows down does not tell. */
static struct spread ratios(const struct run *r, enum figure f,
			    const struct run *to, enum figure to_f)
{
	double v[PAIRS_MAX];

	for (unsigned i = 0; i < bench.pairs; i++)
		v[i] = r[i].v[f] / to[i].v[to_f];
	return spread_of(v, bench.pairs);
}

enum sense { AT_LEAST, AT_MOST };

static void say(const char *what, double got, enum sense sense, double budget,
		const char *more)
{
	bool within = sense == AT_LEAST ? got >= budget : got <= budget;

	printf("  %-36s %9.2f  %s %-7.5g %-7s %s\n", what, got,
	       sense == AT_LEAST ? ">=" : "<=", budget,
	       within ? "within" : "MISSED", more);
}

static void say_spread(const char *what, struct spread s, enum sense sense,
		       double budget, const char *more)
{
	char text[96];

	snprintf(text, sizeof(text), "%.2f to %.2f%s", s.low, s.high, more);
	say(what, s.median, sense, budget, text);
}

static int decimals(double v)
{
	return v < 1000 ? 2 : 0;
}

static void print_run(enum contestant who, const struct run *r)
{
	printf("  %-6s %7.0f/s, %5.2f us CPU an event", names[who], r->v[RATE],
	       r->v[CPU]);
	if (who == MQONCE)
		printf("; again %7.0f/s", r->v[AGAIN]);
	printf("\n");
}

static void print_medians(const struct run *limit, const struct run *mqonce)
{
	static const char *const figures[FIGURES] = {
		[RATE] = "first-time events per second",
		[CPU] = "CPU per event, us",
		[RSS] = "peak RSS, MiB",
		[ANON] = "anonymous RSS at the end, MiB",
		[AGAIN] = "duplicates per second",
	};

	printf("\n  %-36s %9s %9s\n", "medians", names[LIMIT], names[MQONCE]);
	for (enum figure f = 0; f < FIGURES; f++) {
		double l = values(limit, f).median;
		double m = values(mqonce, f).median;

		if (f == AGAIN)
			printf("  %-36s %9s", figures[f], "-");
		else
			printf("  %-36s %9.*f", figures[f], decimals(l), l);
		printf(" %9.*f\n", decimals(m), m);
	}
}

static void print_io(const struct io *limit, const struct io *mqonce)
{
	printf("  %-36s %9.1f %9.1f\n", "events per batch",
	       limit->events / limit->batches,
	       mqonce->events / mqonce->batches);
	printf("  %-36s %9.0f %9.0f\n", "checkpoints", limit->checkpoints,
	       mqonce->checkpoints);
	printf("  %-36s %9.0f %9.0f\n", "bytes written per event",
	       limit->bytes / limit->events, mqonce->bytes / mqonce->events);
	printf("  %-36s %9.2f %9.2f\n", "syncs per batch",
	       limit->syncs / limit->batches, mqonce->syncs / mqonce->batches);
}

static void print_budgets(const struct run *limit, const struct run *mqonce,
			  const struct io *io)
{
	char more[96];

	printf("\n  %-36s %9s  %-18s lowest and highest\n", "budgets", "mqonce",
	       "must");
	say_spread("throughput over the limit's",
		   ratios(mqonce, RATE, limit, RATE), AT_LEAST, 0.6,
		   "; goal 0.7");
	say_spread("CPU per event over the limit's",
		   ratios(mqonce, CPU, limit, CPU), AT_MOST, 1.8, "; goal 1.5");
	say_spread("peak RSS, MiB", values(mqonce, RSS), AT_MOST, 10,
		   "; goal 8");
	say_spread("duplicates over first-time events",
		   ratios(mqonce, AGAIN, mqonce, RATE), AT_LEAST, 1.5, "");
	snprintf(more, sizeof(more),
		 "%.0f syncs, %.0f batches, "
		 "%.0f checkpoints",
		 io->syncs, io->batches, io->checkpoints);
	say("syncs per batch, less 3 a checkpoint",
	    (io->syncs - 3 * io->checkpoints) / io->batches, AT_MOST, 1.05,
	    more);
	snprintf(more, sizeof(more), "in %d s", IDLE_MS / 1000);
	say("syncs when idle", io->idle_syncs, AT_MOST, 0, more);
}

static unsigned number(const char *env, unsigned fallback, unsigned max)
{
	const char *s = getenv(env);
	long v = s ? atol(s) : fallback;

	must(v >= 1 && v <= max, "%s is 1 to %u", env, max);
	return (unsigned)v;
}

/* What was started ends with us. */
static void on_alarm(int signo UNUSED)
{
	static const char text[] = "bench: took too long, given up\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	static struct run runs[CONTESTANTS][PAIRS_MAX];
	struct io io[CONTESTANTS];

	must(argc == 2, "usage: bench BUILD_FOLDER");
	mosquitto_lib_init();
	setvbuf(stdout, NULL, _IOLBF, 0);
	bench.build = argv[1];
	bench.events = number("BENCH_EVENTS", EVENTS, 1000000);
	bench.pairs = number("BENCH_PAIRS", PAIRS, PAIRS_MAX);
	signal(SIGALRM, on_alarm);
	alarm(PAIR_S * (bench.pairs + 1));
	snprintf(bench.dir, sizeof(bench.dir), "%s/bench", bench.build);
	printf("%u times %u events of %u bytes, limit and mqonce in turn\n",
	       bench.pairs, bench.events, broker_event_bytes());
	for (unsigned i = 0; i < bench.pairs; i++)
		for (enum contestant who = LIMIT; who < CONTESTANTS; who++) {
			runs[who][i] = measure(who);
			print_run(who, &runs[who][i]);
		}
	io[LIMIT] = count(LIMIT);
	io[MQONCE] = count(MQONCE);
	print_medians(runs[LIMIT], runs[MQONCE]);
	print_io(&io[LIMIT], &io[MQONCE]);
	print_budgets(runs[LIMIT], runs[MQONCE], &io[MQONCE]);
	folder_remove(bench.dir);
	return EXIT_SUCCESS;
}
