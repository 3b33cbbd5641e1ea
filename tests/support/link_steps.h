/* The steps and assertions that tests of the link share. */
#ifndef TESTS_LINK_STEPS_H
#define TESTS_LINK_STEPS_H

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "linked.h"

static struct linked *k;

static inline int teardown(void **state UNUSED)
{
	if (k)
		linked_free(k);
	k = NULL;
	return 0;
}

static inline void start(enum transport t, enum protocol p)
{
	k = linked_new(t, p, NULL);
}

static inline const char *why(void)
{
	return k->link ? link_report(k->link)->why.text : k->why.text;
}

static inline void assert_says(const char *word)
{
	if (!strstr(why(), word))
		print_error("\"%s\" does not say \"%s\"\n", why(), word);
	assert_non_null(strstr(why(), word));
}

/* Opens and takes turns until the link is over. */
static inline void assert_fails(void)
{
	if (!linked_open(k))
		assert_true(linked_until_state(k, LINK_DOWN));
	if (k->link)
		assert_int_equal(link_fd(k->link), -1);
	assert_true(why()[0]);
}

static inline void publish(const char *topic, const char *payload, uint16_t id)
{
	const struct broker_publish p = {
		.topic = topic,
		.payload = payload,
		.qos = 1,
		.id = id,
	};

	broker_publish(k->broker, &p, 1);
}

static inline void write_file(char *path, size_t size, const char *text)
{
	FILE *f;

	snprintf(path, size, "%s/file", k->certs.dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define MANY 2000

static inline void publish_many(unsigned n)
{
	static struct broker_publish p[MANY];

	for (unsigned i = 0; i < n; i++)
		p[i] = (struct broker_publish){ .topic = "t",
						.payload = "x",
						.qos = 1 };
	broker_publish(k->broker, p, n);
}

#endif
