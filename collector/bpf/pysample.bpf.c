/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pysample.bpf.c - Python's frames of a thread that is being sampled.
 *
 * Runs where perf's clock has interrupted the thread, before perf writes its sample. The interpreter's memory is read as
 * it is just then: it cannot change meanwhile. Where things are in it user space has told, per process; an unknown
 * process is asked about. Records go into a ring per CPU: with interrupts off, each has one writer.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "collector/bpf/maps.h"
#include "collector/bpf/pysample.h"

#define RELOC         __attribute__((preserve_access_index))
#define PF_KTHREAD    0x200000u
#define PID_LEVELS    33 /* of namespaces */
#define STATES_MAX    8192
#define KEEP_SAMPLE   1 /* what perf asks for: 0 would drop it */
#define ASKS_OF_IMAGE 256u

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct ns_common {
	unsigned int inum;
} RELOC;
struct pid_namespace {
	struct ns_common ns;
} RELOC;
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
} RELOC;
struct thread_struct {
	unsigned long fsbase;
} RELOC;
struct task_struct {
	unsigned int flags;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_time;
	__u64 self_exec_id;
	struct thread_struct thread;
} RELOC;
struct perf_sample_data {
	__u64 sample_flags; /* what is filled in; Linux 6.2 */
	__u64 time;
} RELOC;
struct bpf_perf_event_data_kern { /* what the context is to the kernel itself */
	struct perf_sample_data *data;
} RELOC;

const volatile struct pysample_config config;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PYSAMPLE_PROCESSES);
	__type(key, __u32);
	__type(value, struct pysample_process);
} processes SEC(".maps");
struct { /* thread -> its PyThreadState, when last seen */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u64);
} states SEC(".maps");
struct { /* code objects that user space was told of */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} met SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} asks SEC(".maps");
struct { /* where the next one to be told is put together */
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pysample_code);
} copies SEC(".maps");
/* The sizes of these two are set before loading. */
MAPPED_RECORDS(struct pysample_ring) rings SEC(".maps");
MAPPED_RECORDS(__u64) words SEC(".maps");

struct walk {
	const struct pysample_process *py;
	__u64 me;                         /* what the C library calls this thread */
	__u64 interpreter, thread, state; /* looked at; found */
	__u64 frame;
	__u64 head; /* where the next word goes */
	__u64 ns, marks;
	__u32 cpu, cnt;
	__u32 pid;
	__u32 is_fresh; /* a code object is new */
};

static __always_inline __u64 load(__u64 at)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)at);
	return value;
}

static __always_inline void put(const struct walk *w, __u64 at, __u64 value)
{
	__u32 key = w->cpu << config.ring_shift | (at & ((1u << config.ring_shift) - 1));
	__u64 *word = bpf_map_lookup_elem(&words, &key);

	if (word)
		*word = value;
}

static __always_inline void ask(__u64 image, __u32 pid, __u32 is_code)
{
	struct pysample_ask a = {.image = image, .pid = pid, .is_code = is_code};

	bpf_ringbuf_output(&asks, &a, sizeof(a), BPF_RB_FORCE_WAKEUP);
}

/* ---- which process ---- */

/*
 * What the collector calls the thread; 0: gone from its namespace, or in none that it sees. There is a number for each
 * level from the outermost namespace to the thread's own, which is a container's, perhaps: then the helper that tells
 * those of the present thread is of no use.
 */
static __always_inline __u64 pid_tid_of(struct task_struct *task)
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

static __always_inline __u64 image_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_time) ^ BPF_CORE_READ(task, self_exec_id)
								       << 56;
}

/*
 * What is known of the process; 0: it has no Python. Asks where that is new; again later, for libraries may come. What was
 * told before the process was ever sampled is taken for what it is now, and told back.
 */
static __always_inline const struct pysample_process *process_of(__u32 pid, __u64 image)
{
	struct pysample_process *p = bpf_map_lookup_elem(&processes, &pid), none = {.image = image};

	if (p && !p->image && __sync_val_compare_and_swap(&p->image, 0, image) == 0)
		ask(image, pid, 0);
	if (!p || p->image != image) {
		bpf_map_update_elem(&processes, &pid, &none, BPF_ANY);
		ask(image, pid, 0);
		return 0;
	}
	if (p->runtime)
		return p;
	p->asked++;
	if (p->asked <= ASKS_OF_IMAGE && !(p->asked & (p->asked - 1)))
		ask(image, pid, 0);
	return 0;
}

/* ---- the thread's state ---- */

static __always_inline __u64 frame_of(const struct pysample_process *py, __u64 state)
{
	__u64 at = load(state + py->current);

	if (py->base && at == load(state + py->base))
		return 0;
	return py->has_cframe && at ? load(at + py->cframe_current) : at;
}

static long look_at_state(__u32 i, struct walk *w)
{
	const struct pysample_process *py = w->py;
	__u64 frame;

	if (!w->thread) {
		w->interpreter = load(w->interpreter + py->next_interpreter);
		if (!w->interpreter)
			return 1;
		w->thread = load(w->interpreter + py->threads);
		return 0;
	}
	if (load(w->thread + py->thread_id) == w->me && (frame = frame_of(py, w->thread))) {
		w->frame = frame;
		w->state = w->thread;
		return 1;
	}
	w->thread = load(w->thread + py->next_thread);
	return 0;
}

/*
 * The frame that the thread is in; 0: none. A thread has a state for each interpreter that it has been in; of those with
 * frames the youngest interpreter's counts. With one interpreter, the state stays where it was.
 */
static __always_inline __u64 find_frame(struct walk *w, __u32 tid)
{
	const struct pysample_process *py = w->py;
	__u64 head = load(py->runtime + py->interpreters), ends, *kept = 0;
	int is_one = head && !load(head + py->next_interpreter);

	if (!head)
		return 0;
	if (is_one)
		kept = bpf_map_lookup_elem(&states, &tid);
	if (kept && *kept && load(*kept + py->thread_id) == w->me) {
		w->state = *kept;
		w->frame = frame_of(py, w->state);
	}
	if (!w->frame) {
		w->interpreter = head;
		w->thread = load(head + py->threads);
		bpf_loop(STATES_MAX, look_at_state, w, 0);
		if (w->frame && is_one)
			bpf_map_update_elem(&states, &tid, &w->state, BPF_ANY);
	}
	/* Once a thread ends Python, it frees what the others have. */
	ends = load(py->runtime + py->finalizing);
	return ends && ends != w->state ? 0 : w->frame;
}

/* ---- frames ---- */

static __always_inline __u32 copy(void *to, __u32 bytes, __u64 from)
{
	return bpf_probe_read_user(to, bytes, (void *)from) ? 0 : bytes;
}

/* @bytes, a power of two, or up to the end of the page where there is no other behind it. */
static __always_inline __u32 copy_text(void *to, __u32 bytes, __u64 from)
{
	__u32 len = copy(to, bytes, from);

	return len ? len : copy(to, -from & (bytes - 1), from);
}

/* Wakes nobody: there is an ask behind it. */
static __always_inline void tell_code(const struct walk *w, __u64 code, __u64 check)
{
	const struct pysample_process *py = w->py;
	__u32 zero = 0;
	struct pysample_code *c = bpf_map_lookup_elem(&copies, &zero);
	__u32 object, lines;

	if (!c)
		return;
	object = py->object_size;
	if (object > PYSAMPLE_OBJECT)
		return;
	c->ask.image = py->image;
	c->ask.pid = w->pid;
	c->ask.is_code = 1;
	c->code = code;
	c->check = check;
	c->name = load(code + py->shown_name);
	c->file = load(code + py->file);
	c->lines = load(code + py->line_table);
	c->object_len = copy(c->object_bytes, object, code);
	c->name_len = copy_text(c->name_bytes, PYSAMPLE_NAME, c->name);
	c->file_len = copy_text(c->file_bytes, PYSAMPLE_FILE, c->file);
	lines = load(c->lines + py->bytes_size) + py->bytes;
	if (lines > PYSAMPLE_LINES)
		lines = 0;
	if (bpf_probe_read_user(c->lines_bytes, lines, (void *)c->lines))
		lines = 0;
	c->lines_len = lines;
	bpf_ringbuf_output(&asks, c, __builtin_offsetof(struct pysample_code, lines_bytes) + lines,
			   BPF_RB_NO_WAKEUP);
}

static __always_inline void meet(struct walk *w, __u64 code, __u64 check)
{
	__u64 key = code ^ check << 7 ^ w->py->image << 21;
	__u8 yes = 1;

	if (bpf_map_lookup_elem(&met, &key))
		return;
	bpf_map_update_elem(&met, &key, &yes, BPF_ANY);
	w->is_fresh = 1;
	tell_code(w, code, check);
}

static __always_inline __u64 check_of(const struct pysample_process *py, __u64 code)
{
	__u64 name, lines, file;
	__u32 first_line;

	if (bpf_probe_read_user(&name, sizeof(name), (void *)(code + py->name)) ||
	    bpf_probe_read_user(&lines, sizeof(lines), (void *)(code + py->line_table)) ||
	    bpf_probe_read_user(&file, sizeof(file), (void *)(code + py->file)) ||
	    bpf_probe_read_user(&first_line, sizeof(first_line), (void *)(code + py->first_line)))
		return 0;
	return pysample_check(name, lines, file, first_line);
}

static long each_frame(__u32 i, struct walk *w)
{
	const struct pysample_process *py = w->py;
	__u64 frame = w->frame, code, check;
	__u8 flag = 0;

	if (!frame)
		return 1;
	if (bpf_probe_read_user(&code, sizeof(code), (void *)(frame + py->code))) {
		w->marks |= PYSAMPLE_BROKEN;
		return 1;
	}
	/* The lowest bits may be marks of a reference. */
	code &= ~7ull;
	if (py->flag)
		bpf_probe_read_user(&flag, sizeof(flag), (void *)(frame + py->flag));
	check = check_of(py, code);
	put(w, w->head++, (code & ~(0xffull << 56)) | (__u64)flag << 56);
	put(w, w->head++, load(frame + py->instruction));
	put(w, w->head++, check);
	if (check)
		meet(w, code, check);
	w->cnt++;
	w->frame = load(frame + py->previous);
	return 0;
}

static __always_inline void record(struct walk *w, __u64 pid_tid)
{
	const __u64 most = PYSAMPLE_HEAD_WORDS + PYSAMPLE_FRAME_WORDS * PYSAMPLE_DEPTH;
	struct pysample_ring *ring = bpf_map_lookup_elem(&rings, &w->cpu);
	__u64 from, room = 1ull << config.ring_shift;

	if (!ring)
		return;
	from = ring->head;
	if (from - *(volatile __u64 *)&ring->tail + most > room) {
		ring->lost++;
		return;
	}
	w->head = from + PYSAMPLE_HEAD_WORDS;
	bpf_loop(PYSAMPLE_DEPTH, each_frame, w, 0);
	if (w->frame && !(w->marks & PYSAMPLE_BROKEN))
		w->marks |= PYSAMPLE_DEEPER;
	put(w, from + PYSAMPLE_HEAD_NS, w->ns);
	put(w, from + PYSAMPLE_HEAD_THREAD, pid_tid);
	put(w, from + PYSAMPLE_HEAD_CNT, w->cnt | w->marks);
	put(w, from + PYSAMPLE_HEAD_IMAGE, w->py->image);
	/* Atomic with a result: orders. Pairs with the load of head in sample_python.c: words below it are whole. */
	__sync_lock_test_and_set(&ring->head, w->head);
}

/* Newer kernels have filled in the sample before they ask us. */
static __always_inline void find_time(struct walk *w, struct bpf_perf_event_data_kern *ctx)
{
	struct perf_sample_data *data = BPF_CORE_READ(ctx, data);

	if (bpf_core_field_exists(data->sample_flags) &&
	    BPF_CORE_READ(data, sample_flags) & PERF_SAMPLE_TIME) {
		w->ns = BPF_CORE_READ(data, time);
		w->marks = PYSAMPLE_EXACT;
	} else {
		w->ns = bpf_ktime_get_ns();
	}
}

SEC("perf_event")
int on_sample(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct walk w = {};
	__u64 pid_tid;

	find_time(&w, ctx);
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return KEEP_SAMPLE;
	pid_tid = pid_tid_of(task);
	if (!pid_tid)
		return KEEP_SAMPLE;
	w.py = process_of(pid_tid >> 32, image_of(task));
	if (!w.py)
		return KEEP_SAMPLE;
	w.pid = pid_tid >> 32;
	w.cpu = bpf_get_smp_processor_id();
	w.me = BPF_CORE_READ(task, thread.fsbase);
	if (w.cpu >= config.cpus || !find_frame(&w, (__u32)pid_tid))
		return KEEP_SAMPLE;
	record(&w, pid_tid);
	if (w.is_fresh)
		ask(w.py->image, pid_tid >> 32, 1);
	return KEEP_SAMPLE;
}
