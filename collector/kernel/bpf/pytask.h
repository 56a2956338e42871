/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* pytask.h - for *.bpf.c: which image of a process a thread runs, and how often user space is asked about it. */
#pragma once

#define ASKS_OF_IMAGE 256u

struct thread_struct___py {
	unsigned long fsbase;
} __attribute__((preserve_access_index));
struct task_struct___py { /* fields that other files do not declare */
	struct task_struct___py *group_leader;
	struct pid *thread_pid;
	__u64 start_time;
	__u64 self_exec_id;
	struct thread_struct___py thread;
} __attribute__((preserve_access_index));

static __always_inline __u64 image_of(struct task_struct___py *task)
{
	return BPF_CORE_READ(task, group_leader, start_time) ^ BPF_CORE_READ(task, self_exec_id)
								       << 56;
}

/* @samples: of the image, so far. Libraries may be loaded later. */
static __always_inline int is_time_to_ask(__u64 samples)
{
	return samples <= ASKS_OF_IMAGE && !(samples & (samples - 1));
}
