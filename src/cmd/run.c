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
#include "os/notify.h"
#include "os/signals.h"

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

static enum err serve(struct daemon *d, struct err_detail *why)
{
	enum err e = daemon_open(d, why);

	if (!e) {
		log_info("run.start", "store=%s epoch=%lld groups=%u",
			 d->config->store.path,
			 (long long)store_epoch(d->store),
			 d->config->groups_len);
		notify_send("READY=1");
		e = work(d, why);
		notify_send(d->reload ? "RELOADING=1" : "STOPPING=1");
	}
	daemon_close(d, e);
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
