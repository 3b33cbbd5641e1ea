/* The daemon, in the foreground; a reload is a stop and a start. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd.h"
#include "daemon.h"
#include "desk.h"
#include "handler/sql.h"
#include "os/medium.h"
#include "os/notify.h"
#include "os/signals.h"
#include "store/group.h"

#define BUSY_MS	1000	/* after a reload, while another process is in the way */

/* Memory that a broker or a handler asks for without end is refused. */
static void limit_memory(const struct config *c)
{
	struct rlimit r = { 0, RLIM_INFINITY };

	(void)getrlimit(RLIMIT_DATA, &r);	/* the hard one stays as it is */
	r.rlim_cur = (rlim_t)c->limits.memory;
#ifndef __SANITIZE_ADDRESS__	/* whose shadow is larger than any limit */
	if (setrlimit(RLIMIT_DATA, &r))
		log_warn("memory.limit", "why=\"%s\" action=continue",
			 err_system(errno));
#else
	(void)r;
#endif
}

static void warn_medium(const char *text)
{
	log_warn("store.medium", "why=\"%s\" action=continue", text);
}

/* Whether a daemon can serve with @c where this one does. */
static enum err try_config(struct daemon *d, const struct config *c,
			   struct err_detail *why)
{
	enum err e = desk_check(c, why);

	if (!e)
		e = link_check(&c->broker, why);
	if (!e)
		e = cmd_prepare_all(c, NULL, why);
	if (e)
		return e;
	if (strcmp(c->store.path, d->config->store.path))
		return medium_check(c->store.path, warn_medium, why);
	if (!e)
		e = sql_schema_check(d->store, c->store.schema, why);
	for (unsigned i = 0; !e && i < c->groups_len; i++)
		e = group_check(d->store, &c->groups[i], why);
	return e;
}

/* A new configuration is read and tried aside; a bad one changes nothing. */
static void reload(struct daemon *d, const struct command_args *a)
{
	struct err_detail why = { "" };
	struct config *next = NULL;
	enum err e = cmd_load_config(a, &next, &why);

	if (!e)
		e = try_config(d, next, &why);
	if (!e) {
		d->next = next;
		return;
	}
	config_free(next);
	d->reload = false;
	log_err("config.reload", "why=\"%s\" action=keep_old", why.text);
}

static enum err work(struct daemon *d, const struct command_args *a,
		     struct err_detail *why)
{
	short ready[LOOP_SOURCES] = { 0 };
	enum err e = OK;

	while (!e && !d->stop && !d->next) {
		e = daemon_turn(d, ready);
		if (!e && d->reload && !d->stop)
			reload(d, a);
		if (!e)
			e = daemon_watch(d);
		if (!e && !d->stop && !d->next)
			e = loop_wait(d->loop, daemon_wait_ms(d), ready);
	}
	if (e) {
		link_free(d->ingest.link);	/* nothing more is sent */
		d->ingest.link = NULL;
		err_say(why, e, "%s: %s; stopped, nothing unsaved was "
			"acknowledged", d->config->store.path,
			store_detail(d->store));
		return store_advise(e, why);
	}
	return OK;
}

static void warn_unconfigured(struct span name)
{
	log_warn("group.unconfigured", "group=%.*s why=\"it has records in the "
		 "store\" action=keep: rename it to the name it has now, or "
		 "drop it", SPAN_FMT(name));
}

/* A service's sandbox may hide it (ProcSubset=pid): each start is a new boot. */
static void warn_unknown_boot(void)
{
	char id[CLOCK_BOOT_ID_SIZE];

	clock_boot_id(id);
	if (!*id)
		log_warn("clock.boot_id", "why=\"/proc/sys/kernel/random/boot_id "
			 "cannot be read\" action=take_each_start_for_a_boot");
}

static enum err serve(struct daemon *d, const struct command_args *a,
		      struct err_detail *why)
{
	enum err e = daemon_open(d, why);

	if (!e) {
		warn_unknown_boot();
		log_info("run.start", "store=%s epoch=%lld groups=%u",
			 d->config->store.path,
			 (long long)store_epoch(d->store),
			 d->config->groups_len);
		/* Only for people: what fails here fails again below. */
		(void)!cmd_unconfigured(d->store, d->config, warn_unconfigured);
		desk_open(d);
		notify_send("READY=1");
		e = work(d, a, why);
		desk_close(d);
		notify_send(d->reload ? "RELOADING=1" : "STOPPING=1");
	}
	daemon_close(d, e);
	if (!e)
		log_info("run.stop", "action=%s", d->reload ? "reload" : "exit");
	return e;
}

/* Whether to go on: nobody asked for the end. */
static bool wait_a_moment(int signal_fd, const struct err_detail *why)
{
	struct pollfd p = { .fd = signal_fd, .events = POLLIN };
	struct signals s;

	log_warn("run.busy", "why=\"%s\" action=retry in_ms=%d", why->text,
		 BUSY_MS);
	(void)poll(&p, 1, BUSY_MS);
	signals_take(signal_fd, &s);
	return !s.stop;
}

static enum err open_loop(struct loop **ret_loop, int *ret_signal_fd,
			  struct err_detail *why)
{
	enum err e = signals_open(ret_signal_fd);

	if (!e)
		e = loop_new(ret_loop);
	if (!e)
		e = loop_watch(*ret_loop, LOOP_SIGNALS, *ret_signal_fd, POLLIN);
	if (!e)
		e = link_library_init();
	if (e)
		return err_say(why, e, "cannot start: %s", err_system(errno));
	return OK;
}

enum err cmd_run(const struct command_args *a, struct err_detail *why)
{
	struct config *c = NULL;
	struct loop *loop = NULL;
	AUTO_CLOSE int signal_fd = -1;
	bool again = true, reloaded = false, accept = false;
	const struct command_option options[] = {
		{ "--accept-restored", &accept, NULL },
	};
	unsigned n;
	enum err e = cmd_options(a, options, ARRAY_LEN(options), NULL, 0, &n,
				 why);

	if (!e)
		e = cmd_load_config(a, &c, why);
	if (!e)
		e = desk_check(c, why);
	if (!e)
		e = medium_check(c->store.path, warn_medium, why);
	if (!e)
		e = open_loop(&loop, &signal_fd, why);
	while (!e && again) {
		struct daemon *d = calloc(1, sizeof(*d));

		if (!d) {
			e = ERR_NOMEM;
			break;
		}
		limit_memory(c);
		d->config = c;
		d->loop = loop;
		d->signal_fd = signal_fd;
		d->accept_restored = accept;
		accept = false;
		e = serve(d, a, why);
		again = d->next && !d->stop;
		if (again) {
			config_free(c);
			c = d->next;
			d->next = NULL;
			reloaded = true;
		} else if (e == ERR_BUSY && reloaded) {
			/* A reload is no reason to end: a reader goes away. */
			again = wait_a_moment(signal_fd, why);
			e = OK;
		}
		config_free(d->next);
		free(d);
	}
	link_library_fini();
	loop_free(loop);
	config_free(c);
	return e;
}
