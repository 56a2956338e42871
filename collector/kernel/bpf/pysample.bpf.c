/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pysample.bpf.c - Python's frames of a thread that is being sampled.
 *
 * Runs where perf's clock has interrupted the thread, before perf writes its sample. Records go into a ring per CPU: with
 * interrupts off, each has one writer. How frames are found: pywalk.h.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "collector/kernel/bpf/faults.h"
#include "collector/kernel/bpf/maps.h"
#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/bpf/tree.h"

#define RELOC       __attribute__((preserve_access_index))
#define PF_KTHREAD  0x200000u
#define PID_LEVELS  33 /* of namespaces */
#define KEEP_SAMPLE 1  /* perf keeps the sample */
#define DROP_SAMPLE 0

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct task_struct {
	unsigned int flags;
} RELOC;
struct perf_sample_data {
	__u64 sample_flags; /* fields that are filled in; Linux 6.2 */
	__u64 time;
} RELOC;
struct bpf_perf_event_data_kern { /* the kernel's own view of the context */
	struct perf_sample_data *data;
} RELOC;

const volatile struct pysample_config config;

/* The sizes of these two are set before loading. */
MAPPED_RECORDS(struct pysample_ring) rings SEC(".maps");
MAPPED_RECORDS(__u64) words SEC(".maps");

/* Where the next word goes, and how it is made. */
#define PYWALK_POINTERS
#define PYWALK_NUMBERS  \
	__u64 head, ns; \
	__u32 cpu;
#include "collector/kernel/bpf/pywalk.h"

static __always_inline void put(const struct walk *w, __u64 at, __u64 value)
{
	__u32 key = w->n->cpu << config.ring_shift | (at & ((1u << config.ring_shift) - 1));
	__u64 *word = bpf_map_lookup_elem(&words, &key);

	if (word)
		*word = value;
}

static __always_inline void take_frame(struct walk *w, __u64 code, __u64 instruction, __u64 check)
{
	put(w, w->n->head++, code);
	put(w, w->n->head++, instruction);
	put(w, w->n->head++, check);
}

/*
 * The thread's id in the collector's PID namespace; 0: it has left that namespace, or has no id there. A task has one
 * id for each level from the outermost namespace to its own, which may be a container's: then the helper that returns
 * the ids of the current thread is of no use.
 */
static __always_inline __u64 pid_tid_of(struct task_struct___py *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid),
		   *first = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 deepest;

	if (!pid || !first)
		return 0;
	deepest = BPF_CORE_READ(pid, level);
	for (__u32 level = 0; level <= deepest && level < PID_LEVELS; level++) {
		struct upid id = {}, first_id = {};

		bpf_probe_read_kernel(&id, sizeof(id), &pid->numbers[level]);
		if (BPF_CORE_READ(id.ns, ns.inum) != config.ns_ino)
			continue;
		bpf_probe_read_kernel(&first_id, sizeof(first_id), &first->numbers[level]);
		return id.nr && first_id.nr ? (__u64)first_id.nr << 32 | id.nr : 0;
	}
	return 0;
}

static __always_inline void record(struct walk *w, __u64 pid_tid)
{
	const __u64 most = PYSAMPLE_HEAD_WORDS + PYSAMPLE_FRAME_WORDS * PYSAMPLE_DEPTH;
	struct pysample_ring *ring = bpf_map_lookup_elem(&rings, &w->n->cpu);
	__u64 from, room = 1ull << config.ring_shift;

	if (!ring)
		return;
	from = ring->head;
	if (from - *(volatile __u64 *)&ring->tail + most > room) {
		ring->lost++;
		return;
	}
	w->n->head = from + PYSAMPLE_HEAD_WORDS;
	walk_frames(w);
	put(w, from + PYSAMPLE_HEAD_NS, w->n->ns);
	put(w, from + PYSAMPLE_HEAD_THREAD, pid_tid);
	put(w, from + PYSAMPLE_HEAD_CNT, w->n->cnt | w->n->marks);
	put(w, from + PYSAMPLE_HEAD_IMAGE, w->py->image);
	/* Atomic with a result: orders. Pairs with the load of head in sample_python.c: words below it are whole. */
	__sync_lock_test_and_set(&ring->head, w->n->head);
}

/* Newer kernels have filled in the sample before they ask us. */
static __always_inline void find_time(struct walk *w, struct bpf_perf_event_data_kern *ctx)
{
	struct perf_sample_data *data = BPF_CORE_READ(ctx, data);

	if (bpf_core_field_exists(data->sample_flags) &&
	    BPF_CORE_READ(data, sample_flags) & PERF_SAMPLE_TIME) {
		w->n->ns = BPF_CORE_READ(data, time);
		w->n->marks = PYSAMPLE_EXACT;
	} else {
		w->n->ns = bpf_ktime_get_ns();
	}
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct___py *task = (void *)bpf_get_current_task();
	struct walk w = {.n = fresh_numbers()};
	__u64 pid_tid;

	if (!config.is_called)
		count_fault(ctx);
	if (config.tree && !is_in_tree((__u32)bpf_get_current_pid_tgid()))
		return DROP_SAMPLE;
	if (!w.n)
		return KEEP_SAMPLE;
	find_time(&w, (void *)ctx);
	if (BPF_CORE_READ((struct task_struct *)task, flags) & PF_KTHREAD)
		return KEEP_SAMPLE;
	pid_tid = pid_tid_of(task);
	if (!pid_tid)
		return KEEP_SAMPLE;
	w.py = process_of(pid_tid >> 32, image_of(task));
	if (!w.py)
		return KEEP_SAMPLE;
	w.n->pid = pid_tid >> 32;
	w.n->cpu = bpf_get_smp_processor_id();
	w.n->me = BPF_CORE_READ(task, thread.fsbase);
	if (w.n->cpu >= config.cpus || !find_frame(&w, (__u32)pid_tid))
		return KEEP_SAMPLE;
	record(&w, pid_tid);
	if (w.n->is_fresh)
		ask(w.py->image, pid_tid >> 32, 1);
	return KEEP_SAMPLE;
}
