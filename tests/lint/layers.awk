# Fails if a file includes a header of its own rank or above (other than its
# own folder's), includes a foreign header outside the one folder that owns it,
# contains SQL outside its place, or asks the name service for users.
BEGIN {
	n = split("base:0 core:1 store:2 link:2 os:2 handler:3 flow:3 cmd:4", r, " ")
	for (i = 1; i <= n; i++) { split(r[i], kv, ":"); rank[kv[1]] = kv[2] }
	owner["sqlite3.h"] = "store"; owner["mosquitto.h"] = "link"
	owner["sys/epoll.h"] = "os"; owner["sys/signalfd.h"] = "os"
	owner["sys/timerfd.h"] = "os"; owner["netdb.h"] = "os"
	owner["ini.h"] = "core"; owner["xxhash.h"] = "base"
}
FNR == 1 {
	parts = split(FILENAME, p, "/")
	here = (p[1] == "src" || p[1] == "include") && parts > 2 ? p[2] : ""
	public = p[1] == "include"
	# settings and create run before any statement can be prepared
	sql_ok = FILENAME ~ /^src\/store\/(stmt\.c|settings\.c|create\.c|parts\.h)$/
	if (here != "" && !(here in rank) && here != "mqonce")
		bad("folder " here " has no rank")
}
/^#include "[a-z]+\// {
	split($2, q, /["\/]/); there = q[2]
	if (here != "" && there != here && there in rank && rank[there] >= rank[here])
		bad(there " may not be used by " here)
}
/^#include </ {
	h = $2; gsub(/[<>]/, "", h)
	if (h ~ /^openssl\//) own = "link"
	else if (h ~ /^mosquitto/) own = "link"
	else own = h in owner ? owner[h] : ""
	if (own != "" && (public || own != here))
		bad(h " belongs to src/" own)
}
/"[^"]*(SELECT .* FROM|INSERT (OR|INTO)|UPDATE .* SET|DELETE FROM|CREATE TABLE|PRAGMA [a-z]|BEGIN IMMEDIATE)/ {
	if (!sql_ok)
		bad("SQL belongs to schema/ or src/store/stmt.c")
}
/[^a-z_](getpw|getgr)[a-z_]*\(/ {
	bad("getpw*/getgr* crash in a static binary on some targets")
}
function bad(why) { printf "%s:%d: %s\n", FILENAME, FNR, why; failed = 1 }
END { exit failed }
