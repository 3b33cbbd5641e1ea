#!/bin/sh
# deps.sh MAKE: where the libraries come from, and that the program says so:
# the source of the last commit as a tar file, no source to be had, sources of
# your own, and sources that changed.  Needs what `make deps` has fetched.
set -eu

make=$1
top=$(pwd)
commit=$(git rev-parse HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
unset SQLITE_SRC MOSQUITTO_SRC OPENSSL_SRC MUSL_SRC

fail() {
	echo "deps.sh: $*"
	tail -n 20 "$work/log"
	exit 1
}

# says PROGRAM TEXT: in what `mqonce version --json` prints.
says() {
	"$1" version --json >"$work/json"
	grep -qF "$2" "$work/json" || {
		cut -c 1-200 "$work/json"
		fail "$1 does not say $2"
	}
}

# builds ARGUMENT...: without TLS, with what is quick to compile.
builds() {
	"$make" TLS=0 BOARD_CFLAGS=-O0 "$@" build/host-plain/mqonce \
		>>"$work/log" 2>&1 || fail "make $* failed"
}
program=build/host-plain/mqonce

"$make" dist >>"$work/log" 2>&1 || fail "make dist failed"
tar -C "$work" -xzf build/mqonce-*.tar.gz
cd "$work"/mqonce-*
builds SYSTEM_LIBS=1
says $program "\"commit\":\"$commit\""
says $program "the distribution's"
echo "deps.sh: a tar file builds and knows its commit"

# A mirror where nobody listens, and the host goes on without it.
mkdir -p "$work/apt/lists"
echo "deb http://127.0.0.1:9/debian stable main" >"$work/apt/sources.list"
cat >"$work/apt/conf" <<END
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$work/apt/lists";
END
APT_CONFIG=$work/apt/conf "$make" TLS=0 deps >"$work/log" 2>&1 ||
	fail "no deps without a source"
grep -q "no source of sqlite3 to be had: the distribution's is used" \
	"$work/log" || fail "the distribution's SQLite is not told of"
grep -v "^  NONE" "$work/log" && fail "more was said than that"
builds
says $program "\"version\":\"$(pkg-config --modversion sqlite3)\""
! APT_CONFIG=$work/apt/conf "$make" TLS=0 BOARD=generic-arm64 deps \
	>"$work/log" 2>&1 || fail "a board without a source"
grep -q "generic-arm64 cannot do without" "$work/log" ||
	fail "what a board wants is not told"
echo "deps.sh: without a source the host takes the distribution's"

# Debian's sources as somebody's own, with a version of its own.
mkdir -p build/deps/src own
for package in libinih xxhash cmocka; do
	cp -R "$top/build/deps/src/$package" build/deps/src
done
cp -R "$top/build/deps/src/mosquitto" own
rm own/mosquitto/.version
sed -i 's/^VERSION=.*/VERSION=2.98.1/' own/mosquitto/config.mk
sed 's/3\.53\.4/3.98.1/' "$top/build/deps/obj/sqlite3/sqlite3.c" >own/sqlite3.c
cp "$top/build/deps/obj/sqlite3/sqlite3.h" own
builds SQLITE_SRC=own MOSQUITTO_SRC=own/mosquitto
says $program '"sqlite":{"version":"3.98.1"'
says $program '"libmosquitto":{"version":"2.98.1"'
builds
says $program '"sqlite":{"version":"3.98.1"'
sed -i 's/3\.98\.1/3.98.2/' own/sqlite3.c
builds SQLITE_SRC="$(pwd)/own" MOSQUITTO_SRC="$(pwd)/own/mosquitto"
says $program '"sqlite":{"version":"3.98.2"'
says $program '"libmosquitto":{"version":"2.98.1"'
echo "deps.sh: sources of your own, relative, absolute and changed"
