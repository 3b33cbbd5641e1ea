#!/bin/sh
# fetch.sh DIR PACKAGE OLDEST: the Debian source package, of that version or a
# later one, unpacked as DIR/src/PACKAGE.  Looks into the machine's own suite
# first and then into newer ones, at the machine's own mirror; apt checks the
# signatures.  Exit status 1: no suite has it; 2: none can be reached.
set -eu

dir=$1 package=$2 oldest=$3
[ ! -e "$dir/src/$package/.version" ] || exit 0
command -v apt-get >/dev/null && command -v dpkg-source >/dev/null || exit 2

mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL) $(CREATED_BY)' |
	awk '$NF == "Packages" && $2 == "Debian" { print $1; exit }')
own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -n "$mirror" ] || exit 2

# in_suite SUITE COMMAND...: apt with an index of sources of its own.
in_suite() {
	root=$dir/apt/$1 tool=$2
	shift 2
	"$tool" -qq -o "Dir::State=$root/state" -o "Dir::Cache=$root/cache" \
		-o "Dir::Etc::sourcelist=$root/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

open_suite() {
	[ ! -e "$dir/apt/$1/ready" ] || return 0
	mkdir -p "$dir/apt/$1/state/lists/partial" "$dir/apt/$1/cache"
	option=
	[ ! -e $keys ] || option="[signed-by=$keys]"
	echo "deb-src $option $mirror $1 main" >"$dir/apt/$1/sources.list"
	echo "  APT     index of $1" >&2
	in_suite "$1" apt-get -o APT::Update::Error-Mode=any update >&2 &&
		touch "$dir/apt/$1/ready"
}

# Newest first, and an older one where the index is ahead of the mirror's files.
status=2
for suite in $own trixie forky sid; do
	open_suite "$suite" || continue
	status=1
	for version in $(in_suite "$suite" apt-cache showsrc --only-source \
		"$package" 2>/dev/null | awk '$1 == "Version:" { print $2 }' |
		sort -rVu); do
		file=${version#*:}
		dpkg --compare-versions "$file" ge "$oldest" || break
		mkdir -p "$dir/src" "$dir/apt/files"
		(cd "$dir/apt/files" && in_suite "$suite" apt-get source \
			--download-only --only-source \
			"$package=$version" >&2 2>/dev/null) || continue
		echo "  APT     $package $version from $suite" >&2
		rm -rf "$dir/src/$package"
		dpkg-source --no-check --no-copy -x \
			"$dir/apt/files/${package}_$file.dsc" \
			"$dir/src/$package" >/dev/null
		echo "$file" >"$dir/src/$package/.version"
		exit 0
	done
done
exit $status
