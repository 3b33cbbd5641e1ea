/* The daemon: what starts, in order, and stops in reverse. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd.h"
#include "daemon.h"
#include "handler/sql.h"
#include "os/notify.h"
#include "os/signals.h"
#include "store/owner.h"
#include "store/space.h"

/* Memory that a broker or a handler asks for without end is refused. */
static void limit_memory(const struct config *c)
{
	const struct rlimit r = { (rlim_t)c->limits.memory,
				  (rlim_t)c->limits.memory };

#ifndef __SANITIZE_ADDRESS__	/* whose shadow is larger than any limit */
	if (setrlimit(RLIMIT_DATA, &r))
		log_warn("memory.limit", "why=\"%s\" action=continue",
			 strerror(errno));
#else
	(void)r;
#endif
}

static enum err open_store(struct daemon *d, struct err_detail *why)
{
	const struct store_options o = {
		.path = d->config->store.path,
		.max_size = d->config->store.max_size,
		.memory = d->config->limits.memory / 4,
		.secure_delete = d->config->store.secure_delete,
	};

	return store_open(&o, STORE_OWNER, &d->store, why);
}

static enum err register_groups(struct daemon *d, struct err_detail *why)
{
	int64_t now = store_now_ms(d->store, clock_boot_ms());
	enum err e = store_begin(d->store);

	if (e)
		return err_say(why, e, "%s", store_detail(d->store));
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
	return e ? err_say(why, e, "%s", store_detail(d->store)) : OK;
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
		if (e)
			e = err_say(why, e, "%s", store_detail(d->store));
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
		.groups_len = c->groups_len, .strays = &d->strays,
		.limits = &c->limits, .client_id = c->broker.client_id });
	retry_init(&d->retry, &(struct retry_options){
		.store = d->store, .groups = d->groups,
		.groups_len = c->groups_len, .strays = &d->strays,
		.max_bytes = (size_t)c->limits.memory / 4 });
	e = session_init(&d->session, c, &d->ingest);
	if (!e)
		e = maintain_init(&d->maintain, &d->ingest.batch);
	if (!e)
		e = retry_refresh(&d->retry);
	return e ? err_say(why, e, "%s", store_detail(d->store)) : OK;
}

static void stop_flows(struct daemon *d, enum err e)
{
	session_stop(&d->session);
	session_fini(&d->session);
	/* What duplicates left uncounted; a failure costs their count only. */
	if (!e)
		(void)!batch_save(&d->ingest.batch);
	retry_fini(&d->retry);
	ingest_fini(&d->ingest);
}

static enum err work(struct daemon *d, struct err_detail *why)
{
	short ready[LOOP_SOURCES] = { 0 };
	enum err e = OK;

	while (!e && !d->stop && !d->reload) {
		e = daemon_turn(d, ready);
		if (!e)
			e = daemon_watch(d);
		if (!e && !d->stop && !d->reload)
			e = loop_wait(d->loop, daemon_wait_ms(d), ready);
	}
	if (e) {
		link_free(d->ingest.link);	/* nothing more is sent */
		d->ingest.link = NULL;
		return err_say(why, e, "%s: %s; stopped, nothing unsaved was "
			       "acknowledged", d->config->store.path,
			       store_detail(d->store));
	}
	return OK;
}

/* The list of what there is, upwards to start and downwards to stop. */
static enum err serve(struct daemon *d, struct err_detail *why)
{
	enum err e = open_store(d, why);

	if (!e)
		e = sql_schema_apply(d->store, d->config->store.schema, why);
	if (!e)
		e = open_groups(d, why);
	if (!e)
		e = start_flows(d, why);
	if (!e) {
		d->ballast = space_ballast_put(d->store);
		d->watchdog_ms = notify_watchdog_ms();
		log_info("run.start", "store=%s epoch=%lld groups=%u",
			 d->config->store.path,
			 (long long)store_epoch(d->store),
			 d->config->groups_len);
		notify_send("READY=1");
		e = work(d, why);
		notify_send(d->reload ? "RELOADING=1" : "STOPPING=1");
		stop_flows(d, e);
	}
	close_groups(d);
	store_close(d->store);
	d->store = NULL;
	if (!e)
		log_info("run.stop", "action=%s", d->reload ? "reload" : "exit");
	return e;
}

/* A new configuration is read aside; a bad one changes nothing. */
static void reload(const struct command_args *a, struct config **c)
{
	struct err_detail why = { "" };
	struct config *next = NULL;

	if (cmd_load_config(a, &next, &why)) {
		log_err("config.reload", "why=\"%s\" action=keep_old",
			why.text);
		return;
	}
	config_free(*c);
	*c = next;
}

enum err cmd_run(const struct command_args *a, struct err_detail *why)
{
	struct config *c = NULL;
	struct loop *loop = NULL;
	AUTO_CLOSE int signal_fd = -1;
	bool again = true;
	unsigned n;
	enum err e = cmd_options(a, NULL, 0, NULL, 0, &n, why);

	if (!e)
		e = cmd_load_config(a, &c, why);
	if (!e)
		e = signals_open(&signal_fd);
	if (!e)
		e = loop_new(&loop);
	if (!e)
		e = loop_watch(loop, LOOP_SIGNALS, signal_fd, POLLIN);
	if (!e)
		e = link_library_init();
	if (!e)
		limit_memory(c);
	while (!e && again) {
		struct daemon *d = calloc(1, sizeof(*d));

		if (!d) {
			e = ERR_NOMEM;
			break;
		}
		d->config = c;
		d->loop = loop;
		d->signal_fd = signal_fd;
		e = serve(d, why);
		again = d->reload && !d->stop;
		free(d);
		if (!e && again)
			reload(a, &c);
	}
	link_library_fini();
	loop_free(loop);
	config_free(c);
	return e;
}
