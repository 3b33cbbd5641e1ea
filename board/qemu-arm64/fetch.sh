#!/bin/sh
# fetch.sh DIR PACKAGE...: the packages, as arm64, with what they depend on, in
# DIR/debs.  They come from the machine's own suites and mirrors, by an apt that
# has no part in the machine's own; it checks the signatures.
set -eu

dir=$1
shift
ready=$dir/debs/ready
[ "$(cat "$ready" 2>/dev/null)" != "$*" ] || exit 0
rm -rf "$dir/debs" "$dir/apt"
mkdir -p "$dir/debs/partial" "$dir/apt/lists/partial"

keys=/usr/share/keyrings/debian-archive-keyring.gpg
option="arch=arm64"
[ ! -e $keys ] || option="$option signed-by=$keys"
# shellcheck disable=SC2016
apt-get indextargets \
	--format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(LABEL) $(CREATED_BY)' |
	awk -v o="$option" '$NF == "Packages" && $4 ~ /^Debian/ {
		print "deb [" o "]", $1, $2, $3 }' | sort -u >"$dir/apt/sources.list"

# Taken as there: what only installs packages, and what makes an initrd.
for p in adduser debconf dpkg init-system-helpers initramfs-tools kmod \
	linux-base lsb-base sysvinit-utils; do
	printf '%s\n' "Package: $p" "Status: install ok installed" \
		"Architecture: all" "Version: 999" "Maintainer: none" \
		"Description: none" ""
done >"$dir/apt/status"

apt() {
	apt-get -qq -o "Dir::State=$dir/apt" -o "Dir::Cache=$dir/apt" \
		-o "Dir::State::status=$dir/apt/status" \
		-o "Dir::Cache::archives=$dir/debs" \
		-o "Dir::Etc::sourcelist=$dir/apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Architecture=arm64 -o APT::Architectures=arm64 \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}
echo "  APT     $*" >&2
apt -o APT::Update::Error-Mode=any update
apt -y --no-install-recommends --download-only install "$@" >/dev/null
echo "$*" >"$ready"
