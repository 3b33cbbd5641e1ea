#include "operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cmd/act.h"
#include "../fakes/fake_clock.h"
#include "../fakes/power.h"
#include "fail.h"

/* Exit status of the answer's last line; -1: nobody is there to answer. */
static int run(struct machine *m, const char *request)
{
	static char page[1 << 16];
	const struct act_context c = {
		.store = m->d.store, .config = m->config, .daemon = &m->d,
		.boot_ms = fake_clock.boot_ms,
	};
	struct err_detail why = { "" };
	struct act *a = NULL;
	const char *status;
	struct rows out;
	bool more = true;

	if (act_new(span_str(request), &a, &why))
		sim_fail("%s: %s", request, why.text);
	while (more) {
		rows_init(&out, page, sizeof(page) - 1);
		act_run(a, &c, &out, &more);
	}
	act_free(a);
	machine_counts.commands++;
	page[out.len] = '\0';
	status = strstr(page, "\"status\":");
	if (power_is_dead())
		return -1;
	return status ? atoi(status + 9) : 0;
}

/* One letter, or all of a group, or all. */
static int on_letters(struct machine *m, const char *command, int64_t letter,
		      const char *more)
{
	char text[256], which[64];

	if (letter)
		snprintf(which, sizeof(which), "\"ids\":\"%lld\"",
			 (long long)letter);
	else if (seeded_chance(&m->chance, 50))
		snprintf(which, sizeof(which), "\"all\":\"\"");
	else
		snprintf(which, sizeof(which), "\"group\":\"%s\"",
			 sim_group_names[seeded_below(&m->chance, SIM_GROUPS)]);
	snprintf(text, sizeof(text), "{\"command\":\"%s\",%s%s}", command,
		 which, more);
	return run(m, text);
}

static void replay(struct machine *m)
{
	static const char *const options[] = {
		"", "", ",\"rate\":\"5\"", ",\"stop-after\":\"1\"",
		",\"max\":\"3\"",
	};
	struct seeded *s = &m->chance;
	int64_t letter = seeded_chance(s, 60)
				 ? oracle_pick_letter(&m->oracle, s, "open")
				 : 0;

	on_letters(m, "dead replay", letter, options[seeded_below(s, 5)]);
}

/* Done is done, power cut or not; what did not answer may be either. */
static void change(struct machine *m, const char *command, const char *state,
		   const char *more, char what)
{
	int64_t letter = oracle_pick_letter(&m->oracle, &m->chance, state);
	int status;

	if (!letter)
		return;
	if (what == 'p')
		m->oracle.purges = true;
	else
		oracle_said(&m->oracle, letter, 0);
	status = on_letters(m, command, letter, more);
	if (status == 0 && what)
		oracle_said(&m->oracle, letter, what);
	else if (status)
		oracle_said(&m->oracle, letter, 0);
}

static void on_group(struct machine *m, const char *command)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"command\":\"%s\",\"group\":\"%s\"}",
		 command,
		 sim_group_names[seeded_below(&m->chance, SIM_GROUPS)]);
	run(m, text);
}

static void on_job(struct machine *m, const char *command)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"command\":\"%s\",\"ids\":\"%u\"}",
		 command, 1 + seeded_below(&m->chance, 10));
	run(m, text);
}

void operator_act(struct machine *m)
{
	switch (seeded_below(&m->chance, 12)) {
	case 0:
	case 1:
	case 2: replay(m); break;
	case 3: change(m, "dead discard", "open", "", 'd'); break;
	case 4: change(m, "dead restore", "discarded", "", 0); break;
	case 5:
		change(m, "dead purge", "discarded", ",\"count\":\"1\"", 'p');
		break;
	case 6: run(m, "{\"command\":\"pending retry\",\"all\":\"\"}"); break;
	case 7: on_group(m, "group pause"); break;
	case 8: on_group(m, "group resume"); break;
	case 9: run(m, "{\"command\":\"store sweep\"}"); break;
	case 10: on_job(m, "job cancel"); break;
	case 11: on_job(m, "job resume"); break;
	}
	machine_look(m, OK);
}

void operator_let_go(struct machine *m)
{
	char text[128];

	for (int g = 0; g < SIM_GROUPS; g++) {
		snprintf(text, sizeof(text),
			 "{\"command\":\"group resume\",\"group\":\"%s\"}",
			 sim_group_names[g]);
		run(m, text);
	}
	for (int job = 1; job < 200; job++) {
		snprintf(text, sizeof(text),
			 "{\"command\":\"job resume\",\"ids\":\"%d\"}", job);
		run(m, text);
	}
}
