#!/bin/sh
# run.sh [NAME...]: takes each rule out in turn, in a copy of the tree, and
# looks whether a test goes red.  The first line of a mutant says what it does
# to the promise, the second which tests are to see it.
set -u

copy=build/mutants
names=${*:-$(cd tests/mutants && ls ./*.diff)}
alive=0

# Headers are older than what was built from them, so that make keeps it.
mkdir -p "$copy"
for d in Makefile src include schema tests board; do
	rm -rf "${copy:?}/$d"
	cp -a "$d" "$copy/"
done

# Prints the tests that failed, or the line that does not compile.
seen_by()
{
	for t in $1; do
		if ! make -C "$copy" -s "build/host/tests/$t" build/host/mqonce \
			>"$copy/log" 2>&1; then
			grep -m 1 -E "error|warning" "$copy/log"
			return 1
		fi
		(cd "$copy" && MQONCE=build/host/mqonce timeout 120 \
			"build/host/tests/$t") >"$copy/log" 2>&1 || {
			sed -n 's/^\[  FAILED  \] \([a-z].*\)/\1/p' \
				"$copy/log" | sort -u | head -1
			return 0
		}
	done
	return 1
}

for n in $names; do
	n=${n#./}; n=${n%.diff}
	diff=tests/mutants/$n.diff
	tests=$(sed -n 's/^tests: //p' "$diff")
	if ! patch -s -p1 -d "$copy" <"$diff" >/dev/null; then
		echo "$n: does not apply any more"
		alive=$((alive + 1))
		continue
	fi
	by=$(seen_by "$tests") && echo "$n: killed by ${by:-a crash}" || {
		echo "$n: ALIVE after $tests ${by:-}"
		alive=$((alive + 1))
	}
	patch -s -R -p1 -d "$copy" <"$diff" >/dev/null
done
[ "$alive" = 0 ] || echo "$alive not killed"
[ "$alive" = 0 ]
