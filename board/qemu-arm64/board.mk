# The virtual machine of qemu-system-aarch64 -M virt.
include board/generic-arm64/board.mk
