# Builds mqonce.  `make help` lists the targets.

PROG		:= mqonce
VERSION		:= 0.1.0
PREFIX		?= /usr
SBINDIR		?= $(PREFIX)/sbin
MANDIR		?= $(PREFIX)/share/man
COMPDIR		?= $(PREFIX)/share/bash-completion/completions
SYSCONFDIR	?= /etc
DOCDIR		?= $(PREFIX)/share/doc/$(PROG)
UNITDIR		?= $(PREFIX)/lib/systemd/system
DESTDIR		?=
# Which service files `make install` brings: SYSTEMD=1, INIT=procd, sysv or s6.
SYSTEMD		?=
INIT		?=
CROSS_COMPILE	?=
PKG_CONFIG	?= $(CROSS_COMPILE)pkg-config

# BOARD=<dir under board/> adds that board's compiler, flags and limits.
ifdef BOARD
include board/$(BOARD)/board.mk
endif

ifeq ($(origin CC),default)
CC		:= $(CROSS_COMPILE)gcc
endif

# The libraries are those of `make deps`: always for a board, on this machine
# if they are there.  SYSTEM_LIBS=1 takes the distribution's.
TLS		?= 1
DEPS		?= $(or $(BOARD),host)
DEPS_MK		:= build/deps/$(DEPS)/$(if $(filter 0,$(TLS)),plain,tls)/libs.mk
DEPS_SYSTEM	:= sqlite3 libmosquitto $(if $(filter-out 0,$(TLS)),openssl) inih
SYSTEM_LIBS	?=
# libs.mk may name another compiler, made with a C library of its own.
DEPS_CC		:= $(CC)
ifndef SYSTEM_LIBS
ifdef BOARD
include $(DEPS_MK)
else
-include $(wildcard $(DEPS_MK))
endif
endif
CFLAGS		?= -O2 -g
SAN		?=
WERROR		?=

COVER		?=
FUZZ		?=

B		:= build/$(patsubst host,host-static,$(BOARD))$(if $(BOARD),,host)$(if $(SAN),-san)$(if $(COVER),-cover)$(if $(FUZZ),-fuzz)$(if $(filter 0,$(TLS)),-plain)

WARN		:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
		   -Wwrite-strings -Wcast-qual -Wformat=2 -Wvla -Wundef
ALL_CPPFLAGS	:= -Iinclude -D_GNU_SOURCE -DMQONCE_VERSION='"$(VERSION)"' \
		   $(DEPS_CPPFLAGS) $(CPPFLAGS)
ALL_CFLAGS	:= -std=gnu17 $(WARN) $(if $(WERROR),-Werror) -MMD -MP \
		   -ffunction-sections -fdata-sections \
		   $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) \
		   $(if $(COVER),--coverage -fprofile-update=atomic) \
		   -ffile-prefix-map=$(CURDIR)=. $(BOARD_CFLAGS) $(CFLAGS)
ALL_LDFLAGS	:= -Wl,--gc-sections $(if $(SAN),-fsanitize=$(SAN)) $(DEPS_LDFLAGS) \
		   $(BOARD_LDFLAGS) $(LDFLAGS)
# Asked when first used, so that packages can be installed before.
LIBS		 = $(eval LIBS := $(DEPS_LIBS) $(if \
		   $(DEPS_SYSTEM),$(shell $(PKG_CONFIG) --libs $(DEPS_SYSTEM))))$(LIBS)

NOT_BUILT	:= $(addprefix src/link/,$(if $(filter 0,$(TLS)),tls.c tls_words.c,tls_none.c))
SRC		:= $(filter-out src/main.c $(NOT_BUILT),$(wildcard src/*/*.c))
SQL		:= $(sort $(wildcard schema/[0-9]*.sql))
# A board may have lines of its own in the example.
BOARD_CONF	:= $(wildcard board/$(BOARD)/mqonce.conf)
CONF		:= $(if $(BOARD_CONF),$(B)/gen/mqonce.conf,board/common/mqonce.conf)
EXAMPLE		:= $(CONF) board/common/schema/seats.sql \
		   board/common/handlers/seats.sql
GEN		:= $(B)/gen/migrations.o $(B)/gen/verify.o $(B)/gen/example.o \
		   $(B)/gen/commit.o
OBJ		:= $(SRC:%.c=$(B)/%.o) $(GEN)
# The same sources with CRASH_AT= and no other difference.
CRASH_OBJ	:= $(SRC:%.c=$(B)/crash/%.o) $(B)/crash/src/main.o

tests_in	 = $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/$(1)/test_*.c))
UNIT		:= $(call tests_in,unit)
FLOW		:= $(call tests_in,flow)
SYSTEM		:= $(call tests_in,system)
CRASH		:= $(call tests_in,crash)
FUZZERS		:= $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
# fake_*.c define the product's own symbols and come before the archive, so the
# linker never looks for the module they stand in for; the rest are libraries.
# The tests' own broker speaks TLS; without it the system tests are not built.
NEED_TLS	:= $(if $(filter 0,$(TLS)),$(wildcard tests/fakes/scripted_*.c \
		   tests/fakes/certificates.c))
FAKES		:= $(patsubst %.c,$(B)/%.o,$(wildcard tests/fakes/fake_*.c))
SUPPORT		:= $(patsubst %.c,$(B)/%.o,$(filter-out tests/fakes/fake_% $(NEED_TLS), \
		   $(wildcard tests/fakes/*.c tests/support/*.c)))
BENCH		:= $(addprefix $(B)/tests/bench/,bench limit letters counter.so)
PRELOAD		:= $(B)/tests/fakes/preload/slow.so
SIM		:= $(B)/tests/sim/sim
SIM_OBJ		:= $(patsubst %.c,$(B)/%.o,$(wildcard tests/sim/*.c)) \
		   $(B)/tests/fakes/fake_clock.o

Q		:= $(if $(V),,@)
say		 = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

.PHONY: all test check unit flow system crash sim soak lint headers demo bench \
	packages deps size dist test-deps test-board test-boards reproducible deb \
	debs test-deb image test-image test-sandbox manual install clean help \
	format tidy cover corpus fuzz \
	fuzzers mutants test-brokers valgrind FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/$(PROG)		## build the program

# Targets a newcomer starts with bring their own Debian packages.
ifneq ($(filter test demo bench system crash check corpus,$(MAKECMDGOALS)),)
$(B)/flags: | packages
endif
packages:
	$(Q)sh tests/support/packages.sh

# What the script is told of the compiler.
deps_sh		 = CC='$(DEPS_CC)' CROSS_COMPILE='$(CROSS_COMPILE)' \
		   BOARD_CFLAGS='$(BOARD_CFLAGS)' LIBC='$(LIBC)' \
		   OPENSSL_TARGET='$(OPENSSL_TARGET)' \
		   BOARD_MK='$(BOARD_MK)' \
		   TLS=$(TLS) sh board/common/deps.sh $(DEPS)
BOARD_MK	:= $(filter board/%.mk,$(MAKEFILE_LIST))
OWN_SRC		:= $(SQLITE_SRC)$(MOSQUITTO_SRC)$(OPENSSL_SRC)$(MUSL_SRC)
deps:				## static libraries from Debian's sources, BOARD=x for a board
	$(Q)$(if $(BOARD_PACKAGES),sh tests/support/packages.sh $(BOARD_PACKAGES))
	$(Q)$(deps_sh)
$(DEPS_MK): board/common/deps.sh $(BOARD_MK) $(if $(OWN_SRC),FORCE)
	$(Q)$(if $(BOARD_PACKAGES),sh tests/support/packages.sh $(BOARD_PACKAGES))
	$(Q)$(deps_sh)

$(B)/$(PROG): $(B)/src/main.o $(B)/lib$(PROG).a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/$(PROG)-crash: $(CRASH_OBJ) $(GEN)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/lib$(PROG).a: $(OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/libsupport.a: $(SUPPORT)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/gen/migrations.c: $(SQL) schema/embed.awk
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f schema/embed.awk $(SQL) > $@

$(B)/gen/verify.c: schema/verify.sql schema/text.awk
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -v name=verify_sql -f schema/text.awk $< > $@

$(B)/gen/example.c: $(EXAMPLE) schema/example.awk
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f schema/example.awk $(EXAMPLE) > $@

$(B)/gen/mqonce.conf: board/common/conf.awk $(BOARD_CONF) board/common/mqonce.conf
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $^ > $@

$(B)/gen/commit.c: FORCE
	@mkdir -p $(@D)
	@sh board/common/commit.sh > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(B)/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc/store -Isrc/cmd $(ALL_CFLAGS) -c -o $@ $<

$(B)/%.o: %.c $(B)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(B)/crash/%.o: %.c $(B)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) -DCRASH_POINTS $(ALL_CFLAGS) -c -o $@ $<

# Rebuild everything when the compiler, its flags or a library change.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' > $@
flags		 = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(DEPS_KEY)
FORCE:

$(FLOW): FIRST = $(FAKES)
$(FLOW): $(FAKES)
$(B)/tests/%: $(B)/tests/%.o $(B)/libsupport.a $(B)/lib$(PROG).a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(FIRST) $(B)/libsupport.a \
		$(B)/lib$(PROG).a $(LIBS) -lcmocka -lpthread

$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/tests/fuzz/main.o $(B)/libsupport.a \
		$(B)/lib$(PROG).a $(FAKES)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< \
		$(if $(FUZZ),-fsanitize=fuzzer,$(B)/tests/fuzz/main.o) \
		$(if $(findstring wire,$@),,$(FAKES)) $(B)/libsupport.a \
		$(B)/lib$(PROG).a $(LIBS) -lcmocka -lpthread

BENCH_OBJ	:= $(addprefix $(B)/tests/bench/,broker.o consumer.o measure.o)
$(B)/tests/bench/bench: FIRST = $(BENCH_OBJ)
$(B)/tests/bench/bench: $(BENCH_OBJ)
$(B)/tests/bench/letters: FIRST = $(B)/tests/bench/measure.o
$(B)/tests/bench/letters: $(B)/tests/bench/measure.o
$(B)/tests/%.so: tests/%.c $(B)/flags
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -shared -o $@ $< -ldl

# What the program does to files past SQLite goes through tests/sim/calls.c.
POWER		:= $(B)/tests/crash/test_power
$(SIM) $(POWER): ALL_LDFLAGS += -Wl,--wrap=open,--wrap=rename,--wrap=unlink \
	-Wl,--wrap=fsync,--wrap=pwrite,--wrap=posix_fallocate \
	-Wl,--wrap=getrandom
$(POWER): FIRST = $(FAKES) $(B)/tests/sim/calls.o
$(POWER): $(FAKES) $(B)/tests/sim/calls.o
$(SIM): $(SIM_OBJ) $(B)/libsupport.a $(B)/lib$(PROG).a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lpthread

# Every program runs even if one fails; the exit status tells.
run		 = fail=0; for t in $(1); do echo "== $$t"; \
		   MQONCE=$(B)/$(PROG) MQONCE_CRASH=$(B)/$(PROG)-crash \
		   MQONCE_SLOW=$(PRELOAD) $(QEMU) $$t || fail=1; \
		   done; exit $$fail

# Two at a time, from seeds that are far apart: seed, states each, seconds.
sims		 = s=$(1); $(SIM) $$s 0 $(2) $(3) & $(SIM) $$((s + 1000000)) 0 $(2) \
		   $(3); fail=$$?; wait $$! && exit $$fail

test: lint check corpus system crash	## everything below, on a bare Debian too
check: unit flow		## unit and flow tests: seconds
unit: $(UNIT)
	$(Q)$(call run,$(UNIT))
flow: $(FLOW)
	$(Q)$(call run,$(FLOW))
system: $(SYSTEM) $(PRELOAD) $(B)/$(PROG)	## the real program against a real broker
	$(Q)$(call run,$(SYSTEM))
crash: $(CRASH) $(SIM) $(B)/$(PROG) $(B)/$(PROG)-crash	## kills, and 10,000 deaths of a model world
	$(Q)$(call run,$(CRASH))
	$(Q)$(call sims,1,5000,0)
sim: $(SIM)			## one world in the model again: SEED=n STEPS=m
	$(Q)$(SIM) $(or $(SEED),1) $(or $(STEPS),0)
soak: $(SIM)			## the model without end: STATES=n, T=seconds, SEED=n
	$(Q)$(call sims,$(or $(SEED),$$(date +%s)),$$(($(or $(STATES),1000000) / 2)),$(T))

corpus: $(FUZZERS)		## the fuzz targets over what is kept of their inputs
	$(Q)for f in $(FUZZERS); do \
		$$f tests/fuzz/corpus/$${f##*/fuzz_} 2>/dev/null || exit 1; done
fuzz:				## libFuzzer, T=60 seconds for each target
	$(Q)sh tests/support/packages.sh clang libclang-rt-14-dev
	$(Q)$(MAKE) CC=clang SAN=fuzzer-no-link,address,undefined FUZZ=1 fuzzers
	$(Q)sh tests/fuzz/fuzz.sh build/host-san-fuzz/tests/fuzz $(or $(T),60)
fuzzers: $(FUZZERS)

BROKER_TEST	:= $(B)/tests/brokers/test_broker
test-brokers: $(BROKER_TEST) $(B)/$(PROG)	## against other brokers: Debian's, and aedes from npm
	$(Q)sh tests/support/packages.sh rabbitmq-server nats-server ejabberd \
		$(if $(shell command -v npm),,nodejs npm)
	$(Q)MQONCE=$(B)/$(PROG) sh tests/brokers/run.sh $(BROKER_TEST)

valgrind: $(SYSTEM) $(B)/$(PROG)	## the system tests with the program under valgrind
	$(Q)sh tests/support/packages.sh valgrind
	$(Q)rm -rf build/valgrind && mkdir -p build/valgrind
	-$(Q)export VALGRIND_LOGS=$(abspath build/valgrind) \
		MQONCE_PLAIN=$(abspath $(B)/$(PROG)); for t in $(SYSTEM); do \
		MQONCE=tests/support/valgrind.sh $$t; done
	$(Q)! cat build/valgrind/* | grep .

# The program of a board, for tests that run here.
$(B)/emulated: FORCE
	@mkdir -p $(@D)
	$(Q)printf '#!/bin/sh\nexec %s %s "$$@"\n' '$(QEMU)' \
		'$(abspath $(B)/$(PROG))' > $@ && chmod +x $@

# Under emulation, but for the broker: what the system tests run here is the
# board's program, and they themselves are this machine's.
BOARDS		:= generic-arm64 generic-armv7
ON_HOST		?= $(addprefix build/host/tests/system/,test_gateway \
		   test_cli_store test_operate $(if $(filter 0,$(TLS)),,test_cli))
# Two at a time; what one says comes out when it has ended.
run_two		 = printf '%s\n' $(1) | xargs -P 2 -I {} sh -c 't={}; \
		   log=$(B)/$$(basename $$t).log; s=$$(date +%s); $(2) $$t \
		   >$$log 2>&1; rc=$$?; s=$$(($$(date +%s) - s)); \
		   { echo "== $$t: $$s s"; cat $$log; } | \
		   if [ $$rc = 0 ]; then grep -e "^==" -e FAILED -e PASSED; else \
		   cat; fi; exit $$rc'
test-boards:			## unit, flow and some system tests as arm64, armv7, s390x
	$(Q)for b in $(BOARDS) qemu-s390x; do \
		$(MAKE) -j2 BOARD=$$b test-board || exit 1; done
test-board: $(UNIT) $(FLOW) $(B)/$(PROG) $(B)/emulated	## the same for BOARD=x
	$(Q)sh tests/support/packages.sh qemu-user-static
	$(Q)export MUTATIONS=150; $(call run_two,$(UNIT) $(FLOW),$(QEMU))
	$(Q)$(if $(strip $(ON_HOST)),$(MAKE) BOARD= TLS=1 $(ON_HOST))
	$(Q)$(if $(strip $(ON_HOST)),$(call run_two,$(ON_HOST),MQONCE=$(B)/emulated))
	$(Q)sh tests/boards/static.sh $(B)/$(PROG) $(QEMU)
	$(Q)sh tests/boards/certificates.sh $(B)/$(PROG) $(QEMU)

test-deps: deps			## where the libraries come from, and that the program says so
	$(Q)sh tests/boards/deps.sh $(MAKE)

size: $(if $(BOARD),$(B)/$(PROG))	## the programs of the boards against their budgets
ifdef BOARD
	$(Q)n=$$(wc -c < $<); most=$(if $(filter 0,$(TLS)),$(SIZE_PLAIN),$(SIZE_TLS)); \
		echo "$<: $$n bytes of $$most"; [ $$n -le $$most ]
else
	$(Q)for b in $(BOARDS); do $(MAKE) BOARD=$$b size && \
		$(MAKE) BOARD=$$b TLS=0 size || exit 1; done
endif

reproducible:			## BOARD=x twice, in two directories: the same bytes
	$(Q)sh tests/boards/reproducible.sh $(MAKE) \
		BOARD=$(or $(BOARD),generic-arm64) TLS=$(TLS)

dist:				## the source of the last commit, as a tar file
	$(Q)mkdir -p build
	$(Q)git archive --prefix=$(PROG)-$(VERSION)/ HEAD | gzip -9n \
		> build/$(PROG)-$(VERSION).tar.gz

mutants:			## takes each rule out once; a test must go red
	$(Q)sh tests/mutants/run.sh $(M)

lint: headers $(B)/$(PROG)	## layers, foreign headers, SQL in its place, manual
	$(Q)awk -f tests/lint/layers.awk $$(find src include -name '*.[ch]')
	$(Q)sh tests/lint/manual.sh $(B)/$(PROG)
	$(Q)sh tests/lint/packages.sh $(B)/$(PROG)
manual: $(B)/$(PROG)		## bring the manual in line with the program
	$(Q)sh tests/lint/manual.sh $(B)/$(PROG) write
headers:
	$(Q)for h in $$(find include src -name '*.h'); do \
		$(CC) $(ALL_CPPFLAGS) -std=gnu17 $(WARN) -Werror -fsyntax-only \
		-x c $$h || exit 1; done

demo: $(B)/$(PROG)		## the main job, told as a story
	$(Q)sh tests/demo/demo.sh $(B)/$(PROG)

bench: $(BENCH) $(B)/$(PROG)	## speed against a bare loop, as ratios
	$(Q)$(B)/tests/bench/bench $(abspath $(B))
	$(Q)MQONCE=$(B)/$(PROG) $(B)/tests/bench/letters

# A page as it is installed: without what is not built yet.
$(B)/man/%: board/common/man/% board/common/man/built.sh
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sh board/common/man/built.sh $< > $@

install: $(B)/$(PROG) $(B)/man/mqonce.8 $(B)/man/mqonce.conf.5 $(CONF) ## into DESTDIR
	install -D -m 755 $(B)/$(PROG) $(DESTDIR)$(SBINDIR)/$(PROG)
	install -D -m 644 $(B)/man/mqonce.8 $(DESTDIR)$(MANDIR)/man8/mqonce.8
	install -D -m 644 $(B)/man/mqonce.conf.5 \
		$(DESTDIR)$(MANDIR)/man5/mqonce.conf.5
	install -D -m 644 board/common/completion/mqonce \
		$(DESTDIR)$(COMPDIR)/mqonce
	install -D -m 644 $(CONF) \
		$(DESTDIR)$(SYSCONFDIR)/mqonce/mqonce.conf.example
	install -D -m 644 NOTICE $(DESTDIR)$(DOCDIR)/NOTICE
	$(if $(BOARD),$(install_licences))
	$(if $(SYSTEMD),$(install_systemd))
	$(if $(INIT),$(install_$(INIT)))

# What a static program contains wants its licence beside it.
define install_licences
install -d $(DESTDIR)$(DOCDIR)/licences
	install -m 644 board/common/licences/* $(DESTDIR)$(DOCDIR)/licences
endef
define install_systemd
install -D -m 644 board/common/mqonce.service \
		$(DESTDIR)$(UNITDIR)/mqonce.service
	install -D -m 644 board/common/mqonce.sysusers \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/mqonce.conf
	install -D -m 644 board/common/mqonce.tmpfiles \
		$(DESTDIR)$(PREFIX)/lib/tmpfiles.d/mqonce.conf
endef
define install_sysv
install -D -m 755 board/common/mqonce.sysv \
		$(DESTDIR)$(SYSCONFDIR)/init.d/mqonce
endef
define install_procd
install -D -m 755 board/common/mqonce.procd \
		$(DESTDIR)$(SYSCONFDIR)/init.d/mqonce
	install -D -m 644 board/common/mqonce.keep \
		$(DESTDIR)/lib/upgrade/keep.d/mqonce
endef
define install_s6
install -d $(DESTDIR)$(SYSCONFDIR)/s6/sv/mqonce
	install -m 755 board/common/s6/run board/common/s6/finish \
		$(DESTDIR)$(SYSCONFDIR)/s6/sv/mqonce
	install -m 644 board/common/s6/type board/common/s6/timeout-finish \
		$(DESTDIR)$(SYSCONFDIR)/s6/sv/mqonce
endef

# The tree as a package of Debian's sees it.  DEB_ARCH=armhf or arm64 crosses,
# where the compiler and the libraries of that architecture are installed; with
# BOARD=x the package carries that board's static program instead.
DEB_ARCH	?= $(shell dpkg --print-architecture)
DEB_TREE	:= build/deb/$(DEB_ARCH)/$(PROG)-$(VERSION)
deb:				## a Debian package in build/deb: DEB_ARCH=, BOARD=
	$(Q)sh tests/support/packages.sh build-essential debhelper fakeroot
	$(Q)rm -rf $(DEB_TREE) && mkdir -p $(DEB_TREE)
	$(Q)tar -c --exclude=./build --exclude=./.git . | tar -x -C $(DEB_TREE)
	$(Q)cp -r board/debian $(DEB_TREE)/debian && \
		rm $(DEB_TREE)/debian/README.md
	$(Q)sed -i '1s/(.*)/($(VERSION))/' $(DEB_TREE)/debian/changelog
	$(Q)$(if $(BOARD),$(MAKE) BOARD=$(BOARD) VERSION=$(VERSION) && mkdir -p \
		$(DEB_TREE)/$(B) && cp $(B)/$(PROG) $(DEB_TREE)/$(B)/)
	$(Q)cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL -u MAKEOVERRIDES \
		VERSION=$(VERSION) MQONCE_BOARD=$(BOARD) \
		MQONCE_PROGRAM=$(B)/$(PROG) TLS=$(TLS) \
		dpkg-buildpackage -b -us -uc -a$(DEB_ARCH) \
		$(if $(filter $(DEB_ARCH),$(shell dpkg --print-architecture)),,-d \
		-Pcross,nocheck)
	@ls build/deb/$(DEB_ARCH)/*.deb

# What is given away: the host's from its distribution's libraries, static ones
# for the boards; one exception of lintian's is written down in rules.
debs:				## packages for this machine, arm64 and armhf, read by lintian
	$(Q)sh tests/support/packages.sh lintian
	$(Q)$(MAKE) deb
	$(Q)$(MAKE) deb DEB_ARCH=arm64 BOARD=generic-arm64
	$(Q)$(MAKE) deb DEB_ARCH=armhf BOARD=generic-armv7
	$(Q)lintian --fail-on error,warning build/deb/*/*.deb

test-deb:			## install, upgrade, remove the package in a small Debian: as root
	$(Q)sh tests/support/packages.sh debootstrap lintian
	$(Q)sh tests/boards/deb.sh

IMAGE		:= build/image
image:				## kernel, initrd and disks of a virtual machine in build/image
	$(Q)sh tests/support/packages.sh qemu-user-static e2fsprogs cpio kmod
	$(Q)rm -rf $(IMAGE)/root
	$(Q)$(MAKE) BOARD=qemu-arm64 INIT=sysv DESTDIR=$(abspath $(IMAGE)/root) \
		install
	$(Q)sh board/qemu-arm64/image.sh $(IMAGE)

POWER_CUTS	:= $(B)/tests/boards/power
POWER_OBJ	:= $(patsubst %.c,$(B)/%.o,$(wildcard tests/boards/power_*.c))
$(POWER_CUTS): FIRST = $(POWER_OBJ)
$(POWER_CUTS): $(POWER_OBJ)
test-image: $(POWER_CUTS) $(B)/$(PROG)	## the demo in the virtual machine, and 20 power cuts: SEED=n
	$(Q)sh tests/support/packages.sh qemu-system-arm e2fsprogs
	$(Q)$(MAKE) image
	$(Q)sh tests/boards/image.sh $(IMAGE) build/demo
	$(Q)MQONCE=$(B)/$(PROG) $(POWER_CUTS) $(IMAGE) build/power

SANDBOX		:= $(B)/tests/boards/sandbox
$(SANDBOX): tests/boards/sandbox.c $(B)/flags
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -o $@ $< -lseccomp
test-sandbox:			## system tests under the unit's filter and mounts: as root
	$(Q)sh tests/support/packages.sh libseccomp-dev systemd
	$(Q)$(MAKE) $(SANDBOX) $(PRELOAD) $(B)/$(PROG) $(SANDBOXED)
	$(Q)SANDBOX=$(abspath $(SANDBOX)) MQONCE_PLAIN=$(abspath $(B)/$(PROG)) \
		MQONCE_SLOW=$(abspath $(PRELOAD)) sh tests/boards/sandbox.sh $(SANDBOXED)
# All but three: the sandbox makes the folder whose absence is tested, has
# descriptors of its own, and does not see a mount made read-only outside.
SANDBOXED	:= $(filter-out %/test_cli %/test_descriptors %/test_readonly,$(SYSTEM))

# gcc 12 does not follow what AUTO_FREE is given, and server.c hands its buffers
# to a struct that it loses sight of; clang-tidy, valgrind and SAN=address look
# there.
tidy:				## gcc -fanalyzer, cppcheck, clang-tidy
	$(Q)sh tests/support/packages.sh cppcheck clang-tidy
	$(Q)for f in $(SRC) src/main.c; do \
		case $$f in src/os/server.c) no=-Wno-analyzer-malloc-leak;; \
		*) no=;; esac; \
		$(CC) $(ALL_CPPFLAGS) -std=gnu17 -O2 -fanalyzer $(WARN) \
		-Werror -Wno-analyzer-use-of-uninitialized-value $$no \
		-c -o /dev/null $$f || exit 1; done
	$(Q)cppcheck -q --std=c11 --enable=warning,performance,portability \
		--error-exitcode=1 --inline-suppr \
		--suppress=ctuuninitvar:src/base/err.c -Iinclude src
	$(Q)clang-tidy --quiet $(SRC) src/main.c -- $(ALL_CPPFLAGS) -std=gnu17

cover:				## which lines of src/ the tests run
	$(Q)rm -rf build/host-cover
	@# Two tests fail here: another user's process cannot write its counts.
	-$(Q)$(MAKE) -k COVER=1 CFLAGS='-O1 -g' unit flow system crash
	$(Q)sh tests/support/cover.sh build/host-cover

format:				## clang-format everything
	$(Q)clang-format -i $$(find src include tests -name '*.[ch]')

clean:				## remove build/
	$(call say,RM,build)
	$(Q)rm -rf build

help:				## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 18

-include $(shell [ -d $(B) ] && find $(B) -name '*.d')
