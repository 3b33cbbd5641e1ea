-- What the course may hold, and what it holds; more than fits is refused.
CREATE TABLE course (
	id TEXT NOT NULL PRIMARY KEY,
	seats INTEGER NOT NULL,
	seats_taken INTEGER NOT NULL DEFAULT 0,
	CHECK (seats_taken <= seats)
) STRICT;

-- Who takes part; an unknown course is refused by the foreign key.
CREATE TABLE roster (
	course TEXT NOT NULL REFERENCES course (id),
	student TEXT NOT NULL,
	PRIMARY KEY (course, student)
) STRICT, WITHOUT ROWID;
