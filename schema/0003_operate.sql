-- What operators do: replays, and a record of every act.

ALTER TABLE once_dead_letter ADD COLUMN replays INTEGER NOT NULL DEFAULT 0;	-- attempts on an operator's behalf
ALTER TABLE once_dead_letter ADD COLUMN changed_ms INTEGER NOT NULL DEFAULT 0;	-- when its state last changed; 0: never
ALTER TABLE once_dead_letter ADD COLUMN changed_by INTEGER;			-- uid that asked for it; NULL: nobody
ALTER TABLE once_dead_letter ADD COLUMN pulled_as TEXT;				-- file it was copied to; NULL: not pulled

-- A replay's row refers to its letter, which keeps the payload.
ALTER TABLE once_pending ADD COLUMN letter_id INTEGER REFERENCES once_dead_letter;
ALTER TABLE once_pending ADD COLUMN job_id INTEGER REFERENCES once_job;

CREATE TABLE once_job (
	id		INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	state		TEXT NOT NULL CHECK (state IN ('running', 'stopped', 'done', 'cancelled')),
	uid		INTEGER NOT NULL,		-- who asked
	made_ms		INTEGER NOT NULL,
	made_wall_ms	INTEGER NOT NULL,
	ended_ms	INTEGER,			-- NULL: not yet
	what		TEXT NOT NULL,			-- the filter, in words
	rate		INTEGER NOT NULL,		-- items a second at most; 0: no limit
	stop_after	INTEGER NOT NULL,		-- failures that stop it; 0: none do
	done		INTEGER NOT NULL DEFAULT 0,
	failed		INTEGER NOT NULL DEFAULT 0,
	suppressed	INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE once_job_item (
	job_id		INTEGER NOT NULL REFERENCES once_job,
	letter_id	INTEGER NOT NULL REFERENCES once_dead_letter,
	state		TEXT NOT NULL CHECK (state IN
			('waiting', 'running', 'done', 'failed', 'suppressed', 'cancelled')),
	payload		BLOB,				-- mended; NULL: the letter's own
	PRIMARY KEY (job_id, letter_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX once_job_item_waiting ON once_job_item (job_id, letter_id) WHERE state = 'waiting';
CREATE INDEX once_job_item_running ON once_job_item (job_id, letter_id) WHERE state = 'running';
CREATE INDEX once_job_running ON once_job (id) WHERE state = 'running';
CREATE INDEX once_job_item_letter ON once_job_item (letter_id);
CREATE INDEX once_pending_letter ON once_pending (letter_id) WHERE letter_id IS NOT NULL;
CREATE INDEX once_pending_job ON once_pending (job_id) WHERE job_id IS NOT NULL;
-- One open job per letter.
CREATE UNIQUE INDEX once_job_item_open ON once_job_item (letter_id) WHERE state IN ('waiting', 'running');

CREATE TABLE once_audit (
	id		INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	at_ms		INTEGER NOT NULL,
	at_wall_ms	INTEGER NOT NULL,
	uid		INTEGER NOT NULL,		-- of who asked
	act		TEXT NOT NULL,			-- the command
	what		TEXT NOT NULL,			-- its filter, in words; never a payload
	n		INTEGER NOT NULL		-- how many it touched
) STRICT;
