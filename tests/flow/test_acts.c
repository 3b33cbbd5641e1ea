/* Commands that fail half-way: all of it, or nothing, and they say so. */
#include "../support/rig.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../../src/cmd/act.h"
#include "../fakes/fake_clock.h"
#include "../fakes/fake_link.h"
#include "../fakes/fault_vfs.h"
#include "../support/test.h"
#include "store/care.h"
#include "store/store.h"

#define TABLES	"CREATE TABLE effect (id TEXT) STRICT;"
#define HANDLER	"SELECT reject('broken');"
#define GROUP								\
	"[group g]\nsubscribe = t\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"
#define OLD								\
	"INSERT INTO once_group (name, recipe, id_text, tenant_text,"	\
	" fingerprint_text, ttl_ms, vouches_since_ms)"			\
	" VALUES ('old', 1, '', '', '', 1, 0);"				\
	"INSERT INTO once_counter (group_no, markers) VALUES (2, 5);"
#define RESOLVED							\
	"UPDATE once_dead_letter SET state = 'resolved', group_no = 2;"
#define DISCARDED "UPDATE once_dead_letter SET state = 'discarded';"

/* Everything that the commands change, in one text. */
#define PICTURE								\
	"SELECT (SELECT group_concat(id || state || ifnull(pulled_as, ''))" \
	" FROM (SELECT * FROM once_dead_letter ORDER BY id))"		\
	" || '; ' || (SELECT group_concat(name) FROM once_group)"	\
	" || '; ' || (SELECT sum(markers) FROM once_counter)"		\
	" || '; ' || (SELECT count(*) FROM once_marker)"		\
	" || '; ' || (SELECT count(*) FROM once_attempt)"		\
	" || '; ' || (SELECT count(*) FROM once_audit)"

static const struct scene {
	const char *prepare, *request;
} scenes[] = {
	{ "", "{\"command\":\"dead discard\",\"ids\":\"1,3\"}" },
	{ DISCARDED, "{\"command\":\"dead restore\",\"all\":\"\"}" },
	{ DISCARDED, "{\"command\":\"dead purge\",\"ids\":\"1,2\","
		     "\"count\":\"2\"}" },
	{ "", "{\"command\":\"dead pulled\",\"ids\":\"2,3\",\"out\":\"f\"}" },
	{ OLD, "{\"command\":\"group rename\",\"names\":\"old,new\"}" },
	{ OLD RESOLVED, "{\"command\":\"group drop\",\"names\":\"old\"}" },
	{ "", "{\"command\":\"dead show\",\"ids\":\"1\",\"payload\":\"\"}" },
};

static struct rig *begin(const struct scene *s)
{
	static const char *const payloads[] = { "{\"id\":\"a\"}",
						"{\"id\":\"b\"}",
						"{\"id\":\"c\"}" };
	struct rig *r = rig_new(TABLES, HANDLER, GROUP);

	for (size_t i = 0; i < ARRAY_LEN(payloads); i++)
		rig_publish("t", payloads[i]);
	rig_drain(r);
	rig_exec(r, s->prepare);
	return r;
}

/* The answer's last line. */
static const char *run(struct rig *r, const char *request)
{
	static char page[1 << 16];
	const struct act_context c = {
		.store = r->d.store, .config = r->config, .daemon = &r->d,
		.boot_ms = fake_clock.boot_ms,
	};
	struct err_detail why = { "" };
	struct act *a = NULL;
	struct rows out;
	bool more = true;
	char *last;

	assert_ok(act_new(span_str(request), &a, &why));
	while (more) {
		rows_init(&out, page, sizeof(page) - 1);
		act_run(a, &c, &out, &more);
	}
	act_free(a);
	page[out.len - 1] = '\0';
	last = strrchr(page, '\n');
	return last ? last + 1 : page;
}

static void no_fault(void *arg UNUSED, const char *text)
{
	fail_msg("%s", text);
}

static void is_sound(struct rig *r)
{
	unsigned n = 0;

	assert_ok(store_verify(r->d.store, store_now_ms(r->d.store,
		fake_clock.boot_ms), no_fault, NULL, &n));
	assert_int_equal(n, 0);
}

/* Whether the fault was met. */
static bool try_fault(const struct scene *s, enum fault_op op, int code,
		      uint64_t nth, const char *after)
{
	struct rig *r = begin(s);
	char before[256];
	const char *answer, *now;
	bool met, ok;

	snprintf(before, sizeof(before), "%s", rig_text(r, PICTURE));
	fault_vfs_reset();
	fault_vfs_fail(op, nth, code, false);
	answer = run(r, s->request);
	met = fault_vfs_failed() > 0;
	fault_vfs_reset();
	ok = strstr(answer, "\"status\":0");
	if (met != !ok || (!ok && !strstr(answer, "\"error\":\"")))
		fail_msg("%s: %s", s->request, answer);
	/* In this process what failed is undone; after it, all or nothing. */
	rig_restart(r);
	now = rig_text(r, PICTURE);
	if (strcmp(now, after) && (ok || strcmp(now, before)))
		fail_msg("%s, %s\n%s\n%s\n%s", s->request, answer, before, now,
			 after);
	is_sound(r);
	rig_free(r);
	return met;
}

static void a_command_that_fails_did_all_or_nothing(void **state UNUSED)
{
	static const struct {
		enum fault_op op;
		int code;
	} faults[] = {
		{ FAULT_WRITE, SQLITE_FULL },
		{ FAULT_WRITE, SQLITE_IOERR_WRITE },
		{ FAULT_SYNC, SQLITE_IOERR_FSYNC },
	};

	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		struct rig *r = begin(&scenes[i]);
		char after[256];

		assert_non_null(strstr(run(r, scenes[i].request),
				       "\"status\":0"));
		snprintf(after, sizeof(after), "%s", rig_text(r, PICTURE));
		is_sound(r);
		rig_free(r);
		for (size_t f = 0; f < ARRAY_LEN(faults); f++) {
			uint64_t nth = 1;

			while (try_fault(&scenes[i], faults[f].op,
					 faults[f].code, nth, after))
				nth++;
			assert_true(nth > 1);	/* one was met at least */
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_that_fails_did_all_or_nothing),
	};

	fault_vfs_install();
	return cmocka_run_group_tests_name("acts", tests, NULL, NULL);
}
