#!/bin/sh
# The first process: finds the root by its label and hands over to its init.
/bin/busybox --install -s /bin
mkdir -p /dev /proc
mount -t proc proc /proc
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "/$module"
done </modules

n=0
until disk=$(findfs LABEL=mqonce-root 2>/dev/null); do
	n=$((n + 1))
	[ $n -le 100 ] || { echo "no root"; exec sh; }
	sleep 0.1
done
mount -o ro,noatime "$disk" /root || exec sh
mount --move /dev /root/dev
umount /proc
exec switch_root /root /sbin/init
