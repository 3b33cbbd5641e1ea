#!/bin/sh
# A page of the manual without what is not built yet.
exec sed -e '/^\.\\" not built: /,/^\.\\" end of /d' -e '/^\.\\"/d' "$@"
