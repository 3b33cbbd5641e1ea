#!/bin/sh
# Whether the manual and the completion say what the program can do:
#   manual.sh PROGRAM         complains, for `make lint`
#   manual.sh PROGRAM write   mends what can be mended, for `make manual`
set -eu
LC_ALL=C
export LC_ALL

prog=$1
write=${2-}
man=board/common/man
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

bad() {
	echo "$*" >&2
	failed=1
}

# both_ways WHAT FILE PAGE: lists of what there is and of what the page has.
both_ways() {
	sort -u "$2" >"$tmp/there"
	sort -u "$3" >"$tmp/here"
	comm -23 "$tmp/there" "$tmp/here" | sed "s/^/mqonce.8 lacks $1 /" >&2
	comm -13 "$tmp/there" "$tmp/here" | sed "s/^/mqonce.8: there is no $1 /" >&2
	cmp -s "$tmp/there" "$tmp/here" || failed=1
}

# What there is: commands, "COMMAND OPTION", log events, keys.
"$prog" help | sed -nE 's/^  ([a-z]+( [a-z]+)?).*/\1/p' |
	grep -v '^help$' >"$tmp/commands"
while read -r c; do
	echo "== $c"
	# shellcheck disable=SC2086
	"$prog" help $c </dev/null
done <"$tmp/commands" | awk '
	sub(/^== /, "") { c = $0; next }
	{ gsub(/[][|,]/, " ")
	  for (i = 1; i <= NF; i++)
		if ($i ~ /^--?[a-z][a-z-]*$/ && $i != "-c" && !seen[c, $i]++)
			print c, $i }' >"$tmp/options"
cat src/*/*.c | tr '\n\t' '  ' | grep -oE 'log_(err|warn|info|debug)\( *"[^"]+"' |
	sed 's/.*("//; s/.*( *"//; s/"//' | sort -u >"$tmp/events"
"$prog" help conf >"$tmp/keys"
{
	sed 's/^/name	/' "$tmp/commands" "$tmp/options" "$tmp/events"
	cat "$tmp/keys"
} >"$tmp/known"

for page in mqonce.8 mqonce.conf.5; do
	awk -f tests/lint/manual.awk "$tmp/known" $man/$page >"$tmp/$page" ||
		failed=1
	if [ "$write" ]; then
		cmp -s "$tmp/$page" $man/$page || cp "$tmp/$page" $man/$page
	elif ! diff -u $man/$page "$tmp/$page" >&2; then
		bad "$man/$page is behind the program; run \`make manual\`"
	fi
	sh $man/built.sh "$tmp/$page" >"$tmp/built.$page"
done
[ ! "$write" ] || exit $failed

# Commands, both ways; options; log events, both ways.
page=$tmp/built.mqonce.8
sed -nE 's/^\.It Cm ([a-z]+( [a-z]+)?).*/\1/p' "$page" >"$tmp/said"
both_ways command "$tmp/commands" "$tmp/said"
tr ' ' '\n' <"$page" | sed 's/^\.//' | grep -A1 -x Fl | grep -vx -e Fl -e -- | sed 's/^-//' |
	sort -u >"$tmp/flags"
while read -r o; do
	flag=${o##* -}
	grep -qx -e "${flag#-}" "$tmp/flags" || bad "mqonce.8 has no \"$o\""
	# shellcheck disable=SC2086
	case $("$prog" $o x -c /dev/null/none 2>&1) in
	*unknown\ option*) bad "help names \"$o\", which is refused" ;;
	esac
done <"$tmp/options"
sed -nE 's/^\.It Sy ([a-z]+\.[a-z_]+)$/\1/p' "$page" >"$tmp/said"
both_ways "log event" "$tmp/events" "$tmp/said"

# The completion, asked as a shell would.
if command -v bash >/dev/null; then
	bash tests/lint/completion.sh "$prog" "$tmp/commands" "$tmp/options" ||
		failed=1
fi

# Both as they are here and as they are installed.
if command -v mandoc >/dev/null; then
	mandoc -Tlint -Wwarning $man/*.[58] "$page" \
		"$tmp/built.mqonce.conf.5" >&2 || failed=1
fi
exit $failed
