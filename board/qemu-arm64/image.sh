#!/bin/sh
# image.sh DIR: kernel, initrd and disks of the virtual machine in DIR, around
# what `make install` has put into DIR/root.
set -eu

here=$(dirname "$0")
dir=$1
root=$dir/root

say() { printf '  %-7s %s\n' "$1" "$2"; }

sh "$here/fetch.sh" "$(realpath "$dir")" linux-image-cloud-arm64 busybox-static \
	mosquitto mosquitto-clients sqlite3
rm -rf "$dir/linux" "$dir/early"
mkdir -p "$dir/linux" "$dir/early/bin" "$dir/early/root"
for deb in "$dir"/debs/*.deb; do
	case $deb in
	*/linux-image-*) dpkg-deb -x "$deb" "$dir/linux" ;;
	*) dpkg-deb -x "$deb" "$root" ;;
	esac
done

say GEN "$dir/kernel"
cp "$dir"/linux/boot/vmlinuz-* "$dir/kernel"

# Only what stands between the kernel and the disks, in the order to load it.
say GEN "$dir/initrd"
PATH=$PATH:/usr/sbin:/sbin
version=$(ls "$dir/linux/lib/modules")
base=$(realpath "$dir/linux")
depmod -b "$base" "$version"
for m in virtio_mmio virtio_pci virtio_blk virtio_net ext4; do
	modprobe -d "$base" -S "$version" --show-depends $m
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
	while read -r file; do
		cp "$file" "$dir/early/"
		echo "${file##*/}"
	done >"$dir/early/modules"
cp "$root/bin/busybox" "$dir/early/bin/"
ln -s busybox "$dir/early/bin/sh"
install -m 755 "$here/initrd.sh" "$dir/early/init"
(cd "$dir/early" && find . | cpio -o -H newc -R 0:0 --quiet | gzip -9n) \
	>"$dir/initrd"

say GEN "$dir/disk.img"
rm -rf "$root"/usr/lib/*/gconv
(cd "$root/usr/share" && rm -rf man locale lintian bug initramfs-tools &&
	find doc -name 'changelog*' -delete)
for applet in $(qemu-aarch64-static "$root/bin/busybox" --list); do
	[ -e "$root/bin/$applet" ] || [ -e "$root/usr/bin/$applet" ] ||
		ln -s busybox "$root/bin/$applet"
done
mkdir -p "$root/sbin" "$root/dev" "$root/proc" "$root/sys" "$root/run" \
	"$root/tmp" "$root/root" "$root/var/lib" "$root/mnt"
ln -sf ../bin/busybox "$root/sbin/init"
ln -sf /run/resolv.conf "$root/etc/resolv.conf"
cat >"$root/etc/passwd" <<END
root::0:0:root:/root:/bin/sh
mosquitto:x:100:100::/var/lib/mosquitto:/bin/false
mqonce:x:101:101::/var/lib/mqonce:/bin/false
END
sed 's/^\([a-z]*\):[^:]*:\([0-9]*\):.*/\1:x:\2:/' "$root/etc/passwd" \
	>"$root/etc/group"
echo "127.0.0.1 localhost" >"$root/etc/hosts"
install -m 755 "$here/boot.sh" "$root/etc/init.d/boot"
install -m 644 "$here/inittab" "$root/etc/inittab"
install -m 644 "$here/mosquitto.conf" "$root/etc/mosquitto/mosquitto.conf"
cp -R board/common/mqonce.conf board/common/handlers board/common/schema \
	"$root/etc/mqonce/"
rm -f "$dir/disk.img" "$dir/data.img"
mke2fs -q -t ext4 -L mqonce-root -d "$root" "$dir/disk.img" 64M

say GEN "$dir/data.img"
mke2fs -q -t ext4 -L mqonce-data "$dir/data.img" 512M
