-- The store, first version.  Times ending in _ms are milliseconds of the store
-- clock (accumulated CLOCK_BOOTTIME; see once_meta), unless the name says wall:
-- those are milliseconds since 1970 by the machine's clock, for people only.
-- Every table of ours is STRICT and starts with once_; the rest of the file is
-- the operator's.

CREATE TABLE once_meta (
	one		INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	uuid		TEXT NOT NULL,			-- names this store for good
	hash_seed	INTEGER NOT NULL,		-- of keys and fingerprints
	epoch		INTEGER NOT NULL,		-- number of the ownership; +1 at each start
	boot_id		TEXT NOT NULL,			-- kernel boot in which clock_boot_ms was read
	store_ms	INTEGER NOT NULL,		-- the store clock when it was last written down
	clock_boot_ms	INTEGER NOT NULL,		-- CLOCK_BOOTTIME at that moment
	created_wall_ms	INTEGER NOT NULL
) STRICT;

CREATE TABLE once_group (
	group_no	INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,	-- never used again
	name		TEXT NOT NULL UNIQUE,
	recipe		INTEGER NOT NULL,		-- +1 when the fingerprint's selectors change
	id_text		TEXT NOT NULL,			-- selectors the recipe stands for,
	tenant_text	TEXT NOT NULL,			--   as configured
	fingerprint_text TEXT NOT NULL,
	ttl_ms		INTEGER NOT NULL,		-- the longest ttl of markers it has written
	vouches_since_ms INTEGER NOT NULL		-- from when on markers hold for ttl_ms
) STRICT;

-- Processed events.  Four generations; once_generation says which is written.
-- 40 bytes a marker in the file: hence a hash for a key, seconds for a time and
-- a number for the state; the view once_marker has the words.
CREATE TABLE once_marker_0 (
	key		BLOB NOT NULL PRIMARY KEY,	-- 16-byte seeded hash of (group, tenant, event id)
	fingerprint	INTEGER NOT NULL,		-- 64-bit seeded hash of what the event says
	state		INTEGER NOT NULL,		-- 0 done, 1 done (superseded), 2.. dead: 2 + kind
	recipe		INTEGER NOT NULL,		-- of the fingerprint
	at_s		INTEGER NOT NULL		-- store clock in seconds, rounded up
) STRICT, WITHOUT ROWID;
CREATE TABLE once_marker_1 (
	key		BLOB NOT NULL PRIMARY KEY,
	fingerprint	INTEGER NOT NULL,
	state		INTEGER NOT NULL,
	recipe		INTEGER NOT NULL,
	at_s		INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE once_marker_2 (
	key		BLOB NOT NULL PRIMARY KEY,
	fingerprint	INTEGER NOT NULL,
	state		INTEGER NOT NULL,
	recipe		INTEGER NOT NULL,
	at_s		INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE once_marker_3 (
	key		BLOB NOT NULL PRIMARY KEY,
	fingerprint	INTEGER NOT NULL,
	state		INTEGER NOT NULL,
	recipe		INTEGER NOT NULL,
	at_s		INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE VIEW once_marker (generation, key, fingerprint, state, outcome, recipe, at_s) AS
	WITH every AS (
		SELECT 0 AS generation, * FROM once_marker_0 UNION ALL
		SELECT 1, * FROM once_marker_1 UNION ALL
		SELECT 2, * FROM once_marker_2 UNION ALL
		SELECT 3, * FROM once_marker_3)
	SELECT generation, key, fingerprint,
		iif(state < 2, 'done', 'dead'),
		CASE state WHEN 0 THEN 'ok' WHEN 1 THEN 'superseded' WHEN 2 THEN 'permanent'
			WHEN 3 THEN 'poison' WHEN 4 THEN 'conflict' WHEN 5 THEN 'exhausted'
			WHEN 6 THEN 'crash_loop' END,
		recipe, at_s
	FROM every;

CREATE TABLE once_generation (
	generation	INTEGER NOT NULL PRIMARY KEY CHECK (generation BETWEEN 0 AND 3),
	state		TEXT NOT NULL CHECK (state IN ('active', 'closed', 'empty')),
	opened_ms	INTEGER NOT NULL,		-- when it became active; 0 if empty
	closed_ms	INTEGER NOT NULL,		-- when it stopped being; 0 if not closed
	position	INTEGER NOT NULL		-- order of opening: the highest is the newest
) STRICT;
INSERT INTO once_generation VALUES
	(0, 'active', 0, 0, 1), (1, 'empty', 0, 0, 0), (2, 'empty', 0, 0, 0), (3, 'empty', 0, 0, 0);

CREATE TABLE once_pending (
	id		INTEGER NOT NULL PRIMARY KEY,
	group_no	INTEGER NOT NULL REFERENCES once_group,
	tenant		TEXT NOT NULL,			-- '' without tenants
	event_id	TEXT NOT NULL,
	key		BLOB NOT NULL,			-- as in once_marker_*
	fingerprint	INTEGER NOT NULL,
	recipe		INTEGER NOT NULL,
	topic		TEXT NOT NULL,
	payload		BLOB NOT NULL,
	content_type	TEXT,				-- NULL: not sent
	correlation	BLOB,				-- NULL: not sent
	properties	TEXT NOT NULL,			-- user properties: [["name","value"],...]
	qos		INTEGER NOT NULL,
	retain		INTEGER NOT NULL CHECK (retain IN (0, 1)),
	received_wall_ms INTEGER NOT NULL,
	received_sync	INTEGER NOT NULL CHECK (received_sync IN (0, 1)),
	attempts	INTEGER NOT NULL,		-- counted ones so far
	crashes		INTEGER NOT NULL,		-- owners that died while it ran
	window_ms	INTEGER NOT NULL,		-- when its first attempt was (or will be)
	due_ms		INTEGER NOT NULL,		-- not attempted before
	epoch		INTEGER NOT NULL,		-- ownership that wrote it last
	first_type	TEXT,				-- error type of the first failure
	last_type	TEXT,				-- and of the last
	UNIQUE (key, fingerprint)
) STRICT;
CREATE INDEX once_pending_due ON once_pending (due_ms);

-- Failed attempts, and the success that ended a row of them: the first 3 and
-- the last 17 of an event.  No payload, no message: types only.
CREATE TABLE once_attempt (
	key		BLOB NOT NULL,			-- with fingerprint: the event
	fingerprint	INTEGER NOT NULL,
	n		INTEGER NOT NULL,		-- from 1; the highest is the exact count
	started_ms	INTEGER NOT NULL,
	started_wall_ms	INTEGER NOT NULL,
	took_ms		INTEGER NOT NULL,
	outcome		TEXT NOT NULL CHECK (outcome IN ('ok', 'transient', 'permanent', 'poison')),
	error_type	TEXT,				-- NULL with ok
	epoch		INTEGER NOT NULL,
	PRIMARY KEY (key, fingerprint, n)
) STRICT, WITHOUT ROWID;
-- Events that came to a good end; the history of one that waits or died stays.
CREATE INDEX once_attempt_ended ON once_attempt (started_ms) WHERE outcome = 'ok';

CREATE TABLE once_dead_letter (
	id		INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	group_no	INTEGER NOT NULL REFERENCES once_group,
	tenant		TEXT NOT NULL,
	event_id	TEXT,				-- NULL: it had none
	key		BLOB NOT NULL,			-- of the id, or of the content if it has none
	fingerprint	INTEGER NOT NULL,
	recipe		INTEGER NOT NULL,
	kind		TEXT NOT NULL CHECK (kind IN
			('permanent', 'poison', 'conflict', 'exhausted', 'crash_loop')),
	first_type	TEXT NOT NULL,			-- error type of the first failure
	last_type	TEXT NOT NULL,			-- and of the one that buried it
	attempts	INTEGER NOT NULL,
	redeliveries	INTEGER NOT NULL,		-- copies that came after
	state		TEXT NOT NULL CHECK (state IN
			('open', 'replaying', 'resolved', 'discarded')),
	first_seen_ms	INTEGER NOT NULL,
	first_seen_wall_ms INTEGER NOT NULL,
	dead_ms		INTEGER NOT NULL,
	dead_wall_ms	INTEGER NOT NULL,
	dead_sync	INTEGER NOT NULL CHECK (dead_sync IN (0, 1)),	-- was the wall clock synchronised
	topic		TEXT NOT NULL,
	payload		BLOB,				-- NULL: oversize, hashed only
	payload_bytes	INTEGER NOT NULL,		-- size as delivered
	payload_hash	BLOB NOT NULL,			-- 16 bytes, of topic and payload
	content_type	TEXT,
	correlation	BLOB,
	properties	TEXT NOT NULL,
	qos		INTEGER NOT NULL,
	retain		INTEGER NOT NULL CHECK (retain IN (0, 1)),
	UNIQUE (key, fingerprint)
) STRICT;

-- Totals that survive restarts: exposed is what was committed.
CREATE TABLE once_counter (
	group_no	INTEGER NOT NULL PRIMARY KEY,	-- 0: deliveries of no group
	received	INTEGER NOT NULL DEFAULT 0,	-- deliveries
	done		INTEGER NOT NULL DEFAULT 0,	-- effects committed
	suppressed_done	INTEGER NOT NULL DEFAULT 0,	-- copies of something done
	suppressed_pending INTEGER NOT NULL DEFAULT 0,	-- of something that waits
	suppressed_dead	INTEGER NOT NULL DEFAULT 0,	-- of a letter
	retained	INTEGER NOT NULL DEFAULT 0,	-- retained copies left alone
	attempts_ok	INTEGER NOT NULL DEFAULT 0,
	attempts_transient INTEGER NOT NULL DEFAULT 0,
	attempts_permanent INTEGER NOT NULL DEFAULT 0,
	attempts_poison	INTEGER NOT NULL DEFAULT 0,
	dead_permanent	INTEGER NOT NULL DEFAULT 0,
	dead_poison	INTEGER NOT NULL DEFAULT 0,
	dead_conflict	INTEGER NOT NULL DEFAULT 0,
	dead_exhausted	INTEGER NOT NULL DEFAULT 0,
	dead_crash_loop	INTEGER NOT NULL DEFAULT 0,
	dropped		INTEGER NOT NULL DEFAULT 0,	-- dead with dead_letter = off
	markers		INTEGER NOT NULL DEFAULT 0,	-- written less swept
	unmatched	INTEGER NOT NULL DEFAULT 0,	-- deliveries of no group
	sessions_lost	INTEGER NOT NULL DEFAULT 0	-- group 0: broker forgot the session
) STRICT;

-- What the broker was asked to send, so that a filter that is no longer
-- configured can be unsubscribed.
CREATE TABLE once_filter (
	broker		TEXT NOT NULL,			-- its url
	client_id	TEXT NOT NULL,
	filter		TEXT NOT NULL,
	since_wall_ms	INTEGER NOT NULL,
	PRIMARY KEY (broker, client_id, filter)
) STRICT, WITHOUT ROWID;

-- The operator's own schema files that were applied, in order.
CREATE TABLE once_schema (
	position	INTEGER NOT NULL PRIMARY KEY,
	name		TEXT NOT NULL UNIQUE,		-- file name without its directory
	hash		BLOB NOT NULL,			-- 16 bytes, of the text
	applied_wall_ms	INTEGER NOT NULL
) STRICT;
