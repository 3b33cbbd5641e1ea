-- What kills the process before it commits an event comes again at each start.

ALTER TABLE once_meta ADD COLUMN barren_deaths INTEGER NOT NULL DEFAULT 0;	-- owners in a row that died, in this boot, without a commit of events
