#include "switched.h"

#include <signal.h>
#include <stdio.h>

#include "test.h"

#define SCHEMA								\
	"CREATE TABLE effect (n INTEGER PRIMARY KEY, id TEXT, body TEXT) STRICT;" \
	"CREATE TABLE switch (broken INTEGER) STRICT; INSERT INTO switch VALUES (1);"
#define HANDLER								\
	"INSERT INTO effect (id, body) VALUES (:event_id, :payload);"	\
	"SELECT reject(coalesce(:payload ->> 'type', 'broken'))"		\
	" FROM switch WHERE broken"					\
	" AND :payload ->> 'k' IS 'bad';"				\
	"UPDATE switch SET broken = 0 WHERE :event_id = 'mend';"
#define GROUP								\
	"[group g]\nsubscribe = t/#\nid = payload:$.id\nhandler = sql:@H\n" \
	"redelivery_horizon = 3h\nttl = 24h\n"

struct gateway *switched_new(void)
{
	struct gateway *g = gateway_new(&(struct gateway_options){
		.groups = GROUP, .schema = SCHEMA, .handler = HANDLER,
		.broker = "reconnect_max = 1s\n" });

	signal(SIGPIPE, SIG_IGN);
	gateway_up(g);
	return g;
}

void switched_bury(struct gateway *g, int n)
{
	static char text[2000][48];
	static const char *list[2000];

	for (int i = 0; i < n; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "{\"id\":\"b%d\",\"k\":\"bad\"}", i);
		list[i] = text[i];
	}
	gateway_publish(g, "t", list, (unsigned)n);
	gateway_wait(g, "SELECT count(*) FROM once_dead_letter", n, 10000);
}

void switched_mend(struct gateway *g)
{
	const char *payload = "{\"id\":\"mend\"}";

	gateway_publish(g, "t", &payload, 1);
	gateway_wait(g, "SELECT count(*) FROM switch WHERE broken = 0", 1,
		     10000);
}
