#!/bin/sh
# What init runs first.  The root stays read-only; what is kept lies on the
# data disk, whose journal the mount replays after a power cut.
PATH=/usr/sbin:/usr/bin:/sbin:/bin

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs tmp /tmp
disk=$(findfs LABEL=mqonce-data) && mount -o noatime "$disk" /var/lib ||
	echo "no data disk"
# Another configuration may come on a disk of its own.
disk=$(findfs LABEL=mqonce-etc 2>/dev/null) && mount -o ro "$disk" /etc/mqonce

hostname gateway
syslogd -C256
# As qemu's user network has it; the machine itself is 10.0.2.2.
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
echo "nameserver 10.0.2.3" >/run/resolv.conf

mkdir -p /var/lib/mosquitto /run/mosquitto
chown mosquitto:mosquitto /var/lib/mosquitto /run/mosquitto
mosquitto -d -c /etc/mosquitto/mosquitto.conf
/etc/init.d/mqonce start
