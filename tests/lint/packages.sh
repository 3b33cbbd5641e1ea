#!/bin/sh
# Whether what board/ brings to other systems can be read by them, as far as it
# shows here: scripts, the unit, and makefiles with their frameworks left empty.
set -eu

failed=0
bad() {
	echo "$*" >&2
	failed=1
}

scripts="board/common/mqonce.procd board/common/mqonce.sysv
$(find board -name '*.sh' -o -path 'board/common/s6/run' \
	-o -path 'board/common/s6/finish' -o -name '*.postinst' \
	-o -name '*.postrm' -o -name '*.prerm' -o -name '*.preinst')
$(find tests/boards -name '*.sh')"
for f in $scripts; do
	sh -n "$f" || bad "$f: not read by sh"
done
if command -v shellcheck >/dev/null; then
	# shellcheck disable=SC2086
	shellcheck -S warning $scripts || failed=1
fi

# A unit's misspelt key is only a warning, and the sandbox is lost.
unit=board/common/mqonce.service
if command -v systemd-analyze >/dev/null; then
	score=$(systemd-analyze security --offline=yes "$unit" |
		sed -n 's/.*exposure level.*: \([0-9.]*\) .*/\1/p')
	awk -v s="$score" 'BEGIN { exit !(s > 0 && s <= 2.0) }' ||
		bad "$unit: exposure $score, more than 2.0"
	systemd-analyze verify "$unit" 2>&1 | grep "mqonce.service:[0-9]" &&
		failed=1
fi

# reads FILE VARIABLE=VALUE...: make has nothing to say about it.
reads() {
	f=$1
	shift
	[ -e "$f" ] || return 0
	make -pn -f "$f" "$@" nothing >/dev/null 2>build/reads || :
	grep -v "No rule to make target" build/reads &&
		bad "$f: make complains"
	return 0
}
mkdir -p build/empty
: >build/empty/rules.mk
: >build/empty/package.mk
reads board/openwrt/mqonce/Makefile "TOPDIR=build/empty" \
	"INCLUDE_DIR=build/empty"
reads board/buildroot/package/mqonce/mqonce.mk BR2_EXTERNAL_MQONCE_PATH=.
reads board/buildroot/external.mk BR2_EXTERNAL_MQONCE_PATH=board/buildroot

# What a board's program writes with `init` is read by it.
for f in board/*/mqonce.conf; do
	awk -f board/common/conf.awk "$f" board/common/mqonce.conf \
		>build/empty/mqonce.conf || bad "$f"
	"$1" check --print -c build/empty/mqonce.conf >/dev/null || bad "$f"
	[ "$f" = board/common/mqonce.conf ] ||
		! cmp -s build/empty/mqonce.conf board/common/mqonce.conf ||
		bad "$f: changes nothing"
done
exit $failed
