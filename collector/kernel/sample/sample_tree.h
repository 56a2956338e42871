/*
 * sample_tree.h - which of a CPU's samples are of the tree.
 *
 * Events of threads cost each context switch and each new thread a part per CPU of the machine; events of CPUs cost them
 * nothing. Who belongs to the tree is known to eBPF, which drops the samples of all others.
 */
#pragma once

#include "collector/kernel/sample/sample.h"

struct sample_tree;

/* @python: asks for processes whose Python frames another program may read. NULL: unavailable. */
struct sample_tree *sample_tree_open(const struct sched_maps *kernel, bool python);
/* The ring of questions, as struct pysample_ask has them. */
int sample_tree_asks(const struct sample_tree *st);
/* From here on @program continues at the samples of the tree. 0 or -errno. */
int sample_tree_continue(const struct sample_tree *st, int program);
/* To be attached to perf's events; how often page faults have run it. */
int sample_tree_program(const struct sample_tree *st);
const uint64_t *sample_tree_fault_runs(const struct sample_tree *st);
void sample_tree_close(struct sample_tree *st);
