/* What the daemon is made of: started in order, stopped in reverse. */
#include "base/clock.h"
#include "daemon.h"
#include "handler/sql.h"
#include "os/notify.h"
#include "store/letter.h"
#include "store/space.h"

static enum err open_store(struct daemon *d, struct err_detail *why)
{
	const struct store_options o = {
		.path = d->config->store.path,
		.max_size = d->config->store.max_size,
		.memory = d->config->limits.memory / 4,
		.secure_delete = d->config->store.secure_delete,
		.accept_restored = d->accept_restored,
	};

	return store_open(&o, STORE_OWNER, &d->store, why);
}

static enum err say(const struct daemon *d, enum err e, struct err_detail *why)
{
	return err_say(why, e, "%s: %s", d->config->store.path,
		       store_detail(d->store));
}

static enum err register_groups(struct daemon *d, struct err_detail *why)
{
	int64_t now = store_now_ms(d->store, clock_boot_ms());
	enum err e = store_begin(d->store);

	if (e)
		return say(d, e, why);
	for (unsigned i = 0; !e && i < d->config->groups_len; i++) {
		struct group *g = &d->groups[i];

		g->config = &d->config->groups[i];
		e = group_register(d->store, g->config, now, false, &g->record,
				   why);
	}
	if (e) {
		store_rollback(d->store);
		return e;
	}
	e = store_commit(d->store);
	return e ? say(d, e, why) : OK;
}

static enum err open_groups(struct daemon *d, struct err_detail *why)
{
	enum err e = register_groups(d, why);

	for (unsigned i = 0; !e && i < d->config->groups_len; i++) {
		struct group *g = &d->groups[i];

		e = sql_handler_open(d->store, g->config, &g->handler, why);
		if (e)
			break;
		e = pending_totals(d->store, g->record.group_no,
				   &g->pending_rows, &g->pending_bytes);
		if (!e)
			e = letter_totals(d->store, g->record.group_no,
					  g->config->dead_limit ==
						  DEAD_LIMIT_THIN,
					  &g->open_letters, &g->kept_letters);
		if (e)
			e = say(d, e, why);
	}
	return e;
}

static void close_groups(struct daemon *d)
{
	for (unsigned i = 0; i < d->config->groups_len; i++)
		sql_handler_close(&d->groups[i].handler);
}

static enum err start_flows(struct daemon *d, struct err_detail *why)
{
	const struct config *c = d->config;
	enum err e;

	ingest_init(&d->ingest, &(struct ingest_options){
		.store = d->store, .groups = d->groups,
		.groups_len = c->groups_len, .ungrouped = &d->ungrouped,
		.limits = &c->limits, .client_id = c->broker.client_id });
	retry_init(&d->retry, &(struct retry_options){
		.store = d->store, .groups = d->groups,
		.groups_len = c->groups_len, .ungrouped = &d->ungrouped,
		.max_bytes = (size_t)c->limits.memory / 4 });
	replay_init(&d->replay, d->store);
	d->flowing = true;
	e = session_init(&d->session, c, &d->ingest);
	if (!e)
		e = maintain_init(&d->maintain, &d->ingest.batch);
	if (!e)
		e = retry_refresh(&d->retry);
	return e ? say(d, e, why) : OK;
}

static void stop_flows(struct daemon *d, enum err e)
{
	if (!d->flowing)
		return;
	session_stop(&d->session);
	session_fini(&d->session);
	/* What duplicates left uncounted; a failure costs their count only. */
	if (!e)
		(void)!batch_save(&d->ingest.batch);
	retry_fini(&d->retry);
	ingest_fini(&d->ingest);
}

enum err daemon_open(struct daemon *d, struct err_detail *why)
{
	enum err e = open_store(d, why);

	if (!e)
		e = sql_schema_apply(d->store, d->config->store.schema, why);
	if (!e)
		e = open_groups(d, why);
	if (!e)
		e = start_flows(d, why);
	if (e)
		return store_advise(e, why);
	d->ballast = space_ballast_put(d->store);
	d->watchdog_ms = notify_watchdog_ms();
	return OK;
}

void daemon_close(struct daemon *d, enum err e)
{
	bool in_order = !e && d->flowing;

	stop_flows(d, e);
	/* If it cannot be said, the next owner is careful for nothing. */
	if (in_order)
		(void)!store_clean_put(d->store, clock_boot_ms());
	close_groups(d);
	store_close(d->store);
	d->store = NULL;
	d->flowing = false;
}
