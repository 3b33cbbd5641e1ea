#!/bin/sh
# reproducible.sh MAKE ARGUMENT...: builds the last commit in two directories,
# libraries too, from the sources at hand, and compares the programs.
# LIBS=keep takes the libraries of build/deps as they are.
set -eu

top=$(pwd)
commit=$(git rev-parse HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
for dir in a another/longer-one; do
	mkdir -p "$work/$dir"
	git clone -q --shared "$top" "$work/$dir"
	cd "$work/$dir"
	git checkout -q "$commit"
	mkdir -p build/deps
	if [ "${LIBS:-}" = keep ]; then
		cp -R "$top"/build/deps/[!aos]* build/deps
	else
		cp -R "$top/build/deps/src" build/deps
	fi
	"$@" >/dev/null
	cd "$top"
done
for a in "$work"/a/build/*/mqonce; do
	b=$work/another/longer-one/${a#"$work/a/"}
	sha256sum "$a" "$b" | cut -c 1-64
	cmp "$a" "$b"
done
echo "the same bytes twice, of $commit"
