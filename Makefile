# Sightline. `make help` lists the targets. GNU make; no configure step.
#
#   preload/     -> build/libtrace.so   (goes into programs; needs nothing but libc)
#   preload/cupti/ -> build/libtrace-cuda.so (loaded by it where CUDA is used; finds CUPTI at run time)
#   collector/probe/ -> build/sl-gpu (samples GPUs for the collector; finds the driver's libraries at run time)
#   collector/   \
#   exporters/    > build/sightline     (the commands)
#   exporters/sql -> build/libsightline_sql.so (the SQL functions, for sqlite3)
#   collector/kernel/bpf/*.bpf.c -> build/bpf/*.skel.h (embedded; left out where clang or bpftool is missing)
#
# A new source file, report, test or BPF program needs no edit here: lists follow the folders.

VERSION := 0.1.0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
B := build
V ?= 0

CC ?= gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
NM ?= nm
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wvla -Wwrite-strings -Wpointer-arith -Wformat=2
# Room for an array without a length, right behind the structure that ends in it: a GNU extension that clang warns about.
WARN += -Wno-gnu-variable-sized-type-not-at-end
ifneq ($(WERROR),0)
WARN += -Werror
endif
# Equal sources give equal bytes, wherever they lie: in debug information, and in build ids, which are made of it.
SAME_BYTES := -ffile-prefix-map=$(CURDIR)=.
BASE := -std=gnu11 -D_GNU_SOURCE -I. -I$(B)/gen -DSL_VERSION='"$(VERSION)"' -fno-common $(WARN) -MMD -MP

comma := ,
Q = $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# ---- the shim: freestanding in spirit; nothing from libc but what preload/ names on purpose ----
PRELOAD_SRC := $(sort $(shell find preload -path preload/cupti -prune -o -name '*.c' -print))
PRELOAD_OBJ := $(PRELOAD_SRC:%.c=$(B)/%.o)
# Loops stay loops: by default compilers make calls of memset() and memcpy() of some. The flags of gcc and clang differ.
knows_flag = $(shell $(CC) -Werror $(1) -c -x c /dev/null -o /dev/null 2>/dev/null && echo '$(1)')
KEEP_LOOPS := $(or $(call knows_flag,-fno-tree-loop-distribute-patterns),$(call knows_flag,-mllvm -disable-loop-idiom-all))
PRELOAD_FLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector -fexceptions \
	$(KEEP_LOOPS) -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0

# A program's stack may be misaligned, as assembly and JITs leave it, which functions of libc do not mind: code without SSE
# does not, either. Functions that take floating point numbers need SSE; these align their stack, which costs instructions.
FLOATING_OBJ := $(addprefix $(B)/preload/,libc/wrap_printf.o nvtx/nvtx_counter.o)
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
$(filter-out $(FLOATING_OBJ),$(PRELOAD_OBJ)): PRELOAD_FLAGS += -mno-sse
$(FLOATING_OBJ): PRELOAD_FLAGS += -mstackrealign
endif

# Wrappers run on stacks of handlers and coroutines: what needs more than a little is in the ring or in the thread's memory. The
# largest frames are the unwinder's, which looks first whether there is room (sl_unwind_has_room()). libtrace-cuda.so runs
# where CUPTI does, which needs more.
FRAME_MAX := 1280
ifeq ($(or $(findstring -fsanitize,$(CFLAGS)),$(findstring -O0,$(CFLAGS)),$(findstring --coverage,$(CFLAGS))),)
$(PRELOAD_OBJ): PRELOAD_FLAGS += -Wframe-larger-than=$(FRAME_MAX)
endif

# Or the compiler makes calls of a function inside of its own definition.
$(B)/preload/base/strings.o: PRELOAD_FLAGS += -fno-builtin

# A program of its own, with libc alone: what it needs of a driver it loads, which a static sightline could not.
PROBE_SRC := $(sort $(wildcard collector/probe/*.c))
PROBE_OBJ := $(PROBE_SRC:%.c=$(B)/%.o)

CUPTI_SRC := $(sort $(wildcard preload/cupti/*.c))
CUPTI_OBJ := $(CUPTI_SRC:%.c=$(B)/%.o)

# Times and sums come out of rings and reports, which may be forged: a wrong figure, but nothing undefined.
FIGURES := -fwrapv

# ---- the command ----
MAIN_SRC := collector/main.c
LIB_SRC := $(sort $(filter-out $(MAIN_SRC) collector/probe/% %.bpf.c %/extension.c,$(shell find collector exporters -name '*.c')))
BPF_SRC := $(sort $(wildcard collector/kernel/bpf/*.bpf.c))
HAVE_BPF := $(shell command -v $(CLANG) >/dev/null 2>&1 && $(BPFTOOL) version >/dev/null 2>&1 && $(PKG_CONFIG) --exists libbpf && echo 1)
# Compiled once, linked into libtrace.so and into the command: unwinding tables, CPython's layout, the hook tables, headers of programs.
SHARED_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard preload/unwind/cfi*.c)) preload/unwind/pylayout.c preload/wire/hook_info.c preload/wire/gpu_tables.c preload/wire/exec_file.c preload/wire/filter.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(SHARED_OBJ) $(B)/gen/embed.o $(B)/gen/schema_image.o
STATIC_SQLITE := $(firstword $(wildcard $(shell $(CC) -print-file-name=libsqlite3.a 2>/dev/null)))
# Static archives are faster (no PLT), and a program's LD_LIBRARY_PATH cannot put others in their place; shared ones work too.
static_or = $(or $(firstword $(wildcard $(shell $(CC) -print-file-name=lib$(1).a))),-l$(1))
LIBS := $(if $(STATIC_SQLITE),$(STATIC_SQLITE),-lsqlite3)
ifeq ($(HAVE_BPF),1)
BASE += -DSL_HAVE_BPF=1
SKEL := $(BPF_SRC:collector/kernel/bpf/%.bpf.c=$(B)/bpf/%.skel.h)
# collector/kernel/bpf/kernel_types_load.c takes the place of two of its functions.
BPF_WRAP := -Wl,--wrap=btf__load_vmlinux_btf,--wrap=bpf_prog_load
LIBS += $(BPF_WRAP) $(call static_or,bpf) $(call static_or,elf) $(call static_or,z)
endif
# Compression of exports, where there is a library for it.
has_header = $(shell printf '\043include <$(1)>\n' | $(CC) -E -x c - >/dev/null 2>&1 && echo 1)
PACK_LIBS :=
ifeq ($(call has_header,zlib.h),1)
BASE += -DSL_HAVE_ZLIB=1
PACK_LIBS += $(call static_or,z)
endif
ifeq ($(call has_header,zstd.h),1)
BASE += -DSL_HAVE_ZSTD=1
STATIC_ZSTD := $(firstword $(wildcard $(shell $(CC) -print-file-name=libzstd.a)))
PACK_LIBS += $(if $(STATIC_ZSTD),$(STATIC_ZSTD),-lzstd)
endif
# Reports of Nsight Systems, whose events are packed by it.
ifeq ($(call has_header,lz4.h),1)
BASE += -DSL_HAVE_LZ4=1
PACK_LIBS += $(call static_or,lz4)
endif
LIBS += $(PACK_LIBS)
# Debug information: functions that were inlined, files and lines in stacks. From the archive, so that the program runs
# where elfutils is not installed; what it needs of libelf is of its own version. Without: names of functions only.
ifeq ($(call has_header,elfutils/libdw.h),1)
BASE += -DSL_HAVE_LIBDW=1
HAVE_LIBDW := 1
# Not for others: a shared libbpf brings a libelf of its own, which must not find half of it here.
DW_LIBS := -Wl,--exclude-libs,libdw.a:libelf.a $(call static_or,dw) $(call static_or,elf) $(call static_or,z)
# Those archives of 0.192 lack a part (sourceware's bug 32293): see symbols_trees.c.
DW_ARCHIVES := $(filter-out -%,$(DW_LIBS))
ifeq ($(if $(DW_ARCHIVES),$(shell $(NM) $(DW_ARCHIVES) 2>/dev/null | sed -n 's/.* \([TU]\) eu_tsearch$$/\1/p' | sort -u)),U)
BASE += -DSL_LIBDW_LACKS_TREES=1
DW_LIBS += -Wl,-u,eu_tsearch
endif
endif
ifeq ($(call has_header,lzma.h),1)
BASE += -DSL_HAVE_LZMA=1
DW_LIBS += $(call static_or,lzma)
endif
# From elfutils 0.189 on libelf.a has use for it: behind it, as the linker wants to have it.
ifeq ($(call has_header,zstd.h),1)
DW_LIBS += $(call static_or,zstd)
endif
# The screen of `sightline top`.
ifeq ($(call has_header,ncursesw/curses.h),1)
BASE += -DSL_HAVE_NCURSES=1
SCREEN_LIBS := $(call static_or,ncursesw) $(call static_or,tinfo)
endif
# The server of `sightline view`: the part of libevent without TLS, from the archives.
ifeq ($(call has_header,event2/http.h),1)
BASE += -DSL_HAVE_LIBEVENT=1
HAVE_LIBEVENT := 1
VIEW_LIBS := $(call static_or,event_extra) $(call static_or,event_core)
endif
LIBS += $(SCREEN_LIBS) $(VIEW_LIBS) $(DW_LIBS)
# For one function, which demangles names of kernels: from the archive, so that nothing new is needed to run.
STATIC_CXX := $(firstword $(wildcard $(shell $(CC) -print-file-name=libstdc++.a 2>/dev/null)))
LIBS += $(if $(STATIC_CXX),$(STATIC_CXX),-lstdc++) -lm -lpthread -ldl

# Python's side of --python-step and --pytorch: beside libtrace.so, here as where it is installed.
PYTHON_SRC := $(sort $(wildcard scripts/python/*.py scripts/python/_sightline/*.py))
PYTHON_OUT := $(PYTHON_SRC:scripts/%=$(B)/%)

# The SQL functions of the reports as an extension that any program with SQLite can load.
EXTENSION_SRC := $(addprefix exporters/sql/,$(addsuffix .c,calls_sweep copies_sweep extension functions gpu_sweep library_calls modules \
	projection projection_rows range_kernels range_levels range_reader range_slots range_texts sched_sweep \
	steps steps_choose steps_rows sweep sweeps thread_states_rows))
EXTENSION_SRC += $(filter-out exporters/events/big_array.c,$(sort $(wildcard exporters/events/*.c exporters/sql/tables/*.c))) $(addprefix exporters/read/,functions.c gpu_numbers.c id_map.c nvtx_domains.c sql_rows.c)
EXTENSION_OBJ := $(EXTENSION_SRC:exporters/%.c=$(B)/extension/%.o)

# What was compiled or linked with other flags, or before a library was there (`make deps`), is made anew: flags of all files,
# and what else there is, those of single files among them.
FLAGS := $(CC) $(filter-out -I$(B)/gen,$(BASE)) $(CFLAGS)
FLAGS_ELSE := $(LDFLAGS) $(LIBS) $(shell cksum <Makefile)
ifneq ($(filter-out clean help,$(or $(MAKECMDGOALS),all)),)
$(shell mkdir -p $(B))
ifneq ($(file <$(B)/flags),$(FLAGS))
$(file >$(B)/flags,$(FLAGS))
endif
ifneq ($(file <$(B)/flags-else),$(FLAGS_ELSE))
$(file >$(B)/flags-else,$(FLAGS_ELSE))
endif
endif
# The commit, for --version: of main.o alone, which is compiled again with each. A source without git: SL_GIT=...
SL_GIT ?= $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)
ifneq ($(filter-out clean help,$(or $(MAKECMDGOALS),all)),)
GIT_LINE := \#define SL_GIT "$(SL_GIT)"
ifneq ($(file <$(B)/gen/build_git.h),$(GIT_LINE))
$(shell mkdir -p $(B)/gen)
$(file >$(B)/gen/build_git.h,$(GIT_LINE))
endif
endif
$(B)/collector/main.o: $(B)/gen/build_git.h
$(B)/gen/build_git.h: ;
$(PRELOAD_OBJ) $(CUPTI_OBJ) $(LIB_OBJ) $(PROBE_OBJ) $(EXTENSION_OBJ) $(B)/collector/main.o: $(B)/flags $(B)/flags-else
$(addprefix $(B)/,sightline sl-gpu libtrace.so libtrace-cuda.so libsightline_sql.so): $(B)/flags $(B)/flags-else
$(B)/flags $(B)/flags-else: ;

.DELETE_ON_ERROR:
.PRECIOUS: $(B)/%.o $(B)/bpf/%.bpf.o
.DEFAULT_GOAL := all

all: $(B)/sightline $(B)/sl-gpu $(B)/libtrace.so $(B)/libtrace-cuda.so $(B)/libsightline_sql.so $(PYTHON_OUT) ## build build/sightline, build/libtrace.so and build/libtrace-cuda.so
	$(if $(HAVE_BPF),,@echo 'built without eBPF (needs clang, bpftool and libbpf-dev): context switches come from perf_event_open')
	$(if $(HAVE_LIBEVENT),,@echo 'built without libevent (libevent-dev): there is no sightline view')
	$(if $(HAVE_LIBDW),,@echo 'built without libdw (libdw-dev): stacks have names of functions, but no lines')

$(B)/libtrace.so: $(PRELOAD_OBJ) preload/libtrace.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -nostartfiles -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,noseparate-code -Wl,--sort-section=name -Wl,-z,start-stop-visibility=hidden -Wl,--hash-style=gnu \
		$(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),-Wl$(comma)--version-script=preload/libtrace.map) -Wl,-soname,libtrace.so $(LDFLAGS) -o $@ $(PRELOAD_OBJ)

$(B)/libtrace-cuda.so: $(CUPTI_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -nostartfiles $(if $(findstring -fsanitize,$(CFLAGS)),,-Wl$(comma)-z$(comma)defs) -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,--hash-style=gnu \
		-Wl,-soname,libtrace-cuda.so $(LDFLAGS) -o $@ $(CUPTI_OBJ)

# For systems with glibc 2.31, wherever it is built: collector/probe/glibc.h. Not with sanitizers, which begin before it.
ifeq ($(findstring -fsanitize,$(CFLAGS)),)
PROBE_FLAGS := -fPIE -include collector/probe/glibc.h
PROBE_LINK := -pie -nostartfiles -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed
else
PROBE_OBJ := $(filter-out %/start.o,$(PROBE_OBJ))
PROBE_LINK := -lpthread -ldl
endif
$(PROBE_OBJ): PROBE_OR_NOT := $(PROBE_FLAGS)
$(PROBE_OBJ): collector/probe/glibc.h
$(B)/sl-gpu: $(PROBE_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Wl,-z,now -Wl,-z,relro $(LDFLAGS) -o $@ $(PROBE_OBJ) $(PROBE_LINK) -lm

$(PYTHON_OUT): $(B)/%: scripts/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(B)/preload/%.o: preload/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAME_BYTES) $(CFLAGS) $(PRELOAD_FLAGS) -c -o $@ $<

$(B)/sightline: $(B)/collector/main.o $(B)/libsightline.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter-out $(B)/flags%,$^) $(LIBS)

$(B)/libsightline_sql.so: $(EXTENSION_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared $(if $(findstring -fsanitize,$(CFLAGS)),,-Wl$(comma)-z$(comma)defs) $(LDFLAGS) -o $@ $(EXTENSION_OBJ) -lm
$(B)/extension/%.o: exporters/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAME_BYTES) $(CFLAGS) $(FIGURES) -fPIC -fvisibility=hidden -include exporters/sql/extension.h -c -o $@ $<

$(B)/libsightline.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# What runs once per command, and waits for SQL, files or people: small rather than fast.
COLD := $(addprefix collector/,commands inject job options waits) $(addprefix exporters/,analyze commands compare dump html info mcp ncu ranks top)
ifneq ($(filter -O2,$(CFLAGS)),)
$(filter $(foreach folder,$(COLD),$(B)/$(folder)/%.o),$(LIB_OBJ)): SMALL := -Os
endif
$(B)/collector/%.o: collector/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAME_BYTES) -I$(B)/bpf $(CFLAGS) $(SMALL) $(FIGURES) $(PROBE_OR_NOT) -c -o $@ $<
$(B)/exporters/%.o: exporters/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SAME_BYTES) $(CFLAGS) $(SMALL) $(FIGURES) -c -o $@ $<
$(LIB_OBJ) $(B)/collector/main.o: | $(SKEL)

# Names of system calls are those of the kernel's headers.
$(B)/gen/syscall_names.h: scripts/syscall-names
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sh scripts/syscall-names asm/unistd.h $(CC) >$@
$(B)/gen/syscall_names_32.h: scripts/syscall-names
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sh scripts/syscall-names asm/unistd_32.h $(CC) >$@
SYSCALL_NAMES := $(B)/gen/syscall_names.h $(B)/gen/syscall_names_32.h
$(B)/collector/kernel/sched/sched_names.o: $(SYSCALL_NAMES)

# The report's tables and columns, for what reads them otherwise than as SQL.
REPORT_TABLES := $(addprefix $(B)/gen/,report_columns.h report_tables.def report_tables.txt)
$(B)/gen/report_columns.h: FORM := write
$(B)/gen/report_tables.def: FORM := read
$(B)/gen/report_tables.txt: FORM := sql
$(REPORT_TABLES): scripts/schema-columns collector/schema.sql
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sh scripts/schema-columns $(FORM) collector/schema.sql >$@.new && mv $@.new $@
$(LIB_OBJ) $(B)/collector/main.o: | $(REPORT_TABLES)

# SQL texts travel inside the binary: schema, reports and rules, as NUL-terminated strings in one table.
EMBED_SRC := $(sort collector/schema.sql exporters/read/nsysrep/enums.sql exporters/read/nvprof/nvprof.sql scripts/skill/SKILL.md $(wildcard exporters/stats/reports/*.sql exporters/analyze/rules/*.sql exporters/compare/queries/*.sql exporters/analyze/rules/shared/*.sql exporters/sql/lib/*.sql exporters/ranks/rollups/*.sql exporters/ranks/questions/*.sql exporters/ranks/page/*.sql exporters/ranks/autopsy/*.sql))
$(B)/gen/embed.c: scripts/embed $(EMBED_SRC)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sh scripts/embed $(EMBED_SRC) >$@
# And the file that a report begins as: made here, by a program of its own.
HOSTCC ?= cc
$(B)/gen/schema_image: scripts/schema_image.c
	$(call say,HOSTCC,$@)
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) -O1 $(WARN) -D_GNU_SOURCE -o $@ $< -lsqlite3
$(B)/gen/schema_image.c: $(B)/gen/schema_image collector/schema.sql
	$(call say,GEN,$@)
	$(Q)$< collector/schema.sql >$@.new && mv $@.new $@
$(B)/gen/embed.o $(B)/gen/schema_image.o: $(B)/gen/%.o: $(B)/gen/%.c
	$(Q)$(CC) $(BASE) $(SAME_BYTES) $(CFLAGS) -c -o $@ $<

# only some versions of clang print it.
MULTIARCH = $(or $(shell $(CC) -print-multiarch 2>/dev/null),$(shell uname -m)-linux-gnu)
$(B)/bpf/%.bpf.o: collector/kernel/bpf/%.bpf.c $(wildcard collector/kernel/bpf/*.h) $(B)/flags-else
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g $(SAME_BYTES) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(subst aarch64,arm64,$(subst x86_64,x86,$(shell uname -m))) \
		-I. -I/usr/include/$(MULTIARCH) -Wall -Werror -c -o $@ $<
# Without debug information, which no loader reads; what it reads (BTF) stays.
$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(Q)$(BPFTOOL) gen object $(<:.bpf.o=.plain.o) $<
	$(Q)$(BPFTOOL) gen skeleton $(<:.bpf.o=.plain.o) name $* >$@

$(B)/bpf/kernel_names.h: scripts/kernel-names $(BPF_SRC:collector/kernel/bpf/%.c=$(B)/bpf/%.o)
	$(call say,GEN,$@)
	$(Q)sh scripts/kernel-names "$(BPFTOOL)" $(filter %.o,$^) >$@.new && mv $@.new $@
$(B)/collector/kernel/bpf/kernel_types_load.o: $(if $(HAVE_BPF),$(B)/bpf/kernel_names.h)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
-include exporters/html/Makefile.inc
-include exporters/view/Makefile.inc
-include tests/Makefile.inc
-include scripts/Makefile.inc

clean: ## remove what was built
	rm -rf $(B) dist
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 16 | sort
.PHONY: all clean help
