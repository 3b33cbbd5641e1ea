#!/bin/sh
# deps.sh NAME: builds static libraries from Debian's sources into
# build/deps/NAME, for the compiler and flags that make gives in the
# environment, and writes tls/libs.mk there, which says how to use them.  With
# TLS=0 it leaves OpenSSL out and writes plain/libs.mk.  With LIBC=musl that C
# library is built first, and a compiler beside it that uses it.
# SQLITE_SRC, MOSQUITTO_SRC, OPENSSL_SRC and MUSL_SRC name sources of your own.
set -eu

name=$1
TLS=${TLS:-1}
kind=tls
[ "$TLS" != 0 ] || kind=plain
own_cc=$CC
cc_key=$CC
reached=0
deps=build/deps
obj=$deps/obj/$name
out=$deps/$name
log=$obj/log
jobs=$(nproc)
flags="-O2 -ffunction-sections -fdata-sections ${BOARD_CFLAGS:-}"

# Of what Debian's build offers to SQL, all that an operator's statements can
# want; no threads, no extensions, no shared cache, and a bounded printf().
sqlite_options="-DSQLITE_THREADSAFE=0 -DHAVE_FDATASYNC=1 -DHAVE_USLEEP=1
-DSQLITE_TEMP_STORE=3 -DSQLITE_DEFAULT_MEMSTATUS=1 -DSQLITE_DQS=0
-DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_SHARED_CACHE
-DSQLITE_OMIT_DEPRECATED -DSQLITE_LIKE_DOESNT_MATCH_BLOBS
-DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_MATH_FUNCTIONS
-DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_PRINTF_PRECISION_LIMIT=1000000"
mosquitto_options="-DWITH_THREADING -DWITH_UNIX_SOCKETS"
# Without TLS it takes getrandom() from glibc only, unless told.
[ "$TLS" != 0 ] || mosquitto_options="$mosquitto_options -DHAVE_GETRANDOM=1
-include sys/random.h"
# A client of TLS 1.2 and 1.3 with the ciphers that brokers use.
openssl_options="no-shared no-pic no-engine no-deprecated no-module no-legacy
no-dso no-apps no-tests no-docs no-filenames no-ui-console no-comp no-cms
no-cmp no-ts no-ct no-srp no-psk no-srtp no-dtls no-quic no-ssl3 no-tls1
no-tls1_1 no-rfc3779 no-gost no-sm2 no-sm3 no-sm4 no-aria no-camellia no-seed
no-idea no-bf no-cast no-des no-rc2 no-rc4 no-md4 no-mdc2 no-rmd160
no-whirlpool no-blake2 no-siv no-ocb no-scrypt no-argon2 no-dsa no-ec2m
no-ml-dsa no-slh-dsa"
cmocka_options="-DHAVE_INTTYPES_H -DHAVE_SIGNAL_H -DHAVE_STRSIGNAL
-DHAVE_MALLOC_H -DHAVE_STRUCT_TIMESPEC -DHAVE_CLOCK_GETTIME
-DHAVE_CLOCK_REALTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE -D_GNU_SOURCE"
# What cmocka.h wants to hear where <stdint.h> is not glibc's.
stdint_is_there=
[ "${LIBC:-}" != musl ] || stdint_is_there=-D_UINTPTR_T_DEFINED

say() {
	printf '  %-7s %s\n' "$1" "$2" >&2
}

# find_source PACKAGE OLDEST [OWN]: sets $src, and $version if it is known.
find_source() {
	src=${3:-$deps/src/$1}
	if [ -z "${3:-}" ] && [ ! -e "$src/.version" ]; then
		# A mirror out of reach is waited for once only.
		[ "$reached" != 2 ] || return 1
		reached=0
		sh board/common/fetch.sh "$(pwd)/$deps" "$1" "$2" || reached=$?
		[ $reached = 0 ] || return 1
	fi
	version=$(sed 's/-[^-]*$//' "$src/.version" 2>/dev/null || true)
}

# changed FILE: a file of $src that is newer, unless it is Debian's.
changed() {
	[ -e "$src/.version" ] || find "$src" -newer "$1" ! -type d | head -n 1
}

# built LIBRARY OPTIONS: it is there already, of this source and these flags.
# Sources of your own may have been changed since.
built() {
	key="$version $src $cc_key $flags $2"
	[ ! -e "$out/lib/$1.a" ] || [ "$(cat "$obj/$1.key")" != "$key" ] ||
		[ -n "$(changed "$out/lib/$1.a")" ] || return 0
	echo "$key" >"$obj/$1.key"
	rm -f "$out/lib/$1.a"
	say CC "$out/lib/$1.a"
	return 1
}

# archive LIBRARY FLAGS FILE...: a library of one object each.
archive() {
	lib=$1 options=$2
	shift 2
	built "$lib" "$options" && return
	rm -rf "${obj:?}/$lib"
	mkdir -p "$obj/$lib"
	printf '%s\n' "$@" | xargs -P "$jobs" -I % sh -c '
		f=$1 to=$2; shift 2
		exec "$@" -w -c -o "$to/$(basename "$f" .c).o" "$f"' \
		sh % "$obj/$lib" $CC $flags $options >>"$log" 2>&1 || failed
	${CROSS_COMPILE:-}ar rcsD "$out/lib/$lib.a" "$obj/$lib"/*.o
}

failed() {
	grep -i -e error -e "can't" "$log" | cut -c 1-200 | tail -n 5 >&2
	echo "$name: the build of its libraries failed: see $log" >&2
	exit 1
}

# The amalgamation, made as SQLite's own release is.
build_sqlite3() {
	amalgamation=$src
	[ -e "$src/sqlite3.c" ] || amalgamation=$deps/obj/sqlite3
	if [ ! -e "$amalgamation/sqlite3.c" ] || {
		[ "$amalgamation" != "$src" ] &&
		{ [ "$(cat "$amalgamation/.from")" != "$src $version" ] ||
		[ -n "$(changed "$amalgamation/sqlite3.c")" ]; }
	}; then
		say GEN "$amalgamation/sqlite3.c"
		rm -rf "$amalgamation"
		mkdir -p "$amalgamation"
		from=$(cd "$src" && pwd)
		(
			# By this machine's compiler.
			unset CC
			cd "$amalgamation" &&
			"$from/configure" --disable-tcl && make sqlite3.c
		) >>"$log" 2>&1 || failed
		echo "$src $version" >"$amalgamation/.from"
	fi
	archive libsqlite3 "$sqlite_options" "$amalgamation/sqlite3.c"
	cp "$amalgamation/sqlite3.h" "$out/include"
}

# header_dir HEADER: where the compiler has it from.
header_dir() {
	echo "#include <$1>" | $CC -E -xc - |
		sed -n "s|^# 1 \"\(.*\)/$1\".*|\1|p" | head -n 1
}

# The C library and its headers, the kernel's headers, and bin/musl-cc.  It
# finds them from where it lies itself, so the directory may be moved.
build_musl() {
	musl_options="-Os -ffunction-sections -fdata-sections
		-fno-unwind-tables -fno-asynchronous-unwind-tables"
	if ! built musl "$musl_options"; then
		rm -rf "$obj/musl" "$out/musl"
		mkdir -p "$obj/musl"
		from=$(cd "$src" && pwd)
		to=$(cd "$out" && pwd)
		(
			cd "$obj/musl" &&
			CFLAGS=$(echo $musl_options ${BOARD_CFLAGS:-}) \
				"$from/configure" --prefix=/musl \
				--target="$($CC -dumpmachine)" \
				--disable-shared --enable-wrapper=gcc &&
			make -j"$jobs" DESTDIR="$to" install
		) >>"$log" 2>&1 || failed
		for dir in linux asm asm-generic; do
			ln -s "$(header_dir $dir/types.h)/$dir" \
				"$out/musl/include/$dir"
		done
		sed 's|/musl\(/[^ ;}]*\)|%:getenv(MUSL \1)|g' \
			"$out/musl/lib/musl-gcc.specs" >"$out/musl/specs"
		ln -sf ../musl/lib/libc.a "$out/lib/musl.a"
	fi
	mkdir -p "$out/bin"
	cat >"$out/bin/musl-cc" <<-END
	#!/bin/sh
	MUSL=\$(dirname "\$0")/../musl
	export MUSL
	exec $own_cc -specs "\$MUSL/specs" "\$@"
	END
	chmod +x "$out/bin/musl-cc"
	PATH=$(cd "$out/bin" && pwd):$PATH
	CC="musl-cc"
	cc_key="$own_cc, musl $(cksum <"$out/lib/musl.a")"
}

build_openssl() {
	built libssl "$openssl_options" && return
	rm -rf "$obj/openssl"
	mkdir -p "$obj/openssl"
	case $src in
	/*) from=$src ;;
	*) from=../../../../../$src ;;
	esac
	# A relative source, and no date: the same bytes in any directory.
	(
		export SOURCE_DATE_EPOCH=0
		# Configure would put the prefix before each.
		export CC AR="${CROSS_COMPILE:-}ar" RANLIB="${CROSS_COMPILE:-}ranlib"
		unset CROSS_COMPILE
		cd "$obj/openssl" &&
		perl "$from/Configure" $OPENSSL_TARGET --prefix=/usr \
			--openssldir=/etc/ssl --libdir=lib $openssl_options $flags &&
		make -j"$jobs" build_generated &&
		make -j"$jobs" libcrypto.a libssl.a
	) >>"$log" 2>&1 || failed
	cp "$obj"/openssl/lib*.a "$out/lib"
	cp -R "$src/include/openssl" "$obj/openssl/include/openssl" \
		"$out/include"
}

# build_mosquitto LIBRARY: the client's half of it.
build_mosquitto() {
	archive "$1" "-I$src -I$src/include -I$src/lib -I$src/libcommon
		-I$src/deps -I$src/common -I$out/include $mosquitto_options" \
		"$src"/lib/*.c "$src"/libcommon/[!cp]*.c \
		"$src"/libcommon/property_common.c
	cp -R "$src/include/mosquitto.h" "$src/include/mosquitto" "$out/include"
}

# missing PACKAGE PKG_CONFIG_NAME: the distribution's then, on the host.
missing() {
	if [ "$name" != host ]; then
		echo "$1: no source of it can be had, and $name cannot do" \
			"without: see board/common/README.md" >&2
		exit 1
	fi
	say NONE "no source of $1 to be had: the distribution's is used"
	system="$system $2"
}

# quoted TEXT...: one C string.
quoted() {
	echo "\"$*\""
}

sh tests/support/packages.sh perl dpkg-dev xz-utils
mkdir -p "$out/include/cjson" "$out/lib" "$obj"
: >"$log"
# All that libmosquitto's headers want of it; its code for it is left out.
echo "typedef struct cJSON cJSON;" >"$out/include/cjson/cJSON.h"
system="" define=""

if [ "${LIBC:-}" = musl ]; then
	find_source musl 1.2.5 "${MUSL_SRC:-}" || missing musl
	build_musl
fi
if find_source sqlite3 3.53.4 "${SQLITE_SRC:-}"; then
	build_sqlite3
	sqlite="$out/lib/libsqlite3.a -lm"
else
	missing sqlite3 sqlite3
	sqlite=""
fi
openssl=""
if [ "$TLS" = 0 ]; then
	:
elif find_source openssl 3.5 "${OPENSSL_SRC:-}"; then
	build_openssl
	openssl="$out/lib/libssl.a $out/lib/libcrypto.a"
	define="$define
#define DEPS_OPENSSL_OPTIONS $(quoted $openssl_options)"
else
	missing openssl openssl
fi
if find_source mosquitto 2.1.2 "${MOSQUITTO_SRC:-}"; then
	version=${version:-$(sed -n 's/^VERSION=//p' "$src/config.mk")}
	if [ "$TLS" = 0 ]; then
		mosquitto=libmosquitto-plain
	else
		mosquitto=libmosquitto
		mosquitto_options="$mosquitto_options -DWITH_TLS"
	fi
	build_mosquitto $mosquitto
	mosquitto=$out/lib/$mosquitto.a
	define="$define
#define DEPS_LIBMOSQUITTO $(quoted "$version")
#define DEPS_LIBMOSQUITTO_OPTIONS $(quoted $mosquitto_options)"
else
	missing mosquitto libmosquitto
	mosquitto=""
fi
if find_source libinih 0; then
	archive libinih "" "$src/ini.c"
	cp "$src/ini.h" "$out/include"
	inih=$out/lib/libinih.a
else
	missing libinih inih
	inih=""
fi
if find_source xxhash 0; then
	cp "$src"/xxh*.h "$out/include"
else
	missing xxhash libxxhash
fi
if find_source cmocka 0; then
	archive libcmocka "-I$src/include $cmocka_options
		$stdint_is_there" "$src/src/cmocka.c"
	cp "$src"/include/cmocka*.h "$out/include"
fi

# write FILE: stdin, if it says anything new; make starts over for a new file.
write() {
	cat >"$1.new"
	if cmp -s "$1.new" "$1"; then
		rm "$1.new"
	else
		mv "$1.new" "$1"
	fi
}

mkdir -p "$out/$kind"
write "$out/$kind/deps.h" <<END
/* What the libraries are built from, for mqonce version. */$define
END
musl=
[ "${LIBC:-}" != musl ] || musl=$out/lib/musl.a
# The key is of what is in them: the program is built anew when that changes.
write "$out/$kind/libs.mk" <<END
DEPS_CPPFLAGS := -isystem $out/include -isystem $out/$kind -DMQONCE_DEPS $stdint_is_there
DEPS_LDFLAGS := -L$out/lib
DEPS_LIBS := $mosquitto $openssl $sqlite $inih -lpthread
DEPS_SYSTEM :=$system
DEPS_KEY := $(cat $mosquitto $openssl ${sqlite% -lm} $inih $musl \
	"$out/$kind/deps.h" | cksum)
${musl:+override CC := $out/bin/musl-cc}
END
# Newer than this script and the board's settings, or make would ask again.
for file in "$0" ${BOARD_MK:-}; do
	[ -z "$(find "$file" -newer "$out/$kind/libs.mk")" ] ||
		touch "$out/$kind/libs.mk"
done
