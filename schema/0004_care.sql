-- Looking after the store: alarms, sweeps, backups.

ALTER TABLE once_meta ADD COLUMN copied_wall_ms INTEGER;	-- this file is a backup made then; NULL: it is no copy

-- Counted by kind, with the oldest; and swept in the order they were resolved.
CREATE INDEX once_dead_letter_open ON once_dead_letter (kind, dead_ms) WHERE state = 'open';
CREATE INDEX once_dead_letter_resolved ON once_dead_letter (changed_ms) WHERE state = 'resolved';
-- For the end of a group, and to count its open letters without reading them.
CREATE INDEX once_dead_letter_group ON once_dead_letter (group_no, state);
