#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "act.h"
#include "base/clock.h"
#include "store/owner.h"
#include "store/store.h"
#include "table.h"

/* options */

/* Whether @name is in the blank-separated @list; *ret_value: it takes one. */
static bool listed(const char *list, const char *name, bool *ret_value)
{
	size_t n = strlen(name);

	for (const char *p = list; p && *p; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (strncmp(p, name, n) ||
		    (p[n] && p[n] != ' ' && p[n] != '='))
			continue;
		*ret_value = p[n] == '=';
		return true;
	}
	return false;
}

enum err ask_set(struct ask *k, const char *name, const char *value,
		 struct err_detail *why)
{
	if (k->options_len == ASK_OPTIONS)
		return err_say(why, ERR_USAGE, "too many options");
	k->option[k->options_len].name = name;
	k->option[k->options_len++].value = value;
	return OK;
}

const char *ask_get(const struct ask *k, const char *name)
{
	for (unsigned i = 0; i < k->options_len; i++)
		if (!strcmp(k->option[i].name, name))
			return k->option[i].value;
	return NULL;
}

void ask_unset(struct ask *k, const char *name)
{
	for (unsigned i = 0; i < k->options_len; i++)
		if (!strcmp(k->option[i].name, name))
			k->option[i] = k->option[--k->options_len];
}

static bool take_format(struct ask *k, const char *name)
{
	if (!strcmp(name, "json"))
		k->format = ASK_JSON;
	else if (!strcmp(name, "ndjson"))
		k->format = ASK_NDJSON;
	else if (!strcmp(name, "csv"))
		k->format = ASK_CSV;
	else if (!strcmp(name, "utc"))
		k->utc = true;
	else
		return false;
	return true;
}

/* Said before: a letter named twice is one letter. */
static bool has_word(const struct ask *k, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = k->words; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");

		if (n == len && !memcmp(p, word, n))
			return true;
		p += n;
	}
	return false;
}

static enum err take_word(struct ask *k, const char *word,
			  struct err_detail *why)
{
	size_t n = strlen(k->words);

	if (k->spec->words && !strcmp(k->spec->words, "ids") &&
	    has_word(k, word))
		return OK;
	if (!k->spec->words)
		return err_say(why, ERR_USAGE, "unexpected word \"%s\"; see "
			       "`mqonce help %s`", word, k->spec->act);
	if (n + strlen(word) + 2 > sizeof(k->words))
		return err_say(why, ERR_USAGE, "too many words");
	snprintf(k->words + n, sizeof(k->words) - n, "%s%s", n ? "," : "",
		 word);
	return OK;
}

static enum err take_options(struct ask *k, const struct command_args *a,
			     struct err_detail *why)
{
	enum err e = OK;

	for (int i = 0; !e && i < a->argc; i++) {
		const char *arg = a->argv[i];
		bool value = false;

		if (!strcmp(arg, "-q"))
			arg = "--quiet";
		if (arg[0] != '-' || !arg[1]) {
			e = take_word(k, arg, why);
		} else if (arg[1] != '-') {
			e = err_say(why, ERR_USAGE, "unknown option %s; see "
				    "`mqonce help %s`", arg, k->spec->act);
		} else if (take_format(k, arg + 2)) {
			continue;
		} else if (!listed(k->spec->options, arg + 2, &value)) {
			e = err_say(why, ERR_USAGE, "unknown option %s; see "
				    "`mqonce help %s`", arg, k->spec->act);
		} else if (value && i + 1 == a->argc) {
			e = err_say(why, ERR_USAGE, "%s needs a value", arg);
		} else {
			e = ask_set(k, arg + 2, value ? a->argv[++i] : "", why);
		}
	}
	if (!e && *k->words)
		e = ask_set(k, k->spec->words, k->words, why);
	return e;
}

enum err ask_open(struct ask *k, const struct ask_spec *spec,
		  const struct command_args *a, struct err_detail *why)
{
	enum err e;

	*k = (struct ask){ .spec = spec, .writes = spec->writes };
	e = take_options(k, a, why);
	if (!e)
		e = cmd_load_config(a, &k->config, why);
	return e;
}

void ask_close(struct ask *k)
{
	table_free(k->table);
	config_free(k->config);
}

/* the request */

static char *build_request(const struct ask *k, size_t *ret_len)
{
	char *buf = malloc(ACT_REQUEST_MAX);
	size_t n = 0;
	bool ok = buf;

	if (ok)
		n = (size_t)snprintf(buf, ACT_REQUEST_MAX, "{\"command\":");
	ok = ok && json_put_string(buf, ACT_REQUEST_MAX - 8, &n,
				   span_str(k->spec->act));
	for (unsigned i = 0; ok && i < k->options_len; i++) {
		buf[n++] = ',';
		ok = json_put_string(buf, ACT_REQUEST_MAX - 8, &n,
				     span_str(k->option[i].name));
		buf[n++] = ':';
		ok = ok && json_put_string(buf, ACT_REQUEST_MAX - 8, &n,
					   span_str(k->option[i].value));
	}
	if (!ok) {
		free(buf);
		return NULL;
	}
	buf[n++] = '}';
	*ret_len = n;
	return buf;
}

/* the answer */

static enum err from_status(int64_t status)
{
	for (int e = OK; e <= ERR_CONFIG; e++)
		if (err_exit_status(e) == status)
			return e;
	return ERR_BUG;
}

/* *ret_end: this line was the last one, and its error is returned. */
static enum err take_line(struct ask *k, struct span line, bool *ret_end,
			  struct err_detail *why)
{
	struct json_value row, v;
	char text[sizeof(why->text)];
	enum err e;

	*ret_end = false;
	if (!json_valid(line) || !json_find(line, span_str("$"), &row))
		return err_say(why, ERR_LINK, "the daemon's answer cannot be "
			       "read; it may be of another version");
	if (!ask_field(row, "end", &v)) {
		k->rows++;
		return ask_print_row(k, line);
	}
	*ret_end = true;
	e = from_status(ask_number(row, "status"));
	if (e)
		err_say(why, e, "%s",
			ask_text(row, "error", text, sizeof(text)).data
				? text : err_text(e));
	return e;
}

static int connect_to(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), saved;

	if (fd < 0)
		return fd;
	errno = ENAMETOOLONG;		/* no owner listens there either */
	if (strlen(path) < sizeof(sa.sun_path)) {
		strcpy(sa.sun_path, path);
		if (!connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
			return fd;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static enum err read_answer(struct ask *k, FILE *f, struct err_detail *why)
{
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	ssize_t n;
	bool end = false;

	while ((n = getline(&line, &size, f)) > 0) {
		enum err e = take_line(k, span_of(line, (size_t)n - 1), &end,
				       why);

		if (e || end)
			return e;
	}
	return err_say(why, ERR_LINK, "the daemon ended before its answer did; "
		       "ask again");
}

static enum err ask_owner(struct ask *k, int fd, const char *request,
			  size_t len, struct err_detail *why)
{
	FILE *f = fdopen(fd, "r+");
	enum err e;

	if (!f) {
		close(fd);
		return err_say(why, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	}
	if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len ||
	    send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
		e = err_say(why, ERR_PERM, "the daemon does not let this user "
			    "in; be root or the daemon's user");
	else
		e = read_answer(k, f, why);
	fclose(f);
	return e;
}

/* without an owner */

static enum err act_here(struct ask *k, struct store *st, const char *request,
			 size_t len, struct err_detail *why)
{
	AUTO_FREE char *page = malloc(ASK_LINE_MAX);
	struct act *a = NULL;
	bool more = true, end = false;
	enum err e = act_new(span_of(request, len), &a, why);

	while (!e && more && page) {
		const struct act_context c = {
			.store = st, .config = k->config, .uid = getuid(),
			.boot_ms = clock_boot_ms(),
		};
		struct span rest, line;
		struct rows out;

		rows_init(&out, page, ASK_LINE_MAX);
		act_run(a, &c, &out, &more);
		rest = span_of(page, out.len);
		while (!e && rest.len) {
			line = span_cut(rest, '\n', &rest);
			e = take_line(k, line, &end, why);
		}
	}
	act_free(a);
	return e;
}

/* Somebody owns the store, and nobody answers at the socket. */
static enum err say_who_owns(const struct ask *k, struct err_detail *why)
{
	const char *path = k->config->store.path;
	char text[512];
	pid_t pid;

	owner_look(path, &pid, text, sizeof(text));
	if (!pid)
		return ERR_BUSY;	/* it was somebody else in the way */
	if (!*text)
		return err_say(why, ERR_BUSY, "%s: another command (pid %d) is "
			       "at work; ask again", path, (int)pid);
	return err_say(why, ERR_BUSY, "%s: the daemon (pid %d) owns it, but "
		       "does not answer at %s; it looks for its socket each "
		       "second: ask again, and if it stays so, see "
		       "socket.failed in its log", path, (int)pid,
		       k->config->store.socket);
}

static enum err ask_here(struct ask *k, const char *request, size_t len,
			 struct err_detail *why)
{
	const struct store_options o = {
		.path = k->config->store.path,
		.max_size = k->writes ? k->config->store.max_size : 0,
		.secure_delete = k->config->store.secure_delete,
	};
	struct store *st = NULL;
	enum err e = store_open(&o, k->writes ? STORE_OWNER
						    : STORE_READER, &st, why);

	if (e == ERR_BUSY && k->writes)
		e = say_who_owns(k, why);
	if (!e)
		e = act_here(k, st, request, len, why);
	/* If it cannot be said, the next owner is careful for nothing. */
	if (st && k->spec->writes && store_last_end(st) == STORE_STOPPED)
		(void)!store_clean_put(st, clock_boot_ms());
	store_close(st);
	return e;
}

enum err ask_send(struct ask *k, struct err_detail *why)
{
	AUTO_FREE char *request = NULL;
	size_t len = 0;
	enum err e;
	int fd;

	request = build_request(k, &len);
	if (!request)
		return err_say(why, ERR_USAGE, "the request is too large");
	errno = 0;
	fd = k->here ? -1 : connect_to(k->config->store.socket);
	k->owned = fd >= 0;
	if (fd >= 0)
		e = ask_owner(k, fd, request, len, why);
	else if (errno == EACCES)
		e = err_say(why, ERR_PERM, "%s: %s; be root or the daemon's "
			    "user", k->config->store.socket, err_system(errno));
	else
		e = ask_here(k, request, len, why);
	if (!e)
		ask_print_end(k);
	return e;
}

enum err ask_run(const struct ask_spec *spec, const struct command_args *a,
		 struct err_detail *why)
{
	struct ask k;
	enum err e = ask_open(&k, spec, a, why);

	if (!e)
		e = ask_send(&k, why);
	ask_close(&k);
	return e;
}
