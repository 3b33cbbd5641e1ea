#include "plan.h"

static unsigned one_of(struct seeded *s, unsigned a, unsigned b, unsigned c)
{
	unsigned n = seeded_below(s, 3);

	return n == 0 ? a : n == 1 ? b : c;
}

void plan_make(struct plan *p, uint64_t seed, unsigned steps)
{
	struct seeded s = { .at = seed };

	*p = (struct plan){
		.seed = seed,
		.steps = steps,
		.death = one_of(&s, 25, 60, 90),
		.cut = one_of(&s, 30, 60, 90),
		.relapse = one_of(&s, 10, 30, 50),
		.fault = one_of(&s, 0, 4, 15),
		.command = one_of(&s, 2, 10, 20),
		.drop = one_of(&s, 0, 5, 15),
		.loss = one_of(&s, 0, 5, 20),
		.resend = one_of(&s, 0, 5, 20),
		.shuffle = one_of(&s, 0, 20, 80),
		.bad = one_of(&s, 5, 20, 60),
		.copies = one_of(&s, 10, 30, 60),
		.clashes = one_of(&s, 0, 3, 10),
		.outage = one_of(&s, 20, 50, 80),
		.reach = one_of(&s, 15, 60, 250),
		.burst = one_of(&s, 2, 8, 25),
		.batch = one_of(&s, 5, 20, 100),
		.linger_ms = one_of(&s, 0, 0, 200),
	};
	p->lies = seeded_chance(&s, 50);
	p->window = p->batch * one_of(&s, 1, 1, 4);
}

void plan_print(const struct plan *p, FILE *out)
{
	fprintf(out, "seed=%llu steps=%u death=%u cut=%u relapse=%u fault=%u "
	       "command=%u drop=%u loss=%u resend=%u shuffle=%u bad=%u "
	       "copies=%u clashes=%u outage=%u reach=%u burst=%u batch=%u "
	       "window=%u linger=%u lies=%d\n",
	       (unsigned long long)p->seed, p->steps, p->death, p->cut,
	       p->relapse, p->fault, p->command, p->drop, p->loss, p->resend,
	       p->shuffle, p->bad, p->copies, p->clashes, p->outage, p->reach,
	       p->burst, p->batch, p->window, p->linger_ms, p->lies);
}
