#!/bin/sh
# Installs the package in a small Debian, works with it, upgrades it with a live
# store to a version that knows one migration more, goes back, removes, purges.
set -eu

root=$PWD/build/debroot
out=build/deb-test
old=0.1.0
new=0.2.0

say() { echo "-- $*"; }
die() {
	echo "FAILED: $*" >&2
	exit 1
}
# inside COMMAND...: in the small Debian, as root.
inside() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}
wait_for() {
	what=$1
	shift
	n=0
	until "$@" >/dev/null 2>&1; do
		n=$((n + 1))
		[ $n -le 60 ] || die "$what does not come"
		sleep 0.5
	done
}
seats() {
	inside sqlite3 -readonly /var/lib/mqonce/store.db \
		"SELECT seats_taken FROM course WHERE id = 'c1'"
}
publish() {
	inside mosquitto_pub -h 127.0.0.1 -p 18831 -q 1 -t courses/c1/enrolled -m \
		"{\"id\":\"$1\",\"course\":\"c1\",\"student\":\"s$1\"}"
}
seats_are() { [ "$(seats)" = "$1" ]; }

[ "$(id -u)" = 0 ] || die "needs root, for a chroot"
if [ ! -e "$root/.complete" ]; then
	rm -rf "$root"
	# shellcheck disable=SC1091
	. /etc/os-release
	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' | grep -v security | sort -u | head -n 1)
	debootstrap --variant=minbase --include=mosquitto,mosquitto-clients,\
sqlite3,libmosquitto1,libsqlite3-0,libinih1,libssl3,adduser \
		"$VERSION_CODENAME" "$root" "$mirror" >build/debootstrap.log
	: >"$root/.complete"
fi

say "two packages: $old, and $new with one migration more"
rm -rf "$out"
mkdir -p "$out"
make -s deb VERSION=$old >"$out/log" 2>&1 || die "see $out/log"
mkdir "$out/tree"
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$out/tree"
last=$(find schema -name '[0-9]*.sql' | sort | tail -n 1)
last=${last#schema/}
next=$(printf '%04d' $((${last%%_*} + 1)))	# no more than seven: no octal
echo "CREATE TABLE once_later (x INTEGER) STRICT;" \
	>"$out/tree/schema/${next}_later.sql"
make -s -C "$out/tree" deb VERSION=$new >>"$out/log" 2>&1 ||
	die "see $out/log"
arch=$(dpkg --print-architecture)
cp "build/deb/$arch/mqonce_${old}_$arch.deb" \
	"$out/tree/build/deb/$arch/mqonce_${new}_$arch.deb" "$root/tmp/"
lintian --fail-on error,warning "build/deb/$arch/mqonce_${old}_$arch.deb" ||
	die lintian

broker=
clean_up() {
	pid=$(cat "$root/run/mqonce/mqonce.pid" 2>/dev/null) && kill "$pid"
	[ -z "$broker" ] || kill "$broker"
	sleep 1
	umount "$root/proc" "$root/dev"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
MQONCE_PURGE_STORE=1 chroot "$root" dpkg --purge mqonce >/dev/null 2>&1 || :
rm -rf "$root/var/lib/mqonce"
# There is no process 1: let the package start and stop its daemon all the same.
printf '#!/bin/sh\nexit 0\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
# The broker has an address of its own, should another one run here.
printf 'listener 18831 127.0.0.1\nallow_anonymous true\n' \
	>"$root/etc/broker.conf"
chroot "$root" mosquitto -c /etc/broker.conf >>"$out/log" 2>&1 &
broker=$!

say "install: no configuration, nothing runs"
inside dpkg -i "/tmp/mqonce_${old}_$arch.deb" >>"$out/log" 2>&1
inside service mqonce status && die "it runs"

say "configure, start, events"
inside mqonce init >/dev/null
sed -i 's|^url = .*|url = mqtt://127.0.0.1:18831|' "$root/etc/mqonce/mqonce.conf"
echo "INSERT INTO course (id, seats) VALUES ('c1', 100);" \
	>"$root/etc/mqonce/schema/test.sql"
inside mqonce check >/dev/null
owner=$(inside stat -c %U:%a /var/lib/mqonce)
[ "$owner" = mqonce:700 ] || die "/var/lib/mqonce is $owner"
inside service mqonce start
wait_for "the daemon" inside mqonce status
pid=$(cat "$root/run/mqonce/mqonce.pid")
user=$(inside stat -c %U "/proc/$pid")
[ "$user" = mqonce ] || die "it runs as $user"
sleep 2		# subscribed
for i in 1 2 3 3; do publish $i; done
wait_for "three seats" seats_are 3

say "upgrade with a live store"
inside dpkg -i "/tmp/mqonce_${new}_$arch.deb" >>"$out/log" 2>&1
[ "$(inside mqonce version | grep -c "$new")" -ge 1 ] || die "not upgraded"
wait_for "the daemon" inside mqonce status
[ "$(seats)" = 3 ] || die "events lost: $(seats)"
publish 3
publish 4
wait_for "the fourth seat" seats_are 4

say "downgrade: the store is refused with 65, and unchanged"
inside dpkg -i "/tmp/mqonce_${old}_$arch.deb" >>"$out/log" 2>&1
rc=0
inside setpriv --reuid mqonce --regid mqonce --clear-groups timeout 20 \
	mqonce run >"$out/refused" 2>&1 || rc=$?
cat "$out/refused"
[ "$rc" = 65 ] || die "exit status $rc"
inside dpkg -i "/tmp/mqonce_${new}_$arch.deb" >>"$out/log" 2>&1
wait_for "the daemon" inside mqonce status
[ "$(seats)" = 4 ] || die "events lost: $(seats)"

say "remove: the daemon stops, the store stays"
inside dpkg -r mqonce >>"$out/log" 2>&1
[ ! -e "$root/run/mqonce/mqonce.pid" ] || die "still there"
[ "$(seats)" = 4 ] || die "the store is gone"

say "purge: the configuration goes, the store only when asked for"
inside dpkg --purge mqonce | grep "kept in /var/lib/mqonce" || die "not said"
[ ! -e "$root/etc/mqonce" ] || die "/etc/mqonce is there"
[ -e "$root/var/lib/mqonce/store.db" ] || die "the store is gone"
inside dpkg -i "/tmp/mqonce_${old}_$arch.deb" >>"$out/log" 2>&1
inside env MQONCE_PURGE_STORE=1 dpkg --purge mqonce >>"$out/log" 2>&1
[ ! -e "$root/var/lib/mqonce" ] || die "the store is there"
echo passed
