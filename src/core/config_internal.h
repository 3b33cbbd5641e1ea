/* What the parts of the configuration share: key tables and places of keys. */
#ifndef CORE_CONFIG_INTERNAL_H
#define CORE_CONFIG_INTERNAL_H

#include "base/arena.h"
#include "base/parse.h"
#include "core/config.h"

enum key_type {
	KEY_TEXT,
	KEY_PATH, /* absolute: the daemon has no working directory */
	KEY_CLIENT_ID,
	KEY_URL,
	KEY_DURATION,
	KEY_SECONDS, /* a duration of whole seconds */
	KEY_SIZE,
	KEY_COUNT,
	KEY_CHOICE,
	KEY_FILTERS,
	KEY_SELECTOR,
	KEY_FINGERPRINT,
	KEY_HANDLER,
	KEY_MAX_DEAD, /* a count, and what happens at it */
	KEY_LATER,    /* known to the design, not in this version */
};

struct key {
	const char *name;
	enum key_type type;
	size_t offset, size;	    /* of the value in its section's struct */
	size_t text;		    /* KEY_SELECTOR: offset of its text */
	int64_t min, max;	    /* of numbers, both included */
	const char *const *choices; /* ends with NULL; value is the index */
	const char *fallback;	    /* NULL: stays unset */
	bool required;
	const char *help;
};

#define SECTION_KEYS 24

enum section_id {
	SECTION_STORE,
	SECTION_BROKER,
	SECTION_LIMITS,
	SECTION_METRICS,
	SECTION_GROUP,
	SECTION_COUNT
};

struct section {
	const char *name;
	const struct key *keys;
	unsigned len;
};

extern const struct section config_sections[SECTION_COUNT];

/* NULL if the section has no such key. */
const struct key *config_key(const struct section *s, struct span name);

/* The words behind max_dead, by enum dead_limit. */
extern const char *const config_dead_limits[];

/* Numbers live in fields of several widths. */
void config_put_number(void *at, size_t size, int64_t v);
int64_t config_get_number(const void *at, size_t size);

/* One section of the file, with the lines its keys stand on. */
struct scope {
	const struct section *section;
	char title[80];		    /* "[broker]", "[group billing]" */
	void *values;		    /* the struct it fills */
	int line;		    /* 0: not in the file */
	int key_line[SECTION_KEYS]; /* 0: not in the file */
};

struct parser {
	struct config *c;
	struct arena *memory;
	struct span rest; /* text not read yet */
	int line;
	struct scope *scope; /* the section under way, or NULL */
	struct scope fixed[SECTION_GROUP];
	struct scope groups[CONFIG_GROUPS]; /* in step with c->groups */
	enum err err;			    /* the first failure */
	int err_line;
	struct err_detail *why;
};

/* config_parser.c: what all steps of reading use; it calls none of them. */

/* Says "FILE:LINE: words"; line 0 leaves the line out.  Returns ERR_CONFIG. */
enum err config_say(struct parser *p, int line, const char *fmt, ...)
	PRINTF(3, 4);

/* Where @key stands, else where its section starts. */
int config_line(const struct scope *s, const char *key);

/* *ret_copy lives as long as the configuration. */
MUST_CHECK enum err config_copy(struct parser *p, struct span s,
				const char **ret_copy);

/* config_value.c: @v as it is written for a key of @k's type. */
const char *config_number_text(const struct key *k, char buf[PARSE_TEXT_SIZE],
			       int64_t v);

/* The steps, one file each: config_section.c, _value.c, _url.c, _check.c. */

/* @line starts with '['. */
MUST_CHECK enum err config_open_section(struct parser *p, struct span line);

/* Reads @value into the field of @k. */
MUST_CHECK enum err config_set(struct parser *p, struct scope *s,
			       const struct key *k, int line,
			       struct span value);
MUST_CHECK enum err config_set_url(struct parser *p, struct broker_config *b,
				   int line, struct span url);

/* What no single key can tell. */
MUST_CHECK enum err config_check(struct parser *p);

/* config_horizon.c: the redelivery horizon in numbers and words. */

/* A duration for people, in as many units as it takes: "1h58m30s". */
#define CONFIG_LONG_TEXT 48
const char *config_long_text(char buf[CONFIG_LONG_TEXT], int64_t ms);

/* What a group's redelivery_horizon is made of, in words. */
#define CONFIG_SUM_TEXT 192
const char *config_sum_text(char buf[CONFIG_SUM_TEXT], const struct config *c,
			    const struct group_config *g);

/* How long a broker takes to notice a lost connection [MQTT-3.1.2-22]. */
int64_t config_notice_ms(const struct config *c);

#endif
