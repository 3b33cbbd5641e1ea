# Raspberry Pi 3, 4 and Zero 2 W with a 64-bit system.
include board/generic-arm64/board.mk
