/* The first line is a selector, the second a topic, the rest a payload. */
#include "fuzz.h"

#include "base/arena.h"
#include "base/json.h"
#include "core/event.h"
#include "core/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = fuzz_span(data, size);
	struct span line = span_cut(rest, '\n', &rest);
	static struct selector sel;
	const struct property p = { span_str("event-id"), span_str("7") };
	struct event ev = { .qos = 1, .properties = &p, .properties_len = 1 };
	struct err_detail why = { "" };
	struct span value = { 0 };
	struct arena scratch;

	if (selector_parse(line, &sel, &why)) {
		MUST(*why.text);
		return 0;
	}
	ev.topic = span_cut(rest, '\n', &rest);
	ev.payload = rest;
	ev.payload_bytes = rest.len;
	arena_init(&scratch, 4096, 1 << 20);
	if (selector_value(&sel, &ev, json_valid(rest), &scratch, &value) &&
	    value.data)
		MUST(value.len <= 1 << 20);
	arena_fini(&scratch);
	return 0;
}
