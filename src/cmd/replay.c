/* `dead replay` and the jobs it makes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "base/clock.h"
#include "base/file.h"
#include "daemon.h"
#include "rows.h"
#include "store/job.h"

#define POLL_MS		500
#define MEND_MAX	((size_t)512 << 10)

static const struct ask_column columns[] = {
	{ "JOB", "job", ASK_NUMBER, 0, false },
	{ "STATE", "state", ASK_TEXT, 0, false },
	{ "WAITING", "waiting", ASK_NUMBER, 0, false },
	{ "RUNNING", "running", ASK_NUMBER, 0, false },
	{ "DONE", "done", ASK_NUMBER, 0, false },
	{ "FAILED", "failed", ASK_NUMBER, 0, false },
	{ "SUPPRESSED", "suppressed", ASK_NUMBER, 0, false },
	{ "MADE", "made_wall_ms", ASK_TIME, 0, true },
	{ "WHAT", "what", ASK_TEXT, 12, true },
};

#define JOB_SPEC(name, change)						\
	{ .act = (name), .writes = (change), .options = "", .words = "ids",	\
	  .columns = columns, .columns_len = ARRAY_LEN(columns),	\
	  .empty = "no jobs" }

enum err cmd_job_list(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "job list", .options = "", .columns = columns,
		.columns_len = ARRAY_LEN(columns), .empty = "no jobs",
	};

	return ask_run(&spec, a, why);
}

enum err cmd_job_show(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = JOB_SPEC("job show", false);

	return ask_run(&spec, a, why);
}

enum err cmd_job_cancel(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = JOB_SPEC("job cancel", true);

	return ask_run(&spec, a, why);
}

enum err cmd_job_resume(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = JOB_SPEC("job resume", true);

	return ask_run(&spec, a, why);
}

/* dead replay */

struct made {			/* what the owner said */
	int64_t job, taken, matched, skipped, in_job, stale;
	char row[160];
};

static enum err keep_made(struct ask *k, struct json_value row)
{
	struct made *m = k->arg;

	*m = (struct made){
		.job = ask_number(row, "job"),
		.taken = ask_number(row, "taken"),
		.matched = ask_number(row, "matched"),
		.skipped = ask_number(row, "skipped"),
		.in_job = ask_number(row, "in_job"),
		.stale = ask_number(row, "stale"),
	};
	snprintf(m->row, sizeof(m->row), "%.*s", SPAN_FMT(row.raw));
	return OK;
}

/* The file's bytes as base64 in the option "mend". */
static enum err take_mend(struct ask *k, char **ret_text,
			  struct err_detail *why)
{
	const char *path = ask_get(k, "payload");
	AUTO_FREE char *memory = NULL;
	struct span bytes;
	struct rows r;
	enum err e;

	if (!path)
		return OK;
	e = file_read(path, MEND_MAX, &memory, &bytes, why);
	if (e)
		return e;
	*ret_text = malloc(bytes.len * 2 + 64);
	if (!*ret_text)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	rows_init(&r, *ret_text, bytes.len * 2 + 63);
	row_begin(&r);
	row_base64(&r, "m", bytes);		/* {"m":"..." */
	(*ret_text)[r.len - 1] = '\0';
	ask_unset(k, "payload");
	return ask_set(k, "mend", *ret_text + strlen("{\"m\":\""), why);
}

/* waiting */

struct progress {
	int64_t total, ended, failed, suppressed;
	char state[16];
};

static enum err keep_progress(struct ask *k, struct json_value row)
{
	struct progress *p = k->arg;

	ask_text(row, "state", p->state, sizeof(p->state));
	p->failed = ask_number(row, "failed");
	p->suppressed = ask_number(row, "suppressed");
	p->ended = ask_number(row, "done") + p->failed + p->suppressed;
	p->total = p->ended + ask_number(row, "waiting") +
		   ask_number(row, "running");
	return OK;
}

static void print_progress(const struct progress *p, int64_t started_ms)
{
	int64_t spent = clock_boot_ms() - started_ms;
	char bar[31], eta[CMD_AGE_SIZE] = "";
	int n = p->total ? (int)(p->ended * 30 / p->total) : 30;

	if (!isatty(STDOUT_FILENO))
		return;
	for (int i = 0; i < 30; i++)
		bar[i] = i < n ? '#' : '.';
	bar[30] = '\0';
	if (p->ended)
		cmd_age(eta, spent * (p->total - p->ended) / p->ended);
	printf("\r[%s] %" PRId64 "/%" PRId64 ", failed %" PRId64
	       ", left: %s   ", bar, p->ended, p->total, p->failed, eta);
	fflush(stdout);
}

static enum err look(const struct command_args *a, int64_t job,
		     struct progress *p, struct err_detail *why)
{
	static const struct ask_spec spec = { .act = "job show", .words = "ids",
					      .options = "",
					      .row = keep_progress };
	char id[24];
	char *argv[] = { id };
	const struct command_args words = { a->config, 1, argv };
	struct ask k;
	enum err e;

	snprintf(id, sizeof(id), "%" PRId64, job);
	e = ask_open(&k, &spec, &words, why);
	k.arg = p;
	if (!e)
		e = ask_send(&k, why);
	ask_close(&k);
	return e;
}

static void print_result(int64_t job, const struct progress *p)
{
	printf("%sjob %" PRId64 " %s: %" PRId64 " done, %" PRId64 " failed, %"
	       PRId64 " suppressed\n", isatty(STDOUT_FILENO) ? "\n" : "", job,
	       p->state, p->ended - p->failed - p->suppressed, p->failed,
	       p->suppressed);
}

static enum err wait(const struct command_args *a, int64_t job, bool talk,
		     struct err_detail *why)
{
	const struct timespec pause = { 0, POLL_MS * 1000000L };
	int64_t started = clock_boot_ms();
	struct progress p = { .state = "running" };
	enum err e = OK;

	while (!e && !strcmp(p.state, "running")) {
		e = look(a, job, &p, why);
		if (!e && talk)
			print_progress(&p, started);
		if (!e && !strcmp(p.state, "running"))
			nanosleep(&pause, NULL);
	}
	if (e)
		return e;
	if (talk)
		print_result(job, &p);
	return p.failed ? err_say(why, ERR_NO, "%" PRId64 " letters failed "
				  "again; `mqonce dead list` shows them",
				  p.failed) : OK;
}

/* Without an owner: the flows run here until the job is through. */

#define STUCK_MS	5000	/* without one end: something holds it */

struct glance {			/* at the job, from the store */
	int64_t ended;
	bool running;
};

static enum err glance_row(void *arg, const struct job *j)
{
	*(struct glance *)arg = (struct glance){
		.ended = j->done + j->failed + j->suppressed,
		.running = span_is(j->state, "running"),
	};
	return OK;
}

static enum err flow_once(struct daemon *d)
{
	int64_t now = clock_boot_ms();
	bool started;
	enum err e = replay_turn(&d->replay, now, &started);

	if (!e)
		e = retry_refresh(&d->retry);
	return e ? e : retry_turn(&d->retry, now);
}

static enum err flow(struct daemon *d, int64_t job, struct err_detail *why)
{
	struct glance then = { 0 }, g = { .running = true };
	int64_t moved = clock_boot_ms();
	enum err e = OK;

	while (!e && g.running) {
		e = flow_once(d);
		if (!e)
			e = job_show(d->store, job, glance_row, &g);
		if (e)
			return err_say(why, e, "%s", store_detail(d->store));
		if (g.ended != then.ended)
			moved = clock_boot_ms();
		then = g;
		if (clock_boot_ms() - moved > STUCK_MS)
			return err_say(why, ERR_BUSY, "job %" PRId64 " does not "
				       "move: its group is paused, not "
				       "configured, or its breaker is open; it "
				       "goes on when that ends and the daemon "
				       "runs", job);
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
	return e;
}

static enum err run_here(const struct config *c, int64_t job,
			 struct err_detail *why)
{
	struct daemon *d = calloc(1, sizeof(*d));
	enum err e;

	if (!d)
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	d->config = c;
	e = daemon_open(d, why);
	if (!e)
		e = flow(d, job, why);
	daemon_close(d, e);
	free(d);
	return e;
}

/* Sends the request; its one row is kept, and printed if it is for programs. */
static enum err send(struct ask *k, struct made *m, bool print,
		     struct err_detail *why)
{
	enum ask_format format = k->format;
	enum err e;

	k->format = ASK_TABLE;
	k->rows = 0;
	e = ask_send(k, why);
	k->format = format;
	if (!e && print && format != ASK_TABLE) {
		e = ask_print_row(k, span_str(m->row));
		ask_print_end(k);
	}
	return e;
}

static void print_left_out(const struct made *m)
{
	if (m->in_job)
		printf(", %" PRId64 " left out: in another open job, see "
		       "`mqonce job list`", m->in_job);
	if (m->skipped > m->in_job)
		printf(", %" PRId64 " left out: without a payload",
		       m->skipped - m->in_job);
	putchar('\n');
}

/* What there is to know before the question. */
static void print_plan(const struct made *m, bool dry)
{
	if (dry || m->skipped) {
		printf("would replay %" PRId64, m->matched);
		print_left_out(m);
	}
	if (m->stale)
		printf("%" PRId64 " of them are older than the last value of "
		       "their order key: `stale` of the group says what "
		       "becomes of them, without it they have no effect\n",
		       m->stale);
}

static void print_none(const struct made *m)
{
	fputs(m->skipped ? "no letter is replayed" : "no letter matched", stdout);
	print_left_out(m);
}

static enum err plan(struct ask *k, struct made *m, bool dry,
		     struct err_detail *why)
{
	enum err e;

	ask_unset(k, "dry-run");
	e = ask_set(k, "dry-run", "", why);
	if (!e)
		e = send(k, m, dry, why);
	ask_unset(k, "dry-run");
	if (!e && k->format == ASK_TABLE)
		print_plan(m, dry);
	return e;
}

static enum err confirm(struct ask *k, struct made *m, struct err_detail *why)
{
	char question[64];
	enum err e = plan(k, m, false, why);

	if (e || !m->matched)
		return e;
	snprintf(question, sizeof(question), "replay %" PRId64 " letters?",
		 m->matched);
	return cmd_confirm(question, false, why);
}

static enum err follow(struct ask *k, const struct command_args *a,
		       int64_t job, struct err_detail *why)
{
	enum err e = OK;

	fflush(stdout);
	if (!k->owned)
		e = run_here(k->config, job, why);
	return e ? e : wait(a, job, k->format == ASK_TABLE, why);
}

static enum err replay(struct ask *k, struct made *m,
		       const struct command_args *a, struct err_detail *why)
{
	bool waits = ask_get(k, "wait"), table = k->format == ASK_TABLE;
	enum err e = OK;

	ask_unset(k, "wait");
	if (ask_get(k, "dry-run"))
		return plan(k, m, true, why);
	if (!ask_get(k, "yes"))
		e = confirm(k, m, why);
	ask_unset(k, "yes");
	if (!e)
		e = send(k, m, true, why);
	if (e)
		return e;
	if (table && m->job) {
		printf("job %" PRId64 ": %" PRId64 " letters", m->job, m->taken);
		print_left_out(m);
	} else if (table) {
		print_none(m);
	}
	return waits && m->job ? follow(k, a, m->job, why) : OK;
}

enum err cmd_dead_replay(const struct command_args *a, struct err_detail *why)
{
	static const struct ask_spec spec = {
		.act = "dead replay", .writes = true, .words = "ids",
		.options = "group= tenant= kind= type= topic= since= until= "
			   "event= all dry-run yes wait rate= max= stop-after= "
			   "external payload=",
		.row = keep_made,
	};
	AUTO_FREE char *mend = NULL;
	struct made m = { 0 };
	struct ask k;
	enum err e = ask_open(&k, &spec, a, why);

	k.arg = &m;
	if (!e)
		e = take_mend(&k, &mend, why);
	if (!e)
		e = replay(&k, &m, a, why);
	ask_close(&k);
	return e;
}
