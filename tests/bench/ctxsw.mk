# ctxsw: context switches against the minimal program for a BPF ring buffer. Needs root to run.
ifeq ($(HAVE_BPF),1)
BENCH_CTXSW := $(B)/tests/bench/ctxsw $(B)/tests/bench/ctxsw_min.bpf.o
$(B)/tests/bench/ctxsw: tests/bench/ctxsw.c $(B)/libsightline.a
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $< $(B)/libsightline.a $(LIBS)
$(B)/tests/bench/%.bpf.o: tests/bench/%.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(subst aarch64,arm64,$(subst x86_64,x86,$(ARCH))) \
		-I/usr/include/$(shell $(CC) -print-multiarch) -Wall -Werror -c -o $@ $<
endif
