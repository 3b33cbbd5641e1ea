/* A path and a text, a line each: what we take, SQLite takes too. */
#include "fuzz.h"

#include <sqlite3.h>
#include <string.h>

#include "base/json.h"

static bool theirs(struct span text)
{
	static sqlite3 *db;
	static sqlite3_stmt *q;
	bool valid;

	if (!db)
		MUST(!sqlite3_open(":memory:", &db) &&
		     !sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &q,
					 NULL));
	sqlite3_bind_text(q, 1, text.data, (int)text.len, SQLITE_STATIC);
	MUST(sqlite3_step(q) == SQLITE_ROW);
	valid = sqlite3_column_int(q, 0);
	sqlite3_reset(q);
	return valid;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = fuzz_span(data, size);
	struct span path = span_cut(rest, '\n', &rest), name;
	struct json_value v, item;
	char buf[256];
	size_t pos = 0;

	if (!rest.data || !json_valid(rest))
		return 0;
	MUST(theirs(rest));
	if (!json_path_valid(path) || !json_find(rest, path, &v))
		return 0;
	MUST(v.raw.data >= rest.data &&
	     v.raw.data + v.raw.len <= rest.data + rest.len);
	if (v.kind == JSON_STRING)
		MUST(json_unescape(v.raw, buf, sizeof(buf)) <=
		     (long)sizeof(buf));
	if (v.kind == JSON_OBJECT || v.kind == JSON_ARRAY)
		while (json_next(v, &pos, &name, &item))
			MUST(pos <= v.raw.len);
	return 0;
}
