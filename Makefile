# pushgate. `make` builds build/pushgate; `make help` lists the rest.
# Objects live under build/KIND/, so the kinds (release, asan, cover, fuzz) never mix.

KIND      ?= release
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
CFLAGS_release := -O2 -g -flto=auto -fno-plt -fPIE -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fstack-clash-protection
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_debug   := -O1 -g
CFLAGS_cover   := -O0 -g --coverage
CFLAGS_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -DPUSHGATE_FUZZ
LDFLAGS_release := -flto=auto -O2 -pie -Wl,-z,relro,-z,now
LDFLAGS_asan    := -fsanitize=address,undefined
LDFLAGS_cover   := --coverage
LDFLAGS_fuzz    := -fsanitize=address,undefined
ifeq ($(KIND),fuzz)
CC := clang
endif
CPPFLAGS += -I. -D_GNU_SOURCE $(SSL_CFLAGS)
ALLFLAGS  = -std=c17 $(WARN) $(WERROR) $(CFLAGS_$(KIND)) $(CPPFLAGS) $(CFLAGS)
LIBS     := -L$(SSL_LIBDIR) -Wl,-rpath,$(SSL_LIBDIR) -lssl -lcrypto -lev -linih -lm
TESTLIBS := -lcmocka -lnghttp2

OUT  := build/$(KIND)
SRC  := $(wildcard proxy/*/*.c) $(wildcard policy/*.c)
OBJ  := $(SRC:%.c=$(OUT)/%.o)
LIB  := $(OUT)/libpushgate.a
TEST_SRC := $(wildcard tests/unit/*/*_test.c tests/pair/*_test.c tests/relay/*_test.c)
SUPPORT  := $(patsubst %.c,$(OUT)/%.o,$(wildcard tests/support/*.c))
TEST_BIN := $(TEST_SRC:%.c=$(OUT)/%)
FUZZ_SRC := $(wildcard tests/fuzz/*_fuzz.c)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(OUT)/%)

all: build/pushgate

build/pushgate: $(OUT)/pushgate
	@cp $< $@.new && mv $@.new $@

$(OUT)/pushgate: $(OUT)/proxy/main.o $(LIB)
	$(CC) $(CFLAGS_$(KIND)) $(LDFLAGS_$(KIND)) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIB): $(OBJ)
	@rm -f $@
	$(if $(filter release,$(KIND)),gcc-ar,ar) rcs $@ $^

$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/tests/%_test: $(OUT)/tests/%_test.o $(SUPPORT) $(LIB)
	$(CC) $(CFLAGS_$(KIND)) $(LDFLAGS_$(KIND)) -o $@ $^ $(LIBS) $(TESTLIBS)

$(OUT)/tests/fuzz/%_fuzz: $(OUT)/tests/fuzz/%_fuzz.o $(LIB)
	$(CC) $(LDFLAGS_$(KIND)) -fsanitize=fuzzer -o $@ $^ $(LIBS) $(TESTLIBS)

-include $(shell find build/$(KIND) -name '*.d' 2>/dev/null)

.SECONDARY:
.PHONY: all clean
