#!/bin/sh
# static.sh PROGRAM [QEMU]: a static program in a root of its own, whose
# nsswitch names modules that are not there, finds a broker by a name of
# /etc/hosts and takes an event.
set -eu

program=$1 qemu=${2:+$(command -v "$2")}
[ "$(id -u)" = 0 ] || { echo "static.sh: skipped, chroot(2) needs root"; exit 0; }
! readelf -l "$program" | grep INTERP || { echo "not static"; exit 1; }

root=$(mktemp -d)
port=$((20000 + $$ % 10000))
pids=
trap 'kill $pids 2>/dev/null || true; wait; rm -rf "$root"' EXIT
trap 'exit 1' INT TERM
mkdir -p "$root/etc" "$root/tmp"
cp "$program" "$root/mqonce"
[ -z "$qemu" ] || cp "$qemu" "$root/qemu"
echo "127.0.0.1 broker.test" >"$root/etc/hosts"
cat >"$root/etc/nsswitch.conf" <<END
passwd: sss ldap files
group: sss ldap files
hosts: files mymachines resolve [!UNAVAIL=return] dns myhostname
END

in_root() {
	chroot "$root" ${qemu:+/qemu} /mqonce "$@"
}

wait_for() {
	for _ in $(seq 300); do
		sh -c "$1" >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "static.sh: in vain: $1"
	cat "$root/log"
	exit 1
}

in_root init /etc/mqonce >/dev/null
sed -i "s|^url = .*|url = mqtt://broker.test:$port|
	s|^path = .*|path = /var/store/store.db|" "$root/etc/mqonce/mqonce.conf"
mkdir -p "$root/var"
echo "INSERT INTO course (id, seats) VALUES ('c1', 9);" \
	>>"$root/etc/mqonce/schema/seats.sql"
printf 'listener %s 127.0.0.1\nallow_anonymous true\n' $port >"$root/broker.conf"
mosquitto -c "$root/broker.conf" >"$root/broker.log" 2>&1 &
pids=$!
in_root -c /etc/mqonce/mqonce.conf run >"$root/log" 2>&1 &
pids="$pids $!"
wait_for "grep -q link.up $root/log || grep -q subscribed $root/log"
mosquitto_pub -p $port -q 1 -t courses/1/enrolled \
	-m '{"id":"e1","course":"c1","student":"s1"}'
wait_for "[ \$(sqlite3 $root/var/store/store.db \
	'SELECT count(*) FROM roster') = 1 ]"
echo "static.sh: $program found its broker by name and took the event"
