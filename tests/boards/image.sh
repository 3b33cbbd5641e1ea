#!/bin/sh
# image.sh IMAGE WORK: boots the virtual machine once, looks what its mqonce
# needs when idle, and runs the demo in it.
set -eu

image=$1 work=$2
PATH=$PATH:/usr/sbin:/sbin
boot_s=40 demo_s=300
rm -rf "$work"
mkdir -p "$work/etc"

die() {
	tail -n 20 "$work/console" >&2
	echo "image.sh: $*" >&2
	exit 1
}

# The example's configuration, and the demo beside it.
cp -R board/common/mqonce.conf board/common/handlers board/common/schema \
	tests/demo/demo.sh "$work/etc"
mke2fs -q -t ext4 -L mqonce-etc -d "$work/etc" "$work/etc.img" 4M
cp --sparse=always "$image/data.img" "$work/data.img"
mkfifo "$work/keys"
exec 3<>"$work/keys"
qemu-system-aarch64 -M virt -cpu cortex-a53 -m 256 -nographic -no-reboot \
	-kernel "$image/kernel" -initrd "$image/initrd" \
	-append 'console=ttyAMA0 quiet' \
	-drive "if=virtio,format=raw,readonly=on,file=$image/disk.img" \
	-drive "if=virtio,format=raw,file=$work/data.img" \
	-drive "if=virtio,format=raw,readonly=on,file=$work/etc.img" \
	-netdev user,id=n -device virtio-net-device,netdev=n \
	<"$work/keys" >"$work/console" 2>&1 &
machine=$!
trap 'kill -9 $machine 2>/dev/null || :' EXIT
trap 'exit 1' INT TERM
began=$(date +%s)

# wait_for TEXT SECONDS: a line of the console begins with it.
wait_for() {
	end=$(($(date +%s) + $2))
	until grep -q "^$1" "$work/console"; do
		kill -0 $machine || die "the machine ended"
		[ "$(date +%s)" -le $end ] || die "no $1 within $2 seconds"
		sleep 0.2
	done
}
# answer KEY SECONDS COMMAND: what it prints behind KEY=.  Without the tabs of
# this file, which the shell there would complete words for.
answer() {
	printf '%s\n' "$3" | tr -d '\t' >&3
	wait_for "$1=" "$2"
	sed -n "s/\r//; s/^$1=//p" "$work/console"
}

wait_for "/ # " $boot_s
# shellcheck disable=SC2016
answer up $boot_s 'until mqonce status | grep -q ", connected"; do
	sleep 0.2; done; echo up=$(cut -d " " -f 1 /proc/uptime)' >/dev/null
took=$(($(date +%s) - began))
[ $took -le $boot_s ] || die "the boot took $took s"
# shellcheck disable=SC2016
plain=$(answer plain 10 'echo plain=$(mqonce version | grep -c "no TLS")')
rss_kb=$((plain ? 4096 : 7168))
sleep 10	# idle
# shellcheck disable=SC2016
rss=$(answer rss 10 'echo rss=$(grep -E "^(VmRSS|RssAnon|RssFile)" \
	/proc/$(cat /run/mqonce/mqonce.pid)/status | tr -d :)')
echo "connected after $took s; idle: $rss"
echo "$rss" | awk -v most=$rss_kb '{ exit $1 != "VmRSS" || $2 > most }' ||
	die "more than $rss_kb kB"

# shellcheck disable=SC2016
demo=$(answer demo $demo_s 'TMPDIR=/var/lib sh /etc/mqonce/demo.sh \
	/usr/sbin/mqonce; echo demo=$?')
[ "$demo" = 0 ] || die "the demo failed: $demo"
echo "the demo passed in the machine"
