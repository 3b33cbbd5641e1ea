#!/bin/sh
# Runs tests with the daemon under the sandbox that the unit asks for:
#   sandbox.sh TEST...    SANDBOX, MQONCE_PLAIN: the two programs
# Called with `run` instead, it stands in for the program.
set -eu

if [ "${1-}" = run ] || [ -n "${SANDBOX_CALLS-}" ]; then
	[ "$1" = run ] || exec "$MQONCE_PLAIN" "$@"
	conf=
	for a; do
		[ "$conf" = next ] && conf=$a
		[ "$a" = -c ] && conf=next
	done
	[ -r "$conf" ] || exec "$MQONCE_PLAIN" "$@"	# it will say so
	store=$(sed -n 's/^path = //p' "$conf")
	[ -n "$store" ] || exec "$MQONCE_PLAIN" "$@"
	SANDBOX_RW=${store%/*}
	export SANDBOX_RW
	mkdir -p "$SANDBOX_RW" && chmod 700 "$SANDBOX_RW"	# StateDirectory=
	exec "$SANDBOX" "$MQONCE_PLAIN" "$@"
fi

unit=board/common/mqonce.service
dir=build/sandbox
rm -rf "$dir"
mkdir -p "$dir"

# members NAME: the calls of a set, with those of the sets in it.
members() {
	case $1 in
	@*)
		systemd-analyze syscall-filter "$1" |
			sed -n 's/^  *\([@a-z0-9_-]*\).*/\1/p' |
			while read -r m; do members "$m"; done
		;;
	?*) echo "$1" ;;
	esac
}

# The unit's lines, in their order: the first says what is there, each later
# one adds or, with ~, takes away.
: >"$dir/calls"
sed -n 's/^SystemCallFilter=//p' "$unit" | while read -r line; do
	for name in ${line#\~}; do
		members "$name"
	done | sort -u >"$dir/line"
	case $line in
	\~*) comm -23 "$dir/calls" "$dir/line" >"$dir/next" ;;
	*) sort -u "$dir/calls" "$dir/line" >"$dir/next" ;;
	esac
	mv "$dir/next" "$dir/calls"
done
echo "the filter allows $(grep -c . "$dir/calls") system calls"

SANDBOX_CALLS=$PWD/$dir/calls
SANDBOX_DENIED=$PWD/$dir/denied
export SANDBOX_CALLS SANDBOX_DENIED
: >"$SANDBOX_DENIED"

# The sandbox itself must be seen to deny, or nothing below means anything.
SANDBOX_RW=$PWD/$dir "$SANDBOX" /bin/sh -c 'nice -n 5 true; : >/sandbox' \
	2>/dev/null || :
if [ -e /sandbox ] || ! grep -q setpriority "$SANDBOX_DENIED"; then
	echo "the sandbox lets everything through" >&2
	exit 1
fi
: >"$SANDBOX_DENIED"

failed=0
for t; do
	echo "== $t"
	MQONCE=$0 "$t" || failed=1
done
sleep 1		# whoever stands outside may still be writing
echo "$(grep -c . "$SANDBOX_DENIED") denials"
cut -d' ' -f2 "$SANDBOX_DENIED" | sort | uniq -c
[ ! -s "$SANDBOX_DENIED" ] || failed=1
exit $failed
