/* What several statements share: the four generations, columns, conditions. */
#ifndef STORE_PARTS_H
#define STORE_PARTS_H

#define MARKER_FIND(n)							\
	[STMT_MARKER_FIND_##n] = { 1, 4,				\
		"SELECT state, fingerprint, recipe, at_s"		\
		" FROM once_marker_" #n " WHERE key = ?1" }

#define MARKER_PUT(n)							\
	[STMT_MARKER_PUT_##n] = { 6, 0,					\
		"INSERT INTO once_marker_" #n				\
		" (key, fingerprint, state, recipe, at_s)"		\
		" VALUES (?1, ?2, ?3, ?4, ?5)"				\
		" ON CONFLICT (key) DO UPDATE SET"			\
		" fingerprint = ?2, state = ?3, recipe = ?4, at_s = ?5"	\
		" WHERE at_s <= ?6" }

#define MARKER_DRAIN(n)							\
	[STMT_MARKER_DRAIN_##n] = { 1, 0,				\
		"DELETE FROM once_marker_" #n " WHERE key IN (SELECT key" \
		" FROM once_marker_" #n " ORDER BY key LIMIT ?1)" }

#define MARKER_COUNT(n)							\
	[STMT_MARKER_COUNT_##n] = { 0, 1,				\
		"SELECT count(*) FROM once_marker_" #n }

#define MARKER_FORGET(n)						\
	[STMT_MARKER_FORGET_##n] = { 1, 0,				\
		"DELETE FROM once_marker_" #n " WHERE key = ?1" }

/* A replay's payload stays in its letter; a mended one in the job's item. */
#define PENDING_COLUMNS							\
	"p.id, p.group_no, p.tenant, p.event_id, p.key, p.fingerprint,"	\
	" p.recipe, p.topic, iif(p.letter_id IS NULL, p.payload,"	\
	" coalesce(i.payload, l.payload)), p.content_type,"		\
	" p.correlation, p.properties, p.qos, p.retain,"		\
	" p.received_wall_ms, p.received_sync, p.attempts, p.crashes,"	\
	" p.window_start_ms, p.due_ms, p.first_type, p.last_type,"		\
	" p.letter_id, p.job_id, p.runs, p.epoch"
#define PENDING_FROM							\
	" FROM once_pending AS p"					\
	" LEFT JOIN once_dead_letter AS l ON l.id = p.letter_id"	\
	" LEFT JOIN once_job_item AS i"					\
	" ON i.job_id = p.job_id AND i.letter_id = p.letter_id"

#define LETTER_COLUMNS							\
	"l.id, g.name, l.tenant, l.event_id, l.key, l.fingerprint,"	\
	" l.kind, l.first_type, l.last_type, l.attempts, l.redeliveries," \
	" l.state, l.first_seen_ms, l.first_seen_wall_ms, l.dead_ms,"	\
	" l.dead_wall_ms, l.dead_sync, l.topic, l.payload_bytes,"	\
	" l.content_type, l.properties, l.qos, l.retain, l.replays,"	\
	" l.pulled_as"

#define LETTER_WHERE							\
	" WHERE l.id < ?1 AND l.id >= ?2 AND (?3 = 0 OR l.group_no = ?3)" \
	" AND (?4 IS NULL OR l.tenant = ?4)"				\
	" AND (?5 IS NULL OR l.kind = ?5)"				\
	" AND (?6 IS NULL OR l.last_type = ?6)"				\
	" AND (?7 IS NULL OR l.state = ?7)"				\
	" AND (?8 IS NULL OR l.event_id = ?8)"				\
	" AND (?9 = 0 OR l.dead_wall_ms >= ?9)"				\
	" AND (?10 = 0 OR l.dead_wall_ms < ?10)"			\
	" AND (?11 = 0 OR l.id = ?11)"

#define JOB_COLUMNS							\
	"j.id, j.state, j.what, j.uid, j.rate, j.stop_after, j.made_ms,"	\
	" j.made_wall_ms, j.done, j.failed, j.suppressed,"		\
	" (SELECT count(*) FROM once_job_item AS i WHERE i.job_id = j.id"	\
	"  AND i.state = 'waiting'),"					\
	" (SELECT count(*) FROM once_job_item AS i WHERE i.job_id = j.id"	\
	"  AND i.state = 'running'),"					\
	" (SELECT count(*) FROM once_job_item AS i WHERE i.job_id = j.id"	\
	"  AND i.state = 'cancelled')"

#endif
