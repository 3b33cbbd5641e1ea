/* Chance that comes again with the same seed: splitmix64. */
#ifndef TESTS_SEEDED_H
#define TESTS_SEEDED_H

#include <stdbool.h>
#include <stdint.h>

struct seeded {
	uint64_t at;
};

static inline uint64_t seeded_next(struct seeded *s)
{
	uint64_t v = s->at += 0x9e3779b97f4a7c15;

	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
	v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
	return v ^ (v >> 31);
}

/* 0 to @n - 1; 0 for 0. */
static inline unsigned seeded_below(struct seeded *s, unsigned n)
{
	return n ? (unsigned)(seeded_next(s) % n) : 0;
}

/* True @percent times in a hundred. */
static inline bool seeded_chance(struct seeded *s, unsigned percent)
{
	return seeded_below(s, 100) < percent;
}

#endif
