-- A student enrols in a course: {"id": "...", "course": "...", "student": "..."}

-- The roster is a set: the same entry twice is one entry, marker or not.
-- Not OR IGNORE, which would also pass over a missing name.
INSERT INTO roster (course, student)
VALUES (:payload ->> 'course', :payload ->> 'student')
ON CONFLICT (course, student) DO NOTHING;

-- The count is not: run twice, it would count twice. This needs the marker.
UPDATE course SET seats_taken = seats_taken + 1
WHERE id = :payload ->> 'course';
