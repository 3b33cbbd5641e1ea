#!/bin/sh
# Stands in for the program: runs it under valgrind.  What that finds lies in
# $VALGRIND_LOGS, a file per process.
exec valgrind -q --leak-check=full --show-leak-kinds=definite \
	--errors-for-leak-kinds=definite --trace-children=no --child-silent-after-fork=yes \
	--log-file="$VALGRIND_LOGS/%p" "$MQONCE_PLAIN" "$@"
