#!/bin/sh
# fuzz.sh FOLDER SECONDS: each target in FOLDER, from its kept inputs on.  What
# is found lies in build/; what kills a target belongs into its corpus.
set -eu

found=build/fuzz
fail=0
for target in "$1"/fuzz_*; do
	case $target in *.*) continue;; esac
	name=${target##*/fuzz_}
	echo "== $name, $2 s"
	mkdir -p "$found/$name"
	"$target" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 \
		-max_len=8192 -print_final_stats=1 \
		-artifact_prefix="$found/$name-" \
		"$found/$name" "tests/fuzz/corpus/$name" \
		>"$found/$name.log" 2>&1 || fail=1
	grep -E "^stat::number_of_executed|^SUMMARY|^artifact|DONE" \
		"$found/$name.log" || tail -5 "$found/$name.log"
done
exit $fail
