-- What the flows need to hold back, to run with care, to keep an order and to
-- stay within limits.  Group time is the store clock less the time the group's
-- breaker was open: once_pending.window_ms and .due_ms are in group time from
-- here on, so that opening and closing a breaker changes one row.

ALTER TABLE once_meta ADD COLUMN
	clean		INTEGER NOT NULL DEFAULT 1 CHECK (clean IN (0, 1));	-- 1: the last owner stopped in order

ALTER TABLE once_group ADD COLUMN
	paused		INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1));	-- 1: nothing is run, deliveries wait
ALTER TABLE once_group ADD COLUMN
	open_since_ms	INTEGER;		-- store clock when the breaker opened; NULL: closed
ALTER TABLE once_group ADD COLUMN
	open_total_ms	INTEGER NOT NULL DEFAULT 0;	-- time it was open, but for an opening under way

ALTER TABLE once_pending ADD COLUMN
	runs		INTEGER NOT NULL DEFAULT 0;	-- all runs, with probes: number of the last in the history
ALTER TABLE once_pending ADD COLUMN
	claimed		INTEGER NOT NULL DEFAULT 0;	-- epoch that runs it alone right now; 0: none
ALTER TABLE once_pending ADD COLUMN
	order_key	BLOB;			-- key of its row in once_order; NULL without order guard
UPDATE once_pending SET runs = attempts;
DROP INDEX once_pending_due;
CREATE INDEX once_pending_group_due ON once_pending (group_no, due_ms);
CREATE INDEX once_pending_claimed ON once_pending (claimed) WHERE claimed <> 0;
CREATE INDEX once_pending_order ON once_pending (order_key) WHERE order_key IS NOT NULL;

-- Of a letter: what keeps its order key, and which open ones have a payload.
ALTER TABLE once_dead_letter ADD COLUMN
	order_key	BLOB;			-- as in once_pending
CREATE INDEX once_letter_order ON once_dead_letter (order_key) WHERE order_key IS NOT NULL;
CREATE INDEX once_letter_open ON once_dead_letter (group_no, (payload IS NULL), dead_ms)
	WHERE state = 'open';

-- The order guard: the newest value of each key whose event was handled.
CREATE TABLE once_order (
	key		BLOB NOT NULL PRIMARY KEY,	-- 16-byte seeded hash of (group, tenant, order key)
	group_no	INTEGER NOT NULL REFERENCES once_group,
	value		TEXT NOT NULL,			-- as the event has it
	at_ms		INTEGER NOT NULL		-- store clock when it was last written
) STRICT, WITHOUT ROWID;

ALTER TABLE once_counter ADD COLUMN
	superseded	INTEGER NOT NULL DEFAULT 0;	-- older than their key's last value: no effect
