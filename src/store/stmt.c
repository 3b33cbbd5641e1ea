/* Every statement there is, and their preparation. */
#include "database.h"
#include "parts.h"

static const struct {
	int params, cols;	/* checked at open: drift fails there, not later */
	const char *sql;
} specs[STMT_COUNT] = {
	[STMT_BEGIN]		= { 0, 0, "BEGIN IMMEDIATE" },
	[STMT_COMMIT]		= { 0, 0, "COMMIT" },
	[STMT_ROLLBACK]		= { 0, 0, "ROLLBACK" },
	[STMT_EVENT_BEGIN]	= { 0, 0, "SAVEPOINT once_event" },
	[STMT_EVENT_KEEP]	= { 0, 0, "RELEASE once_event" },
	[STMT_EVENT_UNDO]	= { 0, 0, "ROLLBACK TO once_event" },
	[STMT_DATA_VERSION]	= { 0, 1, "PRAGMA data_version" },
	[STMT_PAGE_COUNT]	= { 0, 1, "PRAGMA page_count" },
	[STMT_FREE_COUNT]	= { 0, 1, "PRAGMA freelist_count" },

	[STMT_META_GET] = { 0, 8,
		"SELECT hash_seed, epoch, boot_id, store_ms, clock_boot_ms,"
		" clean, coalesce(copied_wall_ms, 0), barren_deaths"
		" FROM once_meta WHERE one = 1" },

	[STMT_META_EPOCH] = { 4, 0,
		"UPDATE once_meta SET epoch = epoch + 1, boot_id = ?1,"
		" store_ms = ?2, clock_boot_ms = ?3, barren_deaths = ?4,"
		" clean = 0,"
		" copied_wall_ms = NULL WHERE one = 1" },

	[STMT_META_CLEAN] = { 2, 0,
		"UPDATE once_meta SET clean = 1, store_ms = ?1,"
		" clock_boot_ms = ?2 WHERE one = 1 AND clean = 0" },

	[STMT_META_CLOCK] = { 2, 0,
		"UPDATE once_meta SET store_ms = ?1, clock_boot_ms = ?2"
		" WHERE one = 1" },

	[STMT_META_FRUITFUL] = { 0, 0,
		"UPDATE once_meta SET barren_deaths = 0 WHERE one = 1" },

	/* A write that changes nothing but goes all the way to the disk. */
	[STMT_PROBE] = { 0, 0,
		"UPDATE once_meta SET epoch = epoch WHERE one = 1" },

	[STMT_GROUP_GET] = { 1, 10,
		"SELECT group_no, recipe, id_text, tenant_text,"
		" fingerprint_text, ttl_ms, vouches_since_ms, paused,"
		" open_since_ms, open_total_ms FROM once_group WHERE name = ?1" },

	[STMT_GROUP_NEW] = { 6, 1,
		"INSERT INTO once_group (name, recipe, id_text, tenant_text,"
		" fingerprint_text, ttl_ms, vouches_since_ms)"
		" VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6) RETURNING group_no" },

	[STMT_GROUP_SET] = { 7, 0,
		"UPDATE once_group SET recipe = ?2, id_text = ?3,"
		" tenant_text = ?4, fingerprint_text = ?5, ttl_ms = ?6,"
		" vouches_since_ms = ?7 WHERE group_no = ?1" },

	[STMT_GROUP_PAUSE] = { 2, 0,
		"UPDATE once_group SET paused = ?2"
		" WHERE group_no = ?1 AND paused <> ?2" },

	[STMT_GROUP_BREAKER] = { 4, 0,
		"UPDATE once_group SET open_since_ms = ?2, open_total_ms = ?3"
		" WHERE group_no = ?1 AND open_since_ms IS ?4" },

	[STMT_GROUP_HAS_RECORDS] = { 1, 1,
		"SELECT EXISTS (SELECT 1 FROM once_pending WHERE group_no = ?1)"
		" OR EXISTS (SELECT 1 FROM once_dead_letter"
		" WHERE group_no = ?1) OR EXISTS (SELECT 1 FROM once_counter"
		" WHERE group_no = ?1 AND markers > 0) AND"
		" (SELECT sum(markers) FROM once_counter) > 0" },

	[STMT_GROUP_LONGEST_TTL] = { 0, 1,
		"SELECT coalesce(max(ttl_ms), 0) FROM once_group" },

	[STMT_GROUP_RENAME] = { 2, 0,
		"UPDATE once_group SET name = ?2 WHERE group_no = ?1" },

	[STMT_GROUP_DROP] = { 1, 0,
		"DELETE FROM once_group WHERE group_no = ?1" },

	MARKER_FIND(0), MARKER_FIND(1), MARKER_FIND(2), MARKER_FIND(3),
	MARKER_PUT(0), MARKER_PUT(1), MARKER_PUT(2), MARKER_PUT(3),
	MARKER_FORGET(0), MARKER_FORGET(1), MARKER_FORGET(2),
	MARKER_FORGET(3),
	MARKER_COUNT(0), MARKER_COUNT(1), MARKER_COUNT(2), MARKER_COUNT(3),
	MARKER_DRAIN(0), MARKER_DRAIN(1), MARKER_DRAIN(2), MARKER_DRAIN(3),

	[STMT_GENERATIONS] = { 0, 5,
		"SELECT generation, state, opened_ms, closed_ms, position"
		" FROM once_generation ORDER BY position DESC" },

	[STMT_GENERATION_CLOSE] = { 2, 0,
		"UPDATE once_generation SET state = 'closed', closed_ms = ?2"
		" WHERE generation = ?1 AND state = 'active'" },

	[STMT_GENERATION_OPEN] = { 3, 0,
		"UPDATE once_generation SET state = 'active', opened_ms = ?2,"
		" position = ?3 WHERE generation = ?1 AND state = 'empty'" },

	[STMT_GENERATION_EMPTY] = { 1, 0,
		"UPDATE once_generation SET state = 'empty', opened_ms = 0,"
		" closed_ms = 0, position = 0"
		" WHERE generation = ?1 AND state = 'closed'" },

	[STMT_RECORDS_EXIST] = { 0, 2,
		"SELECT EXISTS (SELECT 1 FROM once_dead_letter),"
		" EXISTS (SELECT 1 FROM once_pending)" },

	[STMT_LETTER_OF] = { 1, 5,
		"SELECT id, fingerprint, recipe, state, dead_ms"
		" FROM once_dead_letter WHERE key = ?1" },

	[STMT_PENDING_OF] = { 1, 2,
		"SELECT fingerprint, recipe FROM once_pending WHERE key = ?1" },

	[STMT_PENDING_PUT] = { 24, 1,
		"INSERT INTO once_pending (group_no, tenant, event_id, key,"
		" fingerprint, recipe, topic, payload, content_type,"
		" correlation, properties, qos, retain, received_wall_ms,"
		" received_sync, attempts, crashes, window_start_ms, due_ms, epoch,"
		" first_type, last_type, runs, order_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
		" ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,"
		" ?20, ?21, ?22, ?23, ?24) RETURNING id" },

	[STMT_PENDING_WAIT] = { 8, 0,
		"UPDATE once_pending SET attempts = ?2, window_start_ms = ?3,"
		" due_ms = ?4, epoch = ?5, first_type = ?6, last_type = ?7,"
		" runs = ?8, claimed = 0 WHERE id = ?1 AND runs = ?8 - 1" },

	[STMT_PENDING_ADVANCE] = { 2, 0,
		"UPDATE once_pending SET due_ms = ?2"
		" WHERE id = ?1 AND due_ms >= ?2" },

	[STMT_PENDING_CLAIM] = { 2, 0,
		"UPDATE once_pending SET claimed = ?2"
		" WHERE id = ?1 AND claimed IN (0, ?2)" },

	[STMT_PENDING_RELEASE] = { 1, 0,
		"UPDATE once_pending SET crashes = crashes + ?1, claimed = 0"
		" WHERE claimed <> 0" },

	[STMT_PENDING_DROP] = { 1, 0,
		"DELETE FROM once_pending WHERE id = ?1" },

	[STMT_PENDING_DUE] = { 3, 26,
		"SELECT " PENDING_COLUMNS PENDING_FROM
		" WHERE p.group_no = ?1 AND p.due_ms <= ?2"
		" ORDER BY p.due_ms LIMIT ?3" },

	[STMT_PENDING_AFTER] = { 3, 26,
		"SELECT " PENDING_COLUMNS PENDING_FROM
		" WHERE p.group_no = ?1 AND (p.due_ms, p.id) > (?2, ?3)"
		" ORDER BY p.due_ms, p.id LIMIT 1" },

	[STMT_PENDING_LOAD] = { 1, 26,
		"SELECT " PENDING_COLUMNS PENDING_FROM " WHERE p.id = ?1" },

	[STMT_PENDING_SCAN] = { 2, 8,
		"SELECT id, group_no, key, attempts, crashes, window_start_ms,"
		" due_ms, letter_id FROM once_pending WHERE id > ?1"
		" ORDER BY id LIMIT ?2" },

	[STMT_PENDING_NEXT] = { 1, 1,
		"SELECT min(due_ms) FROM once_pending WHERE group_no = ?1" },

	[STMT_PENDING_TOTALS] = { 1, 2,
		"SELECT count(*), coalesce(sum(length(payload)"
		" + length(CAST(topic AS BLOB))"
		" + (SELECT coalesce(sum(length(CAST(p.value ->> 0 AS BLOB))"
		" + length(CAST(p.value ->> 1 AS BLOB))), 0)"
		" FROM json_each(properties) AS p)), 0)"
		" FROM once_pending WHERE group_no = ?1"
		" AND letter_id IS NULL" },

	[STMT_ATTEMPT_PUT] = { 9, 0,
		"INSERT INTO once_attempt (key, fingerprint, n, started_ms,"
		" started_wall_ms, took_ms, outcome, error_type, epoch)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)" },

	[STMT_ATTEMPT_TRIM] = { 4, 0,
		"DELETE FROM once_attempt WHERE key = ?1 AND fingerprint = ?2"
		" AND n > ?3 AND n <= ?4" },

	[STMT_ATTEMPT_SWEEP] = { 2, 0,
		"DELETE FROM once_attempt WHERE (key, fingerprint) IN ("
		" SELECT key, fingerprint FROM once_attempt"
		" WHERE outcome = 'ok' AND started_ms < ?1"
		" ORDER BY started_ms LIMIT ?2)" },

	[STMT_ATTEMPT_COUNT_OLD] = { 1, 1,
		"SELECT count(*) FROM once_attempt"
		" WHERE outcome = 'ok' AND started_ms < ?1" },

	[STMT_ATTEMPT_LIST] = { 2, 6,
		"SELECT n, started_ms, started_wall_ms, took_ms, outcome,"
		" error_type FROM once_attempt"
		" WHERE key = ?1 AND fingerprint = ?2 ORDER BY n" },

	[STMT_LETTER_PUT] = { 26, 0,
		"INSERT INTO once_dead_letter (group_no, tenant, event_id, key,"
		" fingerprint, recipe, kind, first_type, last_type, attempts,"
		" redeliveries, state, first_seen_ms, first_seen_wall_ms,"
		" dead_ms, dead_wall_ms, dead_sync, topic, payload,"
		" payload_bytes, payload_hash, content_type, correlation,"
		" properties, qos, retain, order_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
		" ?8, ?9, ?10, 0, 'open', ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
		" ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?26)"
		" ON CONFLICT (key, fingerprint) DO UPDATE SET"
		" recipe = ?6, kind = ?7, last_type = ?9, payload = ?17,"
		" payload_bytes = ?18, payload_hash = ?19,"
		" attempts = ?10, state = 'open', dead_ms = ?13,"
		" dead_wall_ms = ?14, dead_sync = ?15, order_key = ?26"
		" WHERE state IN ('resolved', 'discarded')"
		" AND dead_ms <= ?25" },

	[STMT_LETTER_COPY] = { 1, 0,
		"UPDATE once_dead_letter SET redeliveries = redeliveries + 1"
		" WHERE id = ?1" },

	/*
	 * Open ones from the index alone, for they are counted while events
	 * flow; the rows are read only where payloads have a limit.
	 */
	[STMT_LETTER_TOTALS] = { 2, 2,
		"SELECT (SELECT count(*) FROM once_dead_letter"
		"  INDEXED BY once_dead_letter_group"
		"  WHERE group_no = ?1 AND state = 'open'),"
		" iif(?2, (SELECT count(*) FROM once_dead_letter"
		"  INDEXED BY once_letter_open"
		"  WHERE group_no = ?1 AND state = 'open'"
		"  AND (payload IS NULL) = 0), 0)" },

	[STMT_LETTER_THIN] = { 2, 0,
		"UPDATE once_dead_letter SET payload = NULL WHERE id IN ("
		" SELECT id FROM once_dead_letter WHERE group_no = ?1"
		" AND state = 'open' AND (payload IS NULL) = 0"
		" AND NOT EXISTS (SELECT 1 FROM once_job_item AS i"
		" WHERE i.letter_id = once_dead_letter.id"
		" AND i.state IN ('waiting', 'running'))"
		" ORDER BY dead_ms LIMIT ?2)" },

	[STMT_LETTER_LIST] = { 12, 25,
		"SELECT " LETTER_COLUMNS " FROM once_dead_letter AS l"
		" JOIN once_group AS g USING (group_no)" LETTER_WHERE
		" ORDER BY l.id DESC LIMIT ?12" },

	[STMT_LETTER_SUMMARY] = { 11, 7,
		"SELECT g.name, l.kind, l.last_type, l.state, count(*),"
		" min(l.dead_wall_ms), max(l.dead_wall_ms)"
		" FROM once_dead_letter AS l"
		" JOIN once_group AS g USING (group_no)" LETTER_WHERE
		" GROUP BY g.name, l.kind, l.last_type, l.state" },

	[STMT_LETTER_RANGE] = { 0, 2,
		"SELECT coalesce((SELECT min(id) FROM once_dead_letter), 0),"
		" coalesce((SELECT max(id) FROM once_dead_letter), 0)" },

	[STMT_LETTER_OPEN] = { 2, 2,
		"SELECT count(*), coalesce(min(dead_ms), 0) FROM"
		" (SELECT dead_ms FROM once_dead_letter WHERE state = 'open'"
		" AND kind = ?1 ORDER BY dead_ms LIMIT ?2)" },

	[STMT_LETTER_MOVE] = { 5, 0,
		"UPDATE once_dead_letter SET state = ?3, changed_ms = ?4,"
		" changed_by = iif(?5 < 0, changed_by, ?5),"
		" replays = replays + (?3 = 'replaying'),"
		" pulled_as = iif(?3 = 'open', NULL, pulled_as)"
		" WHERE id = ?1 AND state = ?2" },

	[STMT_LETTER_PULLED] = { 2, 0,
		"UPDATE once_dead_letter SET pulled_as = ?2 WHERE id = ?1" },

	[STMT_LETTER_WITHDRAW] = { 1, 0,
		"UPDATE once_job_item SET state = 'cancelled'"
		" WHERE letter_id = ?1 AND state = 'waiting'" },

	[STMT_LETTER_REPLAYED] = { 3, 0,
		"UPDATE once_dead_letter SET attempts = ?3,"
		" last_type = coalesce(?2, last_type)"
		" WHERE id = ?1 AND state = 'replaying'" },

	[STMT_LETTER_IS_CONFLICT] = { 1, 1,
		"SELECT kind = 'conflict' FROM once_dead_letter"
		" WHERE id = ?1" },

	[STMT_LETTER_SCOPE] = { 1, 7,
		"SELECT l.key, l.fingerprint, l.recipe, l.kind, l.dead_ms,"
		" g.ttl_ms, group_no FROM once_dead_letter AS l"
		" JOIN once_group AS g USING (group_no)"
		" WHERE l.id = ?1 AND l.state = 'discarded'" },

	[STMT_LETTER_DROP] = { 2, 0,
		"DELETE FROM once_dead_letter WHERE id = ?1 AND state = ?2" },

	[STMT_LETTER_OLD] = { 2, 3,
		"SELECT id, key, fingerprint FROM once_dead_letter AS l"
		" WHERE state = 'resolved' AND changed_ms < ?1"
		" AND NOT EXISTS (SELECT 1 FROM once_job_item AS i"
		" WHERE i.letter_id = l.id AND i.state = 'running')"
		" ORDER BY changed_ms LIMIT ?2" },

	[STMT_LETTER_COUNT_OLD] = { 1, 1,
		"SELECT count(*) FROM once_dead_letter"
		" WHERE state = 'resolved' AND changed_ms < ?1" },

	[STMT_LETTER_OF_GROUP] = { 2, 3,
		"SELECT id, key, fingerprint FROM once_dead_letter"
		" WHERE group_no = ?1 ORDER BY id LIMIT ?2" },

	[STMT_LETTER_UNRESOLVED] = { 3, 2,
		"SELECT id, state <> 'resolved' FROM once_dead_letter"
		" WHERE group_no = ?1 AND id > ?2 ORDER BY id LIMIT ?3" },

	[STMT_LETTER_ITEMS_DROP] = { 1, 0,
		"DELETE FROM once_job_item WHERE letter_id = ?1"
		" AND state <> 'running'" },

	[STMT_LETTER_SHOW] = { 1, 28,
		"SELECT " LETTER_COLUMNS ", l.payload, l.correlation, l.group_no"
		" FROM once_dead_letter AS l"
		" JOIN once_group AS g USING (group_no) WHERE l.id = ?1" },

	[STMT_ORDER_GET] = { 1, 1,
		"SELECT value FROM once_order WHERE key = ?1" },

	[STMT_ORDER_PUT] = { 4, 0,
		"INSERT INTO once_order (key, group_no, value, at_ms)"
		" VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO UPDATE"
		" SET value = ?3, at_ms = ?4" },

	[STMT_ORDER_SLICE] = { 2, 2,
		"SELECT count(*), max(key) FROM (SELECT key FROM once_order"
		" WHERE key > ?1 ORDER BY key LIMIT ?2)" },

	[STMT_ORDER_SWEEP] = { 3, 0,
		"DELETE FROM once_order WHERE key > ?1 AND key <= ?2"
		" AND at_ms < ?3 AND NOT EXISTS (SELECT 1 FROM once_pending"
		" AS p WHERE p.order_key = once_order.key)"
		" AND NOT EXISTS (SELECT 1 FROM once_dead_letter AS l"
		" WHERE l.order_key = once_order.key"
		" AND l.state <> 'resolved')" },

	[STMT_PENDING_OF_KEY] = { 1, 10,
		"SELECT p.id, g.name, p.tenant, p.event_id, p.topic,"
		" length(p.payload), p.attempts, p.due_ms, p.last_type,"
		" p.received_wall_ms FROM once_pending AS p"
		" JOIN once_group AS g USING (group_no) WHERE p.key = ?1" },

	[STMT_PENDING_HURRY] = { 3, 1,
		"UPDATE once_pending SET due_ms = 0 WHERE id IN (SELECT id"
		" FROM once_pending WHERE id > ?1 AND (?2 = 0 OR group_no = ?2)"
		" ORDER BY id LIMIT ?3) RETURNING id" },

	[STMT_JOB_PUT] = { 6, 1,
		"INSERT INTO once_job (state, uid, made_ms, made_wall_ms, what,"
		" rate, stop_after) VALUES ('stopped', ?1, ?2, ?3, ?4, ?5, ?6)"
		" RETURNING id" },

	/* The unique index refuses a letter of another open job. */
	[STMT_JOB_ADD] = { 3, 0,
		"INSERT OR IGNORE INTO once_job_item (job_id, letter_id, state,"
		" payload) SELECT ?1, id, 'waiting', ?3 FROM once_dead_letter"
		" WHERE id = ?2 AND state = 'open'"
		" AND (payload IS NOT NULL OR ?3 IS NOT NULL)"
		" AND EXISTS (SELECT 1 FROM once_job AS j"
		" WHERE j.id = ?1 AND j.state = 'stopped')" },

	[STMT_JOB_HAS] = { 1, 1,
		"SELECT EXISTS (SELECT 1 FROM once_job_item WHERE letter_id = ?1"
		" AND state IN ('waiting', 'running'))" },

	[STMT_JOB_ITEM_MOVE] = { 4, 0,
		"UPDATE once_job_item SET state = ?4"
		" WHERE job_id = ?1 AND letter_id = ?2 AND state = ?3" },

	[STMT_JOB_PENDING_PUT] = { 4, 0,
		"INSERT INTO once_pending (group_no, tenant, event_id, key,"
		" fingerprint, recipe, topic, payload, content_type,"
		" correlation, properties, qos, retain, received_wall_ms,"
		" received_sync, attempts, crashes, window_start_ms, due_ms, epoch,"
		" first_type, last_type, letter_id, job_id, order_key, runs)"
		" SELECT group_no, tenant, coalesce(event_id, ''), key,"
		" fingerprint, recipe, topic, x'', content_type, correlation,"
		" properties, qos, retain, first_seen_wall_ms, dead_sync,"
		" attempts, 0, ?3, 0, ?4, first_type, last_type, id, ?1,"
		" order_key, (SELECT coalesce(max(n), 0) FROM once_attempt AS a"
		" WHERE a.key = l.key AND a.fingerprint = l.fingerprint)"
		" FROM once_dead_letter AS l WHERE id = ?2 AND state = 'replaying'" },

	[STMT_JOB_COUNT] = { 4, 0,
		"UPDATE once_job SET done = done + ?2, failed = failed + ?3,"
		" suppressed = suppressed + ?4 WHERE id = ?1" },

	[STMT_JOB_STOP] = { 1, 0,
		"UPDATE once_job SET state = 'stopped' WHERE id = ?1"
		" AND state = 'running' AND stop_after > 0"
		" AND failed >= stop_after" },

	[STMT_JOB_MOVE] = { 4, 0,
		"UPDATE once_job SET state = ?3, ended_ms = ?4,"
		" stop_after = iif(?3 = 'running' AND failed > 0, 0,"
		" stop_after)"
		" WHERE id = ?1 AND (state = ?2"
		" OR (?3 = 'cancelled' AND state = 'stopped'))" },

	[STMT_JOB_FINISH] = { 2, 0,
		"UPDATE once_job SET state = 'done', ended_ms = ?2"
		" WHERE id = ?1 AND state = 'running' AND NOT EXISTS"
		" (SELECT 1 FROM once_job_item"
		"  INDEXED BY once_job_item_waiting WHERE job_id = ?1"
		"  AND state = 'waiting') AND NOT EXISTS"
		" (SELECT 1 FROM once_job_item"
		"  INDEXED BY once_job_item_running WHERE job_id = ?1"
		"  AND state = 'running')" },

	[STMT_JOB_CANCEL_LETTERS] = { 2, 0,
		"UPDATE once_dead_letter SET state = 'open', changed_ms = ?2"
		" WHERE state = 'replaying' AND id IN (SELECT letter_id"
		" FROM once_job_item WHERE job_id = ?1"
		" AND state = 'running')" },

	[STMT_JOB_CANCEL_PENDING] = { 1, 0,
		"DELETE FROM once_pending WHERE job_id = ?1" },

	[STMT_JOB_CANCEL_ITEMS] = { 1, 0,
		"UPDATE once_job_item SET state = 'cancelled'"
		" WHERE job_id = ?1 AND state IN ('waiting', 'running')" },

	/* Asked in each turn: by the primary key it would read whole jobs. */
	[STMT_JOB_CURRENT] = { 1, 5,
		"SELECT id, rate, stop_after, failed, running FROM (SELECT j.*,"
		" (SELECT count(*) FROM once_job_item AS i"
		"  INDEXED BY once_job_item_running WHERE i.job_id = j.id"
		"  AND i.state = 'running') AS running,"
		" EXISTS (SELECT 1 FROM once_job_item AS i"
		"  INDEXED BY once_job_item_waiting WHERE i.job_id = j.id"
		"  AND i.state = 'waiting') AS waits"
		" FROM once_job AS j WHERE j.state = 'running')"
		" ORDER BY iif(waits, running >= iif(stop_after > 0,"
		" min(?1, stop_after - failed), ?1), running > 0), id LIMIT 1" },

	[STMT_JOB_WAITING] = { 2, 1,
		"SELECT letter_id FROM once_job_item"
		" INDEXED BY once_job_item_waiting WHERE job_id = ?1"
		" AND state = 'waiting' ORDER BY letter_id LIMIT ?2" },

	[STMT_JOB_LIST] = { 3, 14,
		"SELECT " JOB_COLUMNS " FROM once_job AS j"
		" WHERE j.id < ?1 AND (?2 = 0 OR j.id = ?2)"
		" ORDER BY j.id DESC LIMIT ?3" },

	[STMT_PENDING_LIST] = { 3, 10,
		"SELECT p.id, g.name, p.tenant, p.event_id, p.topic,"
		" length(p.payload), p.attempts, p.due_ms, p.last_type,"
		" p.received_wall_ms FROM once_pending AS p"
		" JOIN once_group AS g USING (group_no)"
		" WHERE p.id > ?1 AND (?2 = 0 OR p.group_no = ?2)"
		" ORDER BY p.id LIMIT ?3" },

	[STMT_GROUP_LIST] = { 0, 3,
		"SELECT group_no, name, ttl_ms FROM once_group"
		" ORDER BY group_no" },

	[STMT_AUDIT_PUT] = { 6, 1,
		"INSERT INTO once_audit (at_ms, at_wall_ms, uid, act, what, n)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id" },

	[STMT_AUDIT_TRIM] = { 1, 0,
		"DELETE FROM once_audit WHERE id <= ?1" },

	[STMT_AUDIT_LIST] = { 2, 7,
		"SELECT id, at_ms, at_wall_ms, uid, act, what, n"
		" FROM once_audit WHERE id < ?1 ORDER BY id DESC LIMIT ?2" },

	[STMT_COUNTER_ADD] = { 21, 0,
		"INSERT INTO once_counter (group_no, received, done,"
		" suppressed_done, suppressed_pending, suppressed_dead,"
		" retained, attempts_ok, attempts_transient,"
		" attempts_permanent, attempts_poison, dead_permanent,"
		" dead_poison, dead_conflict, dead_exhausted, dead_crash_loop,"
		" dropped, markers, unmatched, sessions_lost, superseded)"
		" VALUES (?1, ?2,"
		" ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
		" ?16, ?17, ?18, ?19, ?20, ?21) ON CONFLICT (group_no) DO UPDATE SET"
		" received = received + ?2, done = done + ?3,"
		" suppressed_done = suppressed_done + ?4,"
		" suppressed_pending = suppressed_pending + ?5,"
		" suppressed_dead = suppressed_dead + ?6,"
		" retained = retained + ?7, attempts_ok = attempts_ok + ?8,"
		" attempts_transient = attempts_transient + ?9,"
		" attempts_permanent = attempts_permanent + ?10,"
		" attempts_poison = attempts_poison + ?11,"
		" dead_permanent = dead_permanent + ?12,"
		" dead_poison = dead_poison + ?13,"
		" dead_conflict = dead_conflict + ?14,"
		" dead_exhausted = dead_exhausted + ?15,"
		" dead_crash_loop = dead_crash_loop + ?16,"
		" dropped = dropped + ?17, markers = markers + ?18,"
		" unmatched = unmatched + ?19,"
		" sessions_lost = sessions_lost + ?20,"
		" superseded = superseded + ?21" },

	[STMT_COUNTER_GET] = { 1, 20,
		"SELECT received, done, suppressed_done, suppressed_pending,"
		" suppressed_dead, retained, attempts_ok, attempts_transient,"
		" attempts_permanent, attempts_poison, dead_permanent,"
		" dead_poison, dead_conflict, dead_exhausted, dead_crash_loop,"
		" dropped, markers, unmatched, sessions_lost, superseded"
		" FROM once_counter WHERE group_no = ?1" },

	[STMT_COUNTER_FOLD] = { 1, 0,
		"INSERT INTO once_counter (group_no, markers)"
		" SELECT 0, markers FROM once_counter WHERE group_no = ?1"
		" ON CONFLICT (group_no) DO UPDATE SET"
		" markers = markers + excluded.markers" },

	[STMT_COUNTER_DROP] = { 1, 0,
		"DELETE FROM once_counter WHERE group_no = ?1" },

	[STMT_FILTER_PUT] = { 4, 0,
		"INSERT INTO once_filter (broker, client_id, filter,"
		" since_wall_ms) VALUES (?1, ?2, ?3, ?4)"
		" ON CONFLICT DO NOTHING" },

	[STMT_FILTER_DROP] = { 3, 0,
		"DELETE FROM once_filter"
		" WHERE broker = ?1 AND client_id = ?2 AND filter = ?3" },

	[STMT_FILTER_LIST] = { 2, 1,
		"SELECT filter FROM once_filter"
		" WHERE broker = ?1 AND client_id = ?2" },

	[STMT_SCHEMA_GET] = { 1, 1,
		"SELECT hash FROM once_schema WHERE name = ?1" },

	[STMT_SCHEMA_PUT] = { 3, 0,
		"INSERT INTO once_schema (name, hash, applied_wall_ms)"
		" VALUES (?1, ?2, ?3)" },

	[STMT_SCHEMA_FOREIGN] = { 0, 1,
		"SELECT m.name FROM sqlite_schema AS m,"
		" pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'"
		" AND m.name NOT LIKE 'once~_%' ESCAPE '~'"
		" AND f.\"table\" LIKE 'once~_%' ESCAPE '~' LIMIT 1" },

	[STMT_SCHEMA_OURS] = { 0, 1,
		"SELECT count(*) FROM sqlite_schema"
		" WHERE name LIKE 'once~_%' ESCAPE '~'" },

	[STMT_TABLE_NEXT] = { 1, 1,
		"SELECT name FROM sqlite_schema WHERE type = 'table'"
		" AND rootpage > 0 AND name > ?1 ORDER BY name LIMIT 1" },

	[STMT_QUICK_CHECK] = { 1, 1,
		"SELECT quick_check FROM pragma_quick_check(?1)" },

	/*
	 * Never run: preparing it makes the two table-valued functions known,
	 * which writes to the catalogue as the authorizer sees it and would
	 * be refused to the handler that uses them first.
	 */
	[STMT_JSON_TABLES] = { 0, 1,
		"SELECT 1 FROM json_each('[]'), json_tree('[]')" },
};

enum err stmt_prepare_all(struct store *st)
{
	for (int i = 0; i < STMT_COUNT; i++) {
		sqlite3_stmt **raw = &st->stmt[i].raw;
		int rc = sqlite3_prepare_v3(st->db, specs[i].sql, -1,
					    SQLITE_PREPARE_PERSISTENT, raw,
					    NULL);

		if (rc)
			return store_err(st, rc);
		if (sqlite3_bind_parameter_count(*raw) != specs[i].params ||
		    sqlite3_column_count(*raw) != specs[i].cols)
			return err_say(&st->detail, ERR_BUG,
				       "statement %d does not fit its columns",
				       i);
	}
	return OK;
}

void stmt_finalize_all(struct store *st)
{
	for (int i = 0; i < STMT_COUNT; i++)
		sqlite3_finalize(st->stmt[i].raw);
}
