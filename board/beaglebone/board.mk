# BeagleBone Black and its relatives.
include board/generic-armv7/board.mk
