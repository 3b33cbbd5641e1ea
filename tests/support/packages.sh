#!/bin/sh
# Makes sure of the Debian packages that building and testing need, and of those
# it is given.  As root it installs what is missing; as anyone else it names the
# one line and stops.
set -eu

want="gcc make pkg-config libc6-dev libsqlite3-dev libmosquitto-dev libssl-dev
libinih-dev libxxhash-dev libcmocka-dev mosquitto mosquitto-clients sqlite3
openssl $*"

command -v dpkg-query >/dev/null || exit 0	# not Debian: the compiler will tell

missing=""
for p in $want; do
	case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
	installed) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "These Debian packages are missing. Run this, then try again:" >&2
	echo "  sudo apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
