#include "link_internal.h"

#include <errno.h>

/* A filter that the library refuses is sent to nobody. */
static enum err say_filter(struct link *l, const char *filter, int rc)
{
	if (mosquitto_socket(l->mosq) < 0)
		return link_down(l, rc, errno);
	return err_say(&l->report.why, ERR_CONFIG, "filter \"%s\": %s", filter,
		       rc == MOSQ_ERR_OVERSIZE_PACKET
			       ? "larger than the broker takes"
			       : "not a valid topic filter");
}

static int options(const struct link *l, enum retained r)
{
	if (l->bc->protocol != PROTOCOL_5)
		return 0;
	switch (r) {
	case RETAINED_IGNORE: return MQTT_SUB_OPT_SEND_RETAIN_NEVER;
	case RETAINED_HANDLE: return MQTT_SUB_OPT_SEND_RETAIN_ALWAYS;
	}
	return 0;
}

/* One packet each: options and answers then belong to one filter. */
enum err link_subscribe(struct link *l, const char *const *filters,
			const enum retained *retained, unsigned n)
{
	int *mids, rc;

	if (l->state != LINK_CONNECTED)
		return ERR_LINK;
	mids = calloc(n ? n : 1, sizeof(*mids));
	if (!mids)
		return ERR_NOMEM;
	free(l->mids);
	l->mids = mids;
	l->mids_len = n;
	for (unsigned i = 0; i < n; i++) {
		rc = mosquitto_subscribe_v5(l->mosq, &mids[i], filters[i], 1,
					    options(l, retained[i]), NULL);
		if (rc)
			return say_filter(l, filters[i], rc);
	}
	return OK;
}

enum err link_unsubscribe(struct link *l, const char *const *filters,
			  unsigned n)
{
	int rc;

	if (l->state != LINK_CONNECTED)
		return ERR_LINK;
	for (unsigned i = 0; i < n; i++) {
		rc = mosquitto_unsubscribe(l->mosq, NULL, filters[i]);
		if (rc)
			return say_filter(l, filters[i], rc);
	}
	return OK;
}

void on_suback(struct mosquitto *m UNUSED, void *arg, int mid, int n,
	       const int *granted, const mosquitto_property *props UNUSED)
{
	struct link *l = arg;

	for (unsigned i = 0; n > 0 && i < l->mids_len; i++) {
		if (l->mids[i] != mid)
			continue;
		l->mids[i] = 0;
		if (l->ev->on_suback)
			l->ev->on_suback(l->ev->arg, i, granted[0]);
		break;
	}
	errno = 0;
}
