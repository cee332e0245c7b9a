# pushgate. `make` builds build/pushgate; `make help` lists the rest.
# Objects live under build/KIND/, so the kinds (release, asan, cover, fuzz) never mix.

KIND      ?= release
# V=1 shows the commands; -s shows nothing. Of MAKEFLAGS the first word has the letters, if there are any.
Q         := $(if $(V),,@)
LETTERS    = $(foreach word,$(filter-out -%,$(firstword $(MAKEFLAGS))),$(if $(findstring =,$(word)),,$(word)))
SAY        = $(if $(V)$(findstring s,$(LETTERS)),@:,@echo)
CC        ?= cc
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
# BoringSSL: Debian's build by default, `make BORINGSSL=DIR` for another (DIR/include, DIR/lib).
ifdef BORINGSSL
SSL_CFLAGS := -isystem $(BORINGSSL)/include
SSL_LIBDIR := $(BORINGSSL)/lib
else
SSL_CFLAGS := -isystem /usr/include/android
SSL_LIBDIR := /usr/lib/$(MULTIARCH)/android
endif

VERSION  := $(shell sed -n 's/^.define PUSHGATE_VERSION "\(.*\)"/\1/p' proxy/limits.h)
WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
WERROR   ?= $(if $(CI),-Werror)
# -ffile-prefix-map: the same source makes the same program, wherever it lies.
CFLAGS_release := -O2 -g -ffile-prefix-map=$(CURDIR)=. -flto=auto -fno-plt -fPIE -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fstack-clash-protection
# PUSHGATE_INSTRUMENTED: a library of the compiler's works beside the program, and needs system calls of its own.
CFLAGS_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -DPUSHGATE_INSTRUMENTED
CFLAGS_debug   := -O1 -g
CFLAGS_cover   := -O0 -g --coverage -DPUSHGATE_INSTRUMENTED
CFLAGS_mutants := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -DPUSHGATE_INSTRUMENTED
# A fuzzer sees the branches of the program, and what parsers compare. It sees neither the harness nor the walks of
# invariants, and no comparison of the rest: they took more than half of its time.
FUZZ_PARSERS   := proxy/conf/% proxy/h1/% proxy/http/% proxy/markup/% proxy/names/% proxy/observe/% proxy/offer/% proxy/remembered/% proxy/route/% proxy/speculation/% proxy/tool/%
FUZZ_BLIND     := tests/% proxy/h2/invariants.c
FUZZ_SEES       = $(if $(filter $(FUZZ_BLIND),$<),,-fsanitize=fuzzer-no-link $(if $(filter $(FUZZ_PARSERS),$<),,-fno-sanitize-coverage=trace-cmp))
CFLAGS_fuzz     = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DPUSHGATE_FUZZ $(FUZZ_SEES)
LDFLAGS_release := -flto=auto -O2 -pie -Wl,-z,relro,-z,now
LDFLAGS_asan    := -fsanitize=address,undefined
LDFLAGS_mutants := $(LDFLAGS_asan)
LDFLAGS_cover   := --coverage
LDFLAGS_fuzz    := -fsanitize=address,undefined
ifeq ($(KIND),fuzz)
CC := clang
endif
CPPFLAGS += -I. -D_GNU_SOURCE $(SSL_CFLAGS)
ALLFLAGS  = -std=c17 $(WARN) $(WERROR) $(CFLAGS_$(KIND)) $(if $(SHARED),-fPIC) $(if $(FAST_TESTS),$(if $(filter %_test.c,$<),-O0)) $(CPPFLAGS) $(CFLAGS)
LIBS     := -L$(SSL_LIBDIR) -Wl,-rpath,$(SSL_LIBDIR) -lssl -lcrypto -lev -linih -lpcre2-8 -ljansson -lz -lbrotlidec -lzstd -luriparser -lseccomp -lcap -lcares -lcrypt -lm
TESTLIBS := -lcmocka -lnghttp2

OUT  := build/$(KIND)
SRC  := $(wildcard proxy/*/*.c) $(wildcard policy/*.c)
OBJ  := $(SRC:%.c=$(OUT)/%.o)
# The page of admin listeners, as part of the program.
PAGE := $(sort $(wildcard proxy/admin/page/*))
OBJ  += $(OUT)/made/page_files.o
LIB  := $(OUT)/libpushgate.a
# Kinds with many test programs: linking each with a shared library takes a quarter of the time, and a hundredth of the
# space. Their scenes are not optimised, which takes half of the compiler's time.
SHARED     := $(filter asan debug mutants,$(KIND))
FAST_TESTS := $(filter asan mutants,$(KIND))
TEST_LIB   := $(OUT)/libpushgate.$(if $(SHARED),so,a)
# Where a test program finds it: seen from the program's folder, so that a copied tree uses its own.
UP          = $(subst $() ,/,$(foreach folder,$(subst /, ,$(@D:$(OUT)/%=%)),..))
FIND_LIB    = $(SHARED:%=-Wl,-rpath,'$$ORIGIN/$(UP)')
TEST_SRC := $(wildcard tests/unit/*/*_test.c tests/pair/*_test.c tests/relay/*_test.c)
# Linked into each test program as objects. net_sys.o and heap.o stand in for proxy/net/sys.o and proxy/base/heap.o: an
# object comes before a library's member of the same names. Nothing of the program refers to leak_check.o, so a
# library's member would be left out.
TEST_OWN := $(OUT)/tests/support/net_sys.o $(OUT)/tests/support/heap.o $(OUT)/tests/support/leak_check.o
SUPPORT_OBJ := $(filter-out $(TEST_OWN),$(patsubst %.c,$(OUT)/%.o,$(wildcard tests/support/*.c)))
SUPPORT  := $(OUT)/libsupport.a
TEST_BIN := $(TEST_SRC:%.c=$(OUT)/%)
FUZZ_SRC := $(wildcard tests/fuzz/*_fuzz.c)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(OUT)/%)
REPLAYS  := $(FUZZ_SRC:%_fuzz.c=%_replay)

# build/pushgate is the release: another KIND leaves its program in its own folder.
all: $(if $(filter release,$(KIND)),build/pushgate,$(OUT)/pushgate)

build/pushgate: $(OUT)/pushgate
	@cp $< $@.new && mv $@.new $@

# That of scripts/mutants.mjs has the shared library, of which one object changes.
MUTABLE := $(filter mutants,$(KIND))
$(OUT)/pushgate: $(OUT)/proxy/main.o $(if $(MUTABLE),$(OUT)/proxy/net/sys.o $(TEST_LIB),$(LIB))
	$(SAY) "  LINK $@"
	$(Q)$(CC) $(CFLAGS_$(KIND)) $(LDFLAGS_$(KIND)) $(LDFLAGS) $(MUTABLE:%=-Wl,-rpath,'$$ORIGIN') -o $@ $^ $(LIBS)

$(OUT)/libpushgate.a: $(OBJ)
	@rm -f $@
	$(SAY) "  AR   $@"
	$(Q)$(if $(filter release,$(KIND)),gcc-ar,ar) rcs $@ $^

# For test programs. It has no sys.o, for which they have their own. It is replaced rather than written over: a test
# that runs meanwhile keeps the old one.
$(OUT)/libpushgate.so: $(filter-out $(OUT)/proxy/net/sys.o,$(OBJ))
	$(SAY) "  LINK $@"
	@rm -f $@
	$(Q)$(CC) $(CFLAGS_$(KIND)) $(LDFLAGS_$(KIND)) $(LDFLAGS) -shared -Wl,-soname,libpushgate.so -o $@ $^ $(LIBS)

$(OUT)/libsupport.a: $(SUPPORT_OBJ)
	$(SAY) "  AR   $@"
	@rm -f $@
	$(Q)$(if $(filter release,$(KIND)),gcc-ar,ar) rcs $@ $^

# All is compiled again when the kind's flags have changed, and not because the tree lies elsewhere.
FLAGS_USED := $(subst $(CURDIR),.,$(CFLAGS_$(KIND))) $(SHARED:%=-fPIC) $(FAST_TESTS:%=-O0)
ifneq ($(file <$(OUT)/flags),$(FLAGS_USED))
$(shell mkdir -p $(OUT))
$(file >$(OUT)/flags,$(FLAGS_USED))
endif

$(OUT)/%.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(SAY) "  CC   $@"
	$(Q)$(CC) $(ALLFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/made/page_files.c: scripts/embed $(PAGE)
	@mkdir -p $(@D)
	$(SAY) "  MAKE $@"
	$(Q)scripts/embed $(PAGE) > $@

$(OUT)/made/page_files.o: $(OUT)/made/page_files.c $(OUT)/flags
	$(SAY) "  CC   $@"
	$(Q)$(CC) $(ALLFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/tests/%_test: $(OUT)/tests/%_test.o $(TEST_OWN) $(SUPPORT) $(TEST_LIB)
	$(SAY) "  LINK $@"
	$(Q)$(CC) $(CFLAGS_$(KIND)) $(LDFLAGS_$(KIND)) $(LDFLAGS) $(FIND_LIB) -o $@ $^ $(LIBS) $(TESTLIBS)

$(OUT)/tests/bench/%: $(OUT)/tests/bench/%.o $(LIB)
	$(SAY) "  LINK $@"
	$(Q)$(CC) $(CFLAGS_$(KIND)) $(LDFLAGS_$(KIND)) -o $@ $^ $(LIBS) $(TESTLIBS)

$(OUT)/tests/fuzz/%_fuzz: $(OUT)/tests/fuzz/%_fuzz.o $(TEST_OWN) $(SUPPORT) $(TEST_LIB)
	$(SAY) "  LINK $@"
	$(Q)$(CC) $(LDFLAGS_$(KIND)) -fsanitize=fuzzer -o $@ $^ $(LIBS) $(TESTLIBS)

$(OUT)/tests/fuzz/%_replay: $(OUT)/tests/fuzz/%_fuzz.o $(OUT)/tests/fuzz/replay.o $(TEST_OWN) $(SUPPORT) $(TEST_LIB)
	$(SAY) "  LINK $@"
	$(Q)$(CC) $(CFLAGS_$(KIND)) $(LDFLAGS_$(KIND)) $(LDFLAGS) $(FIND_LIB) -o $@ $^ $(LIBS) $(TESTLIBS)

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)

# ---- tests ----

WIRE_TESTS := $(wildcard tests/support/*.test.mjs tests/wire/*.test.mjs)
PEER_TESTS := $(wildcard tests/peers/*.test.mjs)
BROWSER_TESTS := $(wildcard tests/browser/*.test.mjs)
PAGE_TESTS := $(wildcard tests/docs/*.test.mjs)
ATTACKS := $(wildcard tests/attack/rows/*.mjs)
CHECKS := $(WIRE_TESTS) $(TEST_SRC:%.c=build/asan/%) $(REPLAYS:%=build/asan/%)

tests: $(TEST_BIN) $(OUT)/pushgate

# Both builds at once, and then one queue of all test programs.
everything: asan-tests release-tests
	$(Q)env -u PUSHGATE tests/run -s 10 $(CHECKS) $(PEER_TESTS) $(BROWSER_TESTS) $(PAGE_TESTS) $(ATTACKS) scripts/lint-quick

asan-tests:
	$(Q)$(MAKE) --no-print-directory KIND=asan tests replays

release-tests: build/pushgate
	$(Q)$(MAKE) --no-print-directory $(OUT)/tests/bench/push_load $(OUT)/tests/bench/markup_read

check: asan-tests
	$(Q)PUSHGATE=$(CURDIR)/build/asan/pushgate tests/run $(CHECKS)

check-peers: release-tests
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate tests/run -j 2 $(PEER_TESTS) $(BROWSER_TESTS)

# PUSHGATE_NO_BROWSER=1 where there can be none; otherwise it must be there.
check-browser: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate tests/run -j 1 $(BROWSER_TESTS)

# The commands and configurations of README.md and of RECIPES.md, MOVING.md, FLEET.md and FORWARD.md in docs/, as they stand
# there.
check-docs-run: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate tests/run $(PAGE_TESTS)

# Each attack with an honest client beside it; ATTACK='NAME …' for some of them.
attack: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate tests/attack/run.mjs --out build/attack.md $(ATTACK)

attack-short: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate tests/attack/run.mjs --short --out build/attack.md

# The C tests again, each under valgrind: what the sanitizers' allocator hides. Left out are those that need what valgrind
# does not offer: seccomp(2), openat2(2), limits of descriptors of their own, titles of processes. One for each processor, since they
# are slow enough to miss times as it is.
NOT_UNDER_VALGRIND := $(addprefix tests/unit/process/,activation_test files_memory_test files_test hijacked_test logger_test notify_test run_test sandbox_test \
	sockets_test start_needs_test) tests/unit/net/listen_test tests/unit/conf/folder_test
check-valgrind:
	$(Q)$(MAKE) --no-print-directory KIND=debug tests
	$(Q)TEST_WRAP='valgrind -q --error-exitcode=9 --leak-check=full' tests/run -j "$$(nproc)" \
		$(addprefix build/debug/,$(filter-out $(NOT_UNDER_VALGRIND),$(TEST_SRC:%.c=%)))

# Clients and origins that cancel, die, stall and push at random, and accounts at the end.
SOAK_SECONDS ?= 1800
SOAK_RATE    ?= 300
soak: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate node tests/soak/run.mjs $(SOAK_SECONDS) $(SOAK_RATE)

# Three servers of which one dies, one is slow and one flaps, under load; the figures.
FLEET_SECONDS ?= 60
fleet: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate node tests/soak/fleet.mjs $(FLEET_SECONDS)

# Prometheus scrapes two workers under load: its figures beside those of h2load.
SCRAPE_SECONDS ?= 300
scrape: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate node tests/soak/scrape.mjs $(SCRAPE_SECONDS)

# Clients that never pause while it is reloaded, upgraded and killed; RELOADS=0.01 takes a minute or two.
RELOADS ?= 1
reloads: build/pushgate
	$(Q)PUSHGATE=$(CURDIR)/build/pushgate node tests/soak/reloads.mjs $(RELOADS)

FUZZ_SECONDS ?= 60
fuzz:
	$(Q)$(MAKE) --no-print-directory KIND=fuzz fuzzers
	tests/fuzz/run $(FUZZ_SECONDS) build/fuzz/tests/fuzz

fuzzers: $(FUZZ_BIN)

# The targets on their corpus alone, without a fuzzer.
replays: $(REPLAYS:%=$(OUT)/%)

BENCH_BIN = $(patsubst %.c,$(OUT)/%,$(wildcard tests/bench/*.c))
bench: build/pushgate $(BENCH_BIN)
	for b in $(filter %_bench,$(BENCH_BIN)); do ./$$b || exit 1; done
	scripts/setup bench
	scripts/bench
	tests/bench/early_hint.mjs
	[ "$(PUSHGATE_NO_BROWSER)" = 1 ] || { scripts/setup test && tests/bench/far_load.mjs; }

# How much sooner pages are in Chromium: writes docs/VALUE.md. VALUE_RUNS, VALUE_CELLS: see tests/value/value.mjs.
value: build/pushgate
	scripts/setup value
	tests/value/value.mjs

# Instructions and memory beside the committed baseline; COST='NAME …' for some works.
COST_TOOLS := $(OUT)/tests/bench/idle_load $(OUT)/tests/bench/fixed_random.so $(OUT)/tests/bench/still_clock.so
$(OUT)/tests/bench/%.so: tests/bench/preload/%.c
	@mkdir -p $(@D)
	$(SAY) "  LINK $@"
	$(Q)$(CC) -std=c17 $(WARN) $(WERROR) -O2 $(CPPFLAGS) -shared -fPIC -o $@ $<

cost-tools: $(COST_TOOLS)

cost:
	+scripts/cost $(COST)

# Branch coverage of what scripts/cover.mjs names, by tests without processes and sockets alone: they take the same
# branches each time.
COVER_BIN := $(patsubst %.c,build/cover/%,$(filter $(addprefix tests/,unit/h1/% unit/h2/% unit/hpack/% unit/policy/% pair/% relay/%),$(TEST_SRC)))
cover:
	$(Q)$(MAKE) --no-print-directory KIND=cover $(COVER_BIN)
	$(Q)find build/cover -name '*.gcda' -delete
	$(Q)tests/run $(COVER_BIN)
	$(Q)scripts/cover.mjs build/cover

# Changes the program at MUTANTS random places of the files that differ from BASE, or of the files and folders in PLACES,
# and says which changes no test noticed. SEED= makes the same changes again.
MUTANTS ?= 20
BASE    ?= HEAD^
mutants:
	$(Q)scripts/mutants.mjs -n $(MUTANTS) -b $(BASE) $(SEED:%=-s %) $(PLACES)

# ---- lint ----

lint: lint-quick
	$(Q)$(MAKE) --no-print-directory KIND=tidy WERROR=-Werror tidy

# All of it but clang-tidy: a minute at most.
lint-quick: build/pushgate
	$(Q)scripts/lint-quick

TIDY := $(SRC:%=tidy-%) tidy-proxy/main.c
.PHONY: $(TIDY)
tidy: $(TIDY)
$(TIDY): tidy-%:
	@clang-tidy --quiet --warnings-as-errors='*' $* -- -std=c17 $(WARN) $(CPPFLAGS) 2>/dev/null

# ---- install ----

# The documents keep their places to each other, so that their links lead somewhere.
BINARY  ?= build/pushgate
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
# Where the program looks unless it is told otherwise.
CONFDIR ?= /etc/pushgate
DOCDIR  ?= $(PREFIX)/share/doc/pushgate
MANDIR  ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
# Debian's zsh looks into another folder for packages than for what an administrator adds.
ZSHDIR  ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR ?= $(if $(filter /usr,$(PREFIX)),/lib,$(PREFIX)/lib)/systemd/system
AT_HOME := sed -e 's|/usr/bin/|$(BINDIR)/|g' -e 's|/etc/pushgate/|$(CONFDIR)/|g' -e 's|/usr/share/doc/pushgate/|$(DOCDIR)/|g'

install: $(BINARY)
	install -D -m 755 $(BINARY) $(DESTDIR)$(BINDIR)/pushgate
	install -d $(DESTDIR)$(CONFDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(MANDIR)/man1
	test -e $(DESTDIR)$(CONFDIR)/pushgate.ini || install -m 644 etc/pushgate.ini $(DESTDIR)$(CONFDIR)/
	$(AT_HOME) etc/pushgate.service > $(DESTDIR)$(UNITDIR)/pushgate.service
	$(AT_HOME) docs/pushgate.1 > $(DESTDIR)$(MANDIR)/man1/pushgate.1
	chmod 644 $(DESTDIR)$(UNITDIR)/pushgate.service $(DESTDIR)$(MANDIR)/man1/pushgate.1
	install -d $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	$(BINARY) completion bash > $(DESTDIR)$(BASHDIR)/pushgate
	$(BINARY) completion zsh > $(DESTDIR)$(ZSHDIR)/_pushgate
	$(BINARY) completion fish > $(DESTDIR)$(FISHDIR)/pushgate.fish
	chmod 644 $(DESTDIR)$(BASHDIR)/pushgate $(DESTDIR)$(ZSHDIR)/_pushgate $(DESTDIR)$(FISHDIR)/pushgate.fish
	install -d $(DESTDIR)$(DOCDIR)/docs/decisions $(DESTDIR)$(DOCDIR)/docs/design $(DESTDIR)$(DOCDIR)/examples/prometheus $(DESTDIR)$(DOCDIR)/examples/grafana
	install -m 644 README.md SECURITY.md CONTRIBUTING.md LICENSE $(DESTDIR)$(DOCDIR)/
	install -m 644 docs/*.md docs/*.svg docs/*.json $(DESTDIR)$(DOCDIR)/docs/
	install -m 644 docs/decisions/*.md $(DESTDIR)$(DOCDIR)/docs/decisions/
	install -m 644 docs/design/*.md $(DESTDIR)$(DOCDIR)/docs/design/
	install -m 644 $(filter-out etc/demo%.ini,$(wildcard etc/*.ini)) $(DESTDIR)$(DOCDIR)/examples/
	install -m 644 etc/prometheus/*.yml $(DESTDIR)$(DOCDIR)/examples/prometheus/
	install -m 644 etc/grafana/*.json $(DESTDIR)$(DOCDIR)/examples/grafana/
	ln -sfn examples $(DESTDIR)$(DOCDIR)/etc

deb: build/pushgate
	scripts/make-deb $(VERSION)

clean:
	rm -rf build

help:
	@echo 'make                build/pushgate (release, hardened); BORINGSSL=DIR for another build of it'
	@echo 'make everything     all of the tests below that scripts/test runs, as one queue'
	@echo 'make check          unit, pair, relay and wire tests and the fuzz corpus, under ASan and UBSan'
	@echo 'make check-peers    against nghttp, nghttpd, curl, h2load, Node.js and Chromium'
	@echo 'make check-browser  the part of it with Chromium'
	@echo 'make check-docs-run the commands of README.md and docs/: RECIPES.md, MOVING.md, FLEET.md, FORWARD.md, as they stand there'
	@echo 'make attack         floods, bombs, slow and broken peers, with an honest client beside them (attack-short: briefly)'
	@echo 'make check-valgrind the unit tests under valgrind'
	@echo 'make fuzz           each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make soak           random clients and origins for SOAK_SECONDS (1800), with accounts at the end'
	@echo 'make fleet          three servers of which one dies, one is slow and one flaps, for FLEET_SECONDS (60), under h2load'
	@echo 'make scrape         Prometheus on two workers under h2load for SCRAPE_SECONDS (300)'
	@echo 'make reloads        clients that never pause while pushgate is reloaded, upgraded and killed, RELOADS (1) times 100,000 requests'
	@echo 'make bench          CPU time beside nghttpx, micro benchmarks, and load times in Chromium'
	@echo 'make value          how much sooner Chromium shows pages that are remembered, beside HAProxy, h2o and nginx: writes docs/VALUE.md'
	@echo 'make cover          branch coverage of h1, h2, HPACK, relay, hold and policy, compared with the marks of what no test takes'
	@echo 'make mutants        changes the program at MUTANTS (20) random places of what differs from BASE (HEAD^), or of PLACES; prints what no test noticed'
	@echo 'make cost           instructions per request and push, memory per idle connection, beside tests/bench/cost.baseline'
	@echo 'make lint           layers, sizes, documents, requirements, clang-format; clang-tidy last (lint-quick: without clang-tidy)'
	@echo 'make install deb clean'

.SECONDARY:
.PHONY: all tests everything asan-tests release-tests check check-peers check-browser check-docs-run attack attack-short soak fleet scrape reloads check-valgrind fuzz fuzzers replays bench value cost cost-tools cover mutants lint lint-quick tidy install deb clean help
