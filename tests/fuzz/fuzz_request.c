/* A line that came through the owner's socket, against a store with letters. */
#include "../support/rig.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include "../../src/cmd/act.h"
#include "../fakes/fake_clock.h"

#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

static struct rig *r;

static void begin(void)
{
	static char text[64][32];

	r = rig_new("CREATE TABLE effect (id TEXT) STRICT;",
		    "SELECT reject('never') WHERE :payload ->> 'id' > 9;",
		    GROUP);
	for (int i = 0; i < 64; i++) {
		snprintf(text[i], sizeof(text[i]), "{\"id\":%d}", i);
		rig_publish("t", text[i]);
	}
	rig_drain(r);
}

static void end(void)
{
	rig_free(r);
}

static bool has(struct span line, const char *word)
{
	return memmem(line.data, line.len, word, strlen(word));
}

/* Letters would run out. */
static bool changes(struct span line)
{
	return has(line, "replay") || has(line, "discard") ||
	       has(line, "purge") || has(line, "pull") || has(line, "drop") ||
	       has(line, "rename");
}

static void answer(struct act *a)
{
	static char page[1 << 16];
	const struct act_context c = {
		.store = r->d.store, .config = r->config, .daemon = &r->d,
		.boot_ms = fake_clock.boot_ms,
	};
	struct rows out;
	bool more = true;

	for (int i = 0; more && i < 10000; i++) {
		rows_init(&out, page, sizeof(page));
		act_run(a, &c, &out, &more);
		MUST(out.len <= sizeof(page));
		MUST(!out.len || page[out.len - 1] == '\n');
		MUST(!store_in_transaction(r->d.store));
	}
	MUST(!more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned n;
	struct span line = fuzz_span(data, size);
	struct err_detail why = { "" };
	struct act *a = NULL;

	if (!r) {
		begin();
		atexit(end);
	}
	/* A backup would be written to wherever the bytes say. */
	if (!memchr(data, '\n', size) && !has(line, "out") && !act_new(line, &a, &why)) {
		answer(a);
		act_free(a);
	}
	/* What changed a store is not asked of the next. */
	if (changes(line) && ++n % 64 == 0) {
		rig_free(r);
		begin();
	}
	return 0;
}
