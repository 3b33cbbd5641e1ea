/* An operator at work: the same core of the commands that the program has. */
#ifndef TESTS_SIM_OPERATOR_H
#define TESTS_SIM_OPERATOR_H

#include "machine.h"

/* Some command; what it answers binds the oracle. */
void operator_act(struct machine *m);

/* Whatever was stopped or held goes on. */
void operator_let_go(struct machine *m);

#endif
