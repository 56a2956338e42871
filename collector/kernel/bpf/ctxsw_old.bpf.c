/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ctxsw_old.bpf.c - ctxsw.bpf.c for kernels before 6.2, which lack bpf_rdonly_cast. An object of its
 * own, because a name that the kernel lacks makes libbpf parse the BTF of every loaded module before
 * it gives up, which start-up cannot afford.
 */
#define CTXSW_OLD 1
#include "collector/kernel/bpf/ctxsw.bpf.c"
