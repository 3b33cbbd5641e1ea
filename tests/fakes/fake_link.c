#include "fake_link.h"

#include <stdlib.h>
#include <string.h>

struct link {
	struct link_events events;
	struct link_report report;
	enum link_state state;
};

struct fake_broker fake_broker;

void fake_broker_reset(void)
{
	memset(&fake_broker, 0, sizeof(fake_broker));
}

int fake_publish(const struct event *ev)
{
	struct fake_broker *b = &fake_broker;

	b->queue[b->len] = *ev;
	b->number[b->len] = (int)b->len + 1;
	return b->number[b->len++];
}

struct link *fake_connect(const struct link_events *ev)
{
	struct link *l = calloc(1, sizeof(*l));

	l->events = *ev;
	l->state = LINK_CONNECTED;
	return l;
}

enum err link_read(struct link *l, unsigned max, size_t max_bytes)
{
	struct fake_broker *b = &fake_broker;
	unsigned n = b->window ? b->window : max;

	(void)max_bytes;
	b->reads++;
	if (b->on_read)
		b->locked_read = b->on_read();
	for (unsigned i = 0; i < n && b->next < b->len; i++) {
		b->owed++;
		l->events.on_delivery(l->events.arg, &b->queue[b->next++]);
	}
	return b->read_result;
}

enum err link_flush(struct link *l)
{
	struct fake_broker *b = &fake_broker;

	(void)l;
	if (b->owed && b->on_flush)
		b->on_flush();
	for (; b->owed; b->owed--)
		b->acked[b->acked_len++] = b->number[b->next - b->owed];
	return OK;
}

/* Nothing is sent: what is owed will be delivered again. */
void link_free(struct link *l)
{
	struct fake_broker *b = &fake_broker;

	if (!l)
		return;
	b->drops++;
	b->next -= b->owed;
	b->owed = 0;
	free(l);
}

enum err link_library_init(void)
{
	return OK;
}

void link_library_fini(void)
{
}

enum err link_open(const struct broker_config *bc,
		   const struct link_address *addr, unsigned receive_maximum,
		   int64_t max_payload, const struct link_events *ev,
		   struct link **ret_l, struct err_detail *why)
{
	(void)bc, (void)addr, (void)receive_maximum, (void)max_payload;
	if (fake_broker.refuse) {
		fake_broker.refused++;
		return err_say(why, ERR_LINK, "refused");
	}
	*ret_l = fake_connect(ev);
	return OK;
}

enum link_state link_state(const struct link *l)
{
	return l->state;
}

const struct link_report *link_report(const struct link *l)
{
	return &l->report;
}

int link_fd(const struct link *l)
{
	(void)l;
	return -1;
}

short link_interest(const struct link *l)
{
	(void)l;
	return 0;
}

bool link_has_buffered(const struct link *l)
{
	(void)l;
	return false;
}

enum err link_tick(struct link *l)
{
	(void)l;
	return OK;
}

enum err link_subscribe(struct link *l, const char *const *filters,
			const enum retained *retained, unsigned n)
{
	(void)l, (void)filters, (void)retained, (void)n;
	fake_broker.subscribes++;
	return OK;
}

enum err link_unsubscribe(struct link *l, const char *const *filters,
			  unsigned n)
{
	(void)l, (void)filters, (void)n;
	return OK;
}

void link_disconnect(struct link *l)
{
	l->state = LINK_DOWN;
}

const char *link_library_versions(void)
{
	return "none";
}
