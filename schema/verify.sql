-- What `mqonce store verify` asks: each row of an answer is one thing that is
-- wrong.  ?1 is the store clock now.  Letters that an operator moved are left
-- out where a restored one may have a second life of its event beside it.

SELECT 'once_meta has ' || count(*) || ' rows, not one' FROM once_meta HAVING count(*) <> 1;

-- Each event is in one place.
SELECT 'pending row ' || p.id || ' and letter ' || l.id || ' are one event in two places'
FROM once_pending AS p JOIN once_dead_letter AS l USING (key, fingerprint)
WHERE p.letter_id IS NOT l.id AND l.state IN ('open', 'replaying') AND l.changed_by IS NULL;

SELECT 'pending row ' || p.id || ' waits, but a marker says that it is done'
FROM once_pending AS p JOIN once_group AS g USING (group_no)
WHERE p.letter_id IS NULL AND ?1 < 1000 * max(
	coalesce((SELECT at_s FROM once_marker_0 AS m WHERE m.key = p.key AND m.state < 2
		AND m.fingerprint = p.fingerprint AND m.recipe = p.recipe), -1000000000),
	coalesce((SELECT at_s FROM once_marker_1 AS m WHERE m.key = p.key AND m.state < 2
		AND m.fingerprint = p.fingerprint AND m.recipe = p.recipe), -1000000000),
	coalesce((SELECT at_s FROM once_marker_2 AS m WHERE m.key = p.key AND m.state < 2
		AND m.fingerprint = p.fingerprint AND m.recipe = p.recipe), -1000000000),
	coalesce((SELECT at_s FROM once_marker_3 AS m WHERE m.key = p.key AND m.state < 2
		AND m.fingerprint = p.fingerprint AND m.recipe = p.recipe), -1000000000)) + g.ttl_ms;

SELECT 'letter ' || l.id || ' is open, but a marker says that it is done'
FROM once_dead_letter AS l JOIN once_group AS g USING (group_no)
WHERE l.state = 'open' AND l.kind <> 'conflict' AND l.changed_by IS NULL AND ?1 < 1000 * max(
	coalesce((SELECT at_s FROM once_marker_0 AS m WHERE m.key = l.key AND m.state < 2
		AND m.fingerprint = l.fingerprint AND m.recipe = l.recipe), -1000000000),
	coalesce((SELECT at_s FROM once_marker_1 AS m WHERE m.key = l.key AND m.state < 2
		AND m.fingerprint = l.fingerprint AND m.recipe = l.recipe), -1000000000),
	coalesce((SELECT at_s FROM once_marker_2 AS m WHERE m.key = l.key AND m.state < 2
		AND m.fingerprint = l.fingerprint AND m.recipe = l.recipe), -1000000000),
	coalesce((SELECT at_s FROM once_marker_3 AS m WHERE m.key = l.key AND m.state < 2
		AND m.fingerprint = l.fingerprint AND m.recipe = l.recipe), -1000000000)) + g.ttl_ms;

-- Replays: letter, pending row and item go together.
SELECT 'letter ' || id || ' is replaying, but no pending row serves it'
FROM once_dead_letter AS l
WHERE state = 'replaying' AND NOT EXISTS (SELECT 1 FROM once_pending AS p WHERE p.letter_id = l.id);

SELECT 'pending row ' || p.id || ' serves letter ' || p.letter_id || ', which is '
	|| coalesce(l.state, 'not there')
FROM once_pending AS p LEFT JOIN once_dead_letter AS l ON l.id = p.letter_id
WHERE p.letter_id IS NOT NULL AND l.state IS NOT 'replaying';

SELECT 'pending row ' || p.id || ' serves a letter, but no running item of a job'
FROM once_pending AS p LEFT JOIN once_job_item AS i
	ON i.job_id = p.job_id AND i.letter_id = p.letter_id
WHERE p.letter_id IS NOT NULL AND i.state IS NOT 'running';

SELECT 'letter ' || i.letter_id || ' runs in job ' || i.job_id || ', but no pending row says so'
FROM once_job_item AS i
WHERE i.state = 'running' AND NOT EXISTS
	(SELECT 1 FROM once_pending AS p WHERE p.letter_id = i.letter_id AND p.job_id = i.job_id);

SELECT 'job ' || j.id || ' is ' || j.state || ', but items of it wait or run'
FROM once_job AS j
WHERE j.state IN ('done', 'cancelled') AND EXISTS
	(SELECT 1 FROM once_job_item AS i WHERE i.job_id = j.id AND i.state IN ('waiting', 'running'));

-- Generations and their markers.
SELECT count(*) || ' generations are active, not one' FROM once_generation
WHERE state = 'active' HAVING count(*) <> 1;

SELECT 'generation ' || generation || ' is active, but not the newest' FROM once_generation
WHERE state = 'active' AND position < (SELECT max(position) FROM once_generation);

SELECT 'generation ' || generation || ' is empty, but has markers' FROM once_generation
WHERE state = 'empty' AND CASE generation
	WHEN 0 THEN EXISTS (SELECT 1 FROM once_marker_0) WHEN 1 THEN EXISTS (SELECT 1 FROM once_marker_1)
	WHEN 2 THEN EXISTS (SELECT 1 FROM once_marker_2) ELSE EXISTS (SELECT 1 FROM once_marker_3) END;

SELECT 'generation 0: ' || count(*) || ' markers are of no known state' FROM once_marker_0
WHERE state NOT BETWEEN 0 AND 6 OR length(key) <> 16 HAVING count(*) > 0;
SELECT 'generation 1: ' || count(*) || ' markers are of no known state' FROM once_marker_1
WHERE state NOT BETWEEN 0 AND 6 OR length(key) <> 16 HAVING count(*) > 0;
SELECT 'generation 2: ' || count(*) || ' markers are of no known state' FROM once_marker_2
WHERE state NOT BETWEEN 0 AND 6 OR length(key) <> 16 HAVING count(*) > 0;
SELECT 'generation 3: ' || count(*) || ' markers are of no known state' FROM once_marker_3
WHERE state NOT BETWEEN 0 AND 6 OR length(key) <> 16 HAVING count(*) > 0;

SELECT 'table ' || "table" || ', row ' || coalesce(rowid, '?') || ': what it refers to in '
	|| parent || ' is not there'
FROM pragma_foreign_key_check;
