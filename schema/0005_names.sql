-- A start is not a length.

ALTER TABLE once_pending RENAME COLUMN window_ms TO window_start_ms;
