/* sched_load.h - brings bpf/ctxsw.bpf.c into the kernel; for sched_bpf.c alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/bpf/ctxsw.h"

#define PROGRAM_CNT 8

struct bpf_object;

struct ctxsw_ask {
	struct ctxsw_config config;      /* state_argument is found out */
	unsigned rings, switches, lives; /* sizes of the maps: entries, entries, bytes */
	unsigned skip; /* how many of the ways of loading to leave out, for tests */
};

struct ctxsw_loaded {
	int lives, rings, switches, flags, shared; /* descriptors of the maps */
	int iterator;                              /* descriptor of the link */
	struct bpf_object *object;
	struct bpf_link *links[PROGRAM_CNT], *iterator_link;
};

/* 5008 for Linux 5.8; 0: not known. */
int ctxsw_kernel_version(void);
/* 0, or -errno, and libbpf's first complaint (may be "") in @log. */
int ctxsw_load(struct ctxsw_loaded *l, const struct ctxsw_ask *ask, char *log, size_t log_len);
/* Attaches the iterator first, as the programs use its findings, then the programs. 0 or -errno. */
int ctxsw_attach_iterator(struct ctxsw_loaded *l);
int ctxsw_attach(struct ctxsw_loaded *l, bool hot); /* @hot: also the two of the hot path */
/*
 * Attached, the two programs of the hot path cost every switch even when they do nothing. Quick, if they have been
 * off for a while: the kernel makes who hurries wait 10 ms. 0 or -errno.
 */
int ctxsw_attach_hot(struct ctxsw_loaded *l, bool on);
/* Fills in the running thread of each of @cpus CPUs. 0 or -errno (-EINVAL before Linux 5.10). */
int ctxsw_ask_holders(struct ctxsw_loaded *l, unsigned cpus);
/* The page of variables (".bss") that a loaded object shares with its programs; NULL: it has none. */
const void *ctxsw_variables(const struct bpf_object *object);
void ctxsw_variables_release(const void *variables);
/* How often the kernel left @program out, as it was interrupted by itself; its descriptor. */
uint64_t ctxsw_missed(int program);
/* The same of all programs together. */
uint64_t ctxsw_all_missed(const struct ctxsw_loaded *l);
void ctxsw_unload(struct ctxsw_loaded *l);
