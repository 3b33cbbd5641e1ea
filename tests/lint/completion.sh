#!/bin/bash
# Whether the completion offers every command and option:
# completion.sh PROGRAM COMMANDS OPTIONS, both files with one a line.
set -u
. board/common/completion/mqonce
failed=0
prog=$1
declare -A wanted=()

# What is wanted behind some words: names, second words, options.
while read -r name sub; do
	wanted["|"]+=" $name"
	[[ -z $sub ]] || wanted["$name|"]+=" $sub"
done <"$2"
while read -r line; do
	wanted["${line% *}|-"]+=" ${line##* }"
done <"$3"

for key in "${!wanted[@]}"; do
	# shellcheck disable=SC2206
	COMP_WORDS=("$prog" ${key%|*} "${key#*|}")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_mqonce
	for word in ${wanted[$key]}; do
		[[ " ${COMPREPLY[*]} " != *" $word "* ]] || continue
		echo "the completion lacks \"$word\" behind" \
			"\"mqonce ${key%|*}\"" >&2
		failed=1
	done
done
exit $failed
