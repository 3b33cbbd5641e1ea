#!/bin/sh
# The commit as C: git's, with a + when files differ from it, or the one that
# git wrote into board/common/commit when it made an archive.
set -eu

commit=$(cat board/common/commit)
case $commit in
'$'*)
	commit=unknown
	[ ! -e .git ] || commit=$(git rev-parse HEAD || echo unknown)
	[ "$commit" = unknown ] || git diff-index --quiet HEAD -- ||
		commit=$commit+
	;;
esac
cat <<END
#include "commit.h"

const char mqonce_commit[] = "$commit";
END
