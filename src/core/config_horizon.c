#include <inttypes.h>

#include "base/parse.h"
#include "config_internal.h"

int64_t config_notice_ms(const struct config *c)
{
	return c->broker.keepalive_ms + c->broker.keepalive_ms / 2;
}

int64_t config_known_horizon_ms(const struct config *c)
{
	return c->broker.session_expiry_ms + config_notice_ms(c);
}

const char *config_long_text(char buf[CONFIG_LONG_TEXT], int64_t ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = { { "d", 86400000 },
		      { "h", 3600000 },
		      { "m", 60000 },
		      { "s", 1000 },
		      { "ms", 1 } };
	size_t len = 0;

	strcpy(buf, "0");
	for (unsigned i = 0; i < ARRAY_LEN(units); i++) {
		if (ms >= units[i].ms)
			len += (size_t)snprintf(
				buf + len, CONFIG_LONG_TEXT - len,
				"%" PRId64 "%s", ms / units[i].ms,
				units[i].name);
		ms %= units[i].ms;
	}
	return buf;
}

const char *config_sum_text(char buf[CONFIG_SUM_TEXT], const struct config *c,
			    const struct group_config *g)
{
	int64_t rest = g->redelivery_horizon_ms - config_known_horizon_ms(c);
	char expiry[PARSE_TEXT_SIZE], notice[CONFIG_LONG_TEXT],
		other[CONFIG_LONG_TEXT];

	duration_text(expiry, c->broker.session_expiry_ms);
	config_long_text(notice, config_notice_ms(c));
	if (rest < 0)
		snprintf(buf, CONFIG_SUM_TEXT,
			 "less than session_expiry %s + %s to notice a lost "
			 "connection",
			 expiry, notice);
	else
		snprintf(buf, CONFIG_SUM_TEXT,
			 "session_expiry %s + %s to notice a lost connection + "
			 "%s for producers, bridges and replays",
			 expiry, notice, config_long_text(other, rest));
	return buf;
}
