#include "desk.h"

#include "act.h"
#include "base/clock.h"
#include "base/log.h"

/* What one client asked for: an act, or the error that came of asking. */
struct answer {
	struct act *act;	/* NULL: refused */
	struct err_detail why;
	enum err refused;
	uid_t uid;
};

static void *on_request(void *arg UNUSED, uid_t uid, struct span line)
{
	struct answer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->uid = uid;
	w->refused = act_new(line, &w->act, &w->why);
	return w;
}

static size_t on_page(void *arg, void *answer, char *buf, size_t room,
		      bool *ret_more)
{
	struct daemon *d = arg;
	struct answer *w = answer;
	const struct act_context c = {
		.store = d->store, .config = d->config, .daemon = d,
		.uid = w->uid, .boot_ms = clock_boot_ms(),
	};
	struct rows out;

	rows_init(&out, buf, room);
	if (w->act)
		act_run(w->act, &c, &out, ret_more);
	else
		act_refuse(&out, w->refused, &w->why, ret_more);
	return out.len;
}

static void on_end(void *arg UNUSED, void *answer)
{
	struct answer *w = answer;

	act_free(w->act);
	free(w);
}

enum err desk_check(const struct config *c, struct err_detail *why)
{
	struct err_detail d = { "" };
	enum err e = server_check(c->store.socket, &d);

	return e ? err_say(why, ERR_CONFIG, "%s:%d: %s", c->file,
			   c->store.socket_line, d.text) : OK;
}

static enum err open_server(struct daemon *d, struct err_detail *why)
{
	const struct server_events ev = { d, on_request, on_page, on_end };

	return server_open(d->config->store.socket, &ev, &d->server, why);
}

/* One line when operators find it no more, and one when they do again. */
static void tell(struct daemon *d, enum err e, const struct err_detail *why)
{
	if (e && !d->desk_shut)
		log_err("socket.failed", "why=\"%s\" action=retry in_ms=%d",
			why->text, SERVER_LOOK_MS);
	else if (!e)
		log_warn("socket.again", "path=%s", d->config->store.socket);
	d->desk_shut = e;
}

void desk_open(struct daemon *d)
{
	struct err_detail why = { "" };
	enum err e = open_server(d, &why);

	if (e)
		tell(d, e, &why);
}

void desk_look(struct daemon *d, int64_t boot_ms)
{
	struct err_detail why = { "" };
	bool again = true;
	enum err e;

	if (boot_ms < d->desk_look_ms)
		return;
	d->desk_look_ms = boot_ms + SERVER_LOOK_MS;
	e = d->server ? server_look(d->server, &again, &why)
		      : open_server(d, &why);
	if (e || again)
		tell(d, e, &why);
}

void desk_close(struct daemon *d)
{
	server_close(d->server);
	d->server = NULL;
}
