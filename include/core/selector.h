/*
 * Selectors: where in an event a value stands.
 *
 *	payload:$.a.b	the value at a JSON path; numbers keep their text
 *	property:NAME	the first user property of that name (MQTT 5)
 *	correlation	the correlation data (MQTT 5)
 *	topic:N		level N of the topic, from 1
 *	const:TEXT	TEXT itself
 *	hash		a hash of topic and payload, in hexadecimal
 *
 * A comma means "or else": the first that gives a value counts.  `&` joins
 * several into one value, each with its length before it, and binds tighter.
 */
#ifndef CORE_SELECTOR_H
#define CORE_SELECTOR_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"
#include "core/event.h"

enum selector_source {
	SELECT_PAYLOAD,
	SELECT_PROPERTY,
	SELECT_CORRELATION,
	SELECT_TOPIC,
	SELECT_CONST,
	SELECT_HASH,
};

struct selector_part {
	enum selector_source source;
	struct span arg;
	unsigned level; /* of SELECT_TOPIC */
};

#define SELECTOR_ALTERNATIVES 8
#define SELECTOR_PARTS	      8

struct selector {
	struct {
		struct selector_part part[SELECTOR_PARTS];
		unsigned len;
	} alt[SELECTOR_ALTERNATIVES];
	unsigned len; /* 0: not configured */
};

/*
 * Reads @text; the selector borrows its spans from it.
 * ERR_CONFIG with words in @why, without a file or line.
 */
MUST_CHECK enum err selector_parse(struct span text, struct selector *ret_sel,
				   struct err_detail *why);

/* Whether any part reads @source. */
bool selector_reads(const struct selector *sel, enum selector_source source);

/*
 * The value in @ev, borrowed from @ev, the selector or @scratch; absent when
 * no alternative gives one.  @json_ok says that the payload is json_valid();
 * without it payload parts give nothing.  An object, an array, true, false
 * and null are not values.  False only when @scratch is full.
 */
MUST_CHECK bool selector_value(const struct selector *sel,
			       const struct event *ev, bool json_ok,
			       struct arena *scratch, struct span *ret_value);

#endif
