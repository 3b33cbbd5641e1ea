#!/bin/sh
# The share of src/'s lines that ran, per file, least first, and of all.
# What ends by SIGKILL leaves no counts: the figure errs downwards.
set -eu

cd "$1"
find src -name '*.gcda' | while read -r data; do
	gcov -n "$data" 2>/dev/null
done | awk '
	/^File .*src\// { file = $2; gsub(/\x27/, "", file); next }
	/^File /	{ file = "" }
	/^Lines executed/ && file {
		split($0, part, /[:% ]+/)
		share = part[3]; lines = part[5]
		ran += share * lines / 100; all += lines
		printf "%6.1f %% of %4d  %s\n", share, lines, file | "sort -n"
		file = ""
	}
	END {
		close("sort -n")
		printf "%6.1f %% of %d lines\n", 100 * ran / all, all
		exit ran / all < 0.9
	}'
