/* reason.h - the reason of a wait, by the name of the call and the file behind its descriptor. */
#pragma once

#include "exporters/why/walk/walk.h"

/* Before all others: what functions of the C library wait for. SQLite's result code. */
int reason_read_functions(struct walk *w);
/* Of a call that blocks; WHY_BLOCKED: its name does not show it. */
uint32_t reason_of_call(struct walk *w, const struct why_call *c);
/* Likewise of a call of which only the name and the file are known. */
uint32_t reason_of_name(struct walk *w, uint32_t name, uint32_t object);
/* pthread_cond_timedwait() and the like. */
bool reason_is_timed_condition(struct walk *w, const struct why_call *c);
/* Does this call of CUDA wait for work of the GPU? */
bool reason_is_gpu_wait(struct walk *w, const struct why_call *c);
/* Does this call of CUDA copy, perhaps without waiting? */
bool reason_is_gpu_copy(struct walk *w, const struct why_call *c);
/* Is @name a kernel by which ranks exchange data? */
bool reason_is_nccl(struct walk *w, uint32_t name);
/* Does a call named @name open a file? */
bool reason_is_open(struct walk *w, uint32_t name);
/* Does a call named @name make a process, or wait for one? */
bool reason_is_of_processes(struct walk *w, uint32_t name);
/* CUPTI's names of functions end in the version that they came with: cudaFree_v3020. */
void reason_cut_version(char *name);
