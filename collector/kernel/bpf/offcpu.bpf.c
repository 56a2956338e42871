/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * offcpu.bpf.c - stacks of threads that were off-CPU for long.
 *
 * The length of a wait is known when the thread runs again, and then its memory cannot be read any more: another
 * thread's is mapped. So registers and the upper part of the stack are saved whenever a thread blocks, in a slot of
 * its own, and sent when the wait exceeded the threshold; else the next wait overwrites them. The kernel's part of a
 * stack does not change meanwhile: it is read when the stack is sent.
 *
 * Python's frames are not on that stack and change as soon as the thread runs again: where they are asked for, they are
 * saved with it, which costs a thread in Python some hundred nanoseconds each time. How they are found: pywalk.h.
 *
 * Membership in the process tree comes from ctxsw.bpf.c, whose map "flags" this program shares, and whose records of
 * the same switch carry its time: rows of both then agree.
 *
 * A thread that is about to end because of a signal, or because its process exits with a status other than 0, is sent, too, with the
 * stack at that moment: its memory is still there.
 *
 * Rule easy to break: nearly all switches are of threads that run again at once. Only work for such
 * threads may stand before the test of the threshold.
 */
#include <linux/bpf.h>
struct pt_regs; /* the kernel's own, not the one of the ptrace headers */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "collector/kernel/bpf/maps.h"
#include "collector/kernel/bpf/offcpu.h"
#include "collector/kernel/bpf/tree.h"

#define RELOC        __attribute__((preserve_access_index))
#define PF_EXITING   0x4u
#define PF_IO_WORKER 0x10u
#define PF_KTHREAD   0x200000u
#define PAGE         4096u
#define LIMIT_USES   64u
#define STALE_NS     10000000u /* a record that is so old is not of this switch */
#define TASK_DEAD    0x80u
#define SIG_KILL     9
#define SIG_CHLD     17
#define SIG_CONT     18
#define SIG_STOP     19
#define SIG_TSTP     20
#define SIG_TTIN     21
#define SIG_TTOU     22
#define SIG_URG      23
#define SIG_WINCH    28

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct thread_struct {
	unsigned long fsbase; /* x86 only */
} RELOC;
struct mm_struct {
	unsigned long start_stack;
} RELOC;
struct signal_struct {
	int group_exit_code;
} RELOC;
struct sigaction {
	void *sa_handler; /* 0: the default */
} RELOC;
struct k_sigaction {
	struct sigaction sa;
} RELOC;
struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid, tgid;
	int exit_code;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct thread_struct thread;
} RELOC;
struct task_struct___old { /* before 5.14 */
	long state;
} RELOC;

const volatile struct offcpu_config config;
struct offcpu_shared shared;

/* These two, and "flags", are those of ctxsw.bpf.c. */
MAPPED_RECORDS(struct ctxsw_ring) rings SEC(".maps");
MAPPED_RECORDS(struct rec_switch) switches SEC(".maps");
/* The sizes of these three are set before loading, like those of pywalk.h's maps. */
struct { /* threads that have been without a CPU; removed when they end */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OFFCPU_THREADS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct offcpu_record));
} places SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");
struct { /* initial value of a place */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct offcpu_record));
} blank SEC(".maps");
struct { /* threads without a place -> when they left */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} crowd SEC(".maps");

/* Where frames go, behind the stack. */
#define PYWALK_POINTERS struct offcpu_record *record;
#define PYWALK_NUMBERS
#include "collector/kernel/bpf/pywalk.h"

static __always_inline int wanted(__u32 tid)
{
	return config.system_wide ? tid != 0 : is_in_tree(tid);
}

/* The moment of this switch, as its own record has it if there is one. */
static __always_inline __u64 moment(__u32 cpu, __u32 prev_tid, __u32 next_tid)
{
	__u64 now = bpf_ktime_get_ns();
	struct ctxsw_ring *r;
	struct rec_switch *s;
	__u32 slot;

	if (!config.rings)
		return now;
	r = bpf_map_lookup_elem(&rings, &cpu);
	if (!r)
		return now;
	slot = cpu << config.slot_shift | ((r->head - 1) & ((1u << config.slot_shift) - 1));
	s = bpf_map_lookup_elem(&switches, &slot);
	if (s && s->prev_tid == prev_tid && s->next_tid == next_tid && now - s->ns < STALE_NS)
		return s->ns;
	return now;
}

/* ---- a thread leaves ---- */

static __always_inline __u32 state_of(unsigned long long *ctx, struct task_struct *prev)
{
	if (config.state_argument)
		return ctx[3];
	if (bpf_core_field_exists(prev->__state))
		return prev->__state;
	return BPF_CORE_READ((struct task_struct___old *)prev, state);
}

/* Once in the life of a thread. */
static __noinline struct offcpu_record *settle(__u32 tid)
{
	struct bpf_pidns_info id;
	struct offcpu_record *r;
	__u32 zero = 0;

	if (bpf_get_ns_current_pid_tgid(config.ns_dev, config.ns_ino, &id, sizeof(id)))
		id.pid = id.tgid = 0;
	r = bpf_map_lookup_elem(&blank, &zero);
	if (!r || bpf_map_update_elem(&places, &tid, r, BPF_NOEXIST))
		return 0;
	r = bpf_map_lookup_elem(&places, &tid);
	if (r) {
		r->pid = id.tgid;
		r->tid = id.pid;
	}
	return r;
}

static __always_inline void shorten(__u64 *room, __u64 sp, __u64 end)
{
	if (end - sp < *room) /* not where it lies below */
		*room = end - sp;
}

/*
 * Size of the stack, as far as it is known without a page fault: above it threads have libc's thread block, the first
 * thread the program's arguments.
 */
static __always_inline __u64 room_of(struct offcpu_record *r, struct task_struct *task, __u64 sp)
{
	__u64 room = config.stack_bytes;

	if (r->limit - sp < room) {
		room = r->limit - sp;
		if (++r->limit_uses == LIMIT_USES)
			r->limit = 0;
	}
#ifdef __TARGET_ARCH_x86
	shorten(&room, sp, task->thread.fsbase);
#endif
	shorten(&room, sp, task->mm->start_stack);
	return room;
}

/*
 * Page by page, up to one that cannot be read: there the stack ends, also next time. It may also be a page in the
 * middle that was never written to, so it is tried again now and then.
 */
static __noinline __u32 copy_pages(struct offcpu_record *r, __u64 sp, __u64 room)
{
	__u64 at = 0, len = PAGE - (sp & (PAGE - 1));

	if (!r)
		return 0;
	for (int i = 0; i < (int)(OFFCPU_STACK / PAGE) && at < room; i++) {
		if (at > OFFCPU_STACK - PAGE)
			break;
		if (len > PAGE)
			len = PAGE;
		if (bpf_probe_read_user(r->stack + at, len, (void *)(sp + at))) {
			r->limit = sp + at;
			r->limit_uses = 0;
			break;
		}
		at += len;
		len = PAGE;
	}
	return at;
}

static __always_inline __u32 copy_stack(struct offcpu_record *r, struct task_struct *task, __u64 sp)
{
	__u64 room = room_of(r, task, sp);

	if (room > OFFCPU_STACK)
		room = OFFCPU_STACK;
	if (!bpf_probe_read_user(r->stack, room, (void *)sp))
		return room;
	return copy_pages(r, sp, room);
}

/* The place is kept in the record: of a number of its own the verifier would follow every value. */
static __always_inline void take_frame(struct walk *w, __u64 code, __u64 instruction, __u64 check)
{
	__u64 at = w->record->python, *words;

	if (at > OFFCPU_STACK + OFFCPU_PYTHON - 8 * PYSAMPLE_FRAME_WORDS)
		return;
	words = (void *)(w->record->stack + at);
	words[0] = code;
	words[1] = instruction;
	words[2] = check;
	w->record->python = at + 8 * PYSAMPLE_FRAME_WORDS;
}

static __noinline int read_python(struct offcpu_record *r, struct task_struct *task)
{
	struct task_struct___py *py_task = (void *)task;
	struct walk w = {.n = fresh_numbers(), .record = r};
	__u64 at, *words;

	if (!r || !task || !w.n)
		return 0;
	w.py = process_of(r->pid, image_of(py_task));
	if (!w.py)
		return 0;
	w.n->me = BPF_CORE_READ(py_task, thread.fsbase);
	if (!find_frame(&w, r->tid))
		return 0;
	at = OFFCPU_PYTHON_AT(r->bytes);
	if (at > OFFCPU_STACK)
		return 0;
	r->python = at + 8 * PYSAMPLE_HEAD_WORDS;
	w.n->pid = r->pid;
	walk_frames(&w);
	if (w.n->is_fresh)
		ask(w.py->image, w.n->pid, 1);
	words = (void *)(r->stack + at);
	words[PYSAMPLE_HEAD_NS] = bpf_ktime_get_ns();
	words[PYSAMPLE_HEAD_THREAD] = (__u64)r->pid << 32 | r->tid;
	words[PYSAMPLE_HEAD_CNT] = w.n->cnt | w.n->marks;
	words[PYSAMPLE_HEAD_IMAGE] = w.py->image;
	r->python -= at;
	return 0;
}

static __always_inline void note_crowd(__u32 tid, __u64 ns)
{
	shared.crowded = 1;
	bpf_map_update_elem(&crowd, &tid, &ns, BPF_ANY);
}

static __always_inline void leave(struct task_struct *task, __u32 tid, __u32 state, __u32 cpu,
				  __u64 ns)
{
	struct offcpu_record *r = bpf_map_lookup_elem(&places, &tid);

	if (!r) {
		r = settle(tid);
		if (!r) {
			note_crowd(tid, ns);
			return;
		}
	}
	if (!r->tid) /* outside our PID namespace */
		return;
	bpf_probe_read_kernel(r->regs, sizeof(r->regs), (void *)bpf_task_pt_regs(task));
#ifdef __TARGET_ARCH_x86
	r->bytes = copy_stack(r, task, r->regs[19]);
#else
	r->bytes = copy_stack(r, task, r->regs[31]);
#endif
	if (config.python) {
		r->python = 0;
		read_python(r, task);
	}
	r->cpu = cpu;
	r->state = state;
	r->out_ns = ns;
}

/* ---- a thread comes back ---- */

static __noinline int send(struct offcpu_record *r, __u64 ns)
{
	__u64 bytes;

	if (!r)
		return 0;
	r->in_ns = ns;
	bytes = r->bytes;
	if (config.python && r->python)
		bytes = OFFCPU_PYTHON_AT(bytes) + r->python;
	if (bytes > OFFCPU_STACK + (config.python ? OFFCPU_PYTHON : 0))
		bytes = OFFCPU_STACK;
	if (bpf_ringbuf_output(&ring, r, __builtin_offsetof(struct offcpu_record, stack) + bytes,
			       bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.wake_bytes
				       ? BPF_RB_FORCE_WAKEUP
				       : BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&shared.lost_full, 1);
	return 0;
}

static __noinline int send_with_kernel(struct offcpu_record *r, struct task_struct *task, __u64 ns)
{
	long len;

	if (!r || !task)
		return 0;
	len = bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0);
	r->kernel_cnt = len > 0 ? len / sizeof(__u64) : 0;
	return send(r, ns);
}

static __always_inline void enter_crowd(__u32 tid, __u64 ns)
{
	__u64 *out = bpf_map_lookup_elem(&crowd, &tid);

	if (!out || !*out)
		return;
	if (ns - *out >= config.threshold_ns)
		__sync_fetch_and_add(&shared.lost_crowd, 1);
	*out = 0;
}

static __always_inline void enter(struct task_struct *task, __u32 tid, __u64 ns)
{
	struct offcpu_record *r = bpf_map_lookup_elem(&places, &tid);

	if (!r) {
		if (shared.crowded)
			enter_crowd(tid, ns);
		return;
	}
	if (!r->out_ns)
		return;
	if (ns - r->out_ns >= config.threshold_ns)
		send_with_kernel(r, task, ns);
	r->out_ns = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 prev_tid = prev->pid, next_tid = next->pid, cpu, state = 0;
	int is_in = wanted(next_tid);
	__u64 ns;

	if (!(_Bool)ctx[0] && wanted(prev_tid) && !*(volatile __u32 *)&shared.is_paused &&
	    !(prev->flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING)))
		state = state_of(ctx, prev);
	if (!state && !is_in)
		return 0;
	cpu = bpf_get_smp_processor_id();
	ns = moment(cpu, prev_tid, next_tid);
	if (state)
		leave(prev, prev_tid, state, cpu, ns);
	if (is_in)
		enter(next, next_tid, ns);
	return 0;
}

/* ---- lives of threads ---- */

static __always_inline void forget(__u32 tid)
{
	bpf_map_delete_elem(&places, &tid);
	if (shared.crowded)
		bpf_map_delete_elem(&crowd, &tid);
}

/*
 * The kernel does not run the program for every switch: a thread that ends is back, whether the
 * program saw that or not. The kernel function in which it waited cannot be read any more.
 */
static __always_inline void end_wait(__u32 tid)
{
	struct offcpu_record *r = bpf_map_lookup_elem(&places, &tid);
	__u64 ns = bpf_ktime_get_ns();

	if (!r || !r->out_ns || ns - r->out_ns < config.threshold_ns)
		return;
	r->kernel_cnt = 0;
	send(r, ns);
}

/* ---- deaths ---- */

/* By default these end the process. */
static __always_inline int is_fatal(int sig)
{
	const __u64 others = 1ull << SIG_CHLD | 1ull << SIG_CONT | 1ull << SIG_STOP |
			     1ull << SIG_TSTP | 1ull << SIG_TTIN | 1ull << SIG_TTOU |
			     1ull << SIG_URG | 1ull << SIG_WINCH;

	return sig > 0 && sig < 64 && !(others >> sig & 1);
}

static __noinline int send_death(struct task_struct *task)
{
	__u64 ns = bpf_ktime_get_ns();
	struct offcpu_record *r;
	__u32 tid;

	if (!task)
		return 0;
	tid = task->pid;
	leave(task, tid, TASK_DEAD, bpf_get_smp_processor_id(), ns);
	r = bpf_map_lookup_elem(&places, &tid);
	if (!r) {
		__sync_fetch_and_add(&shared.lost_crowd, 1);
		return 0;
	}
	if (!r->tid)
		return 0;
	r->kernel_cnt = 0;
	send(r, ns);
	r->out_ns = 0;
	return 0;
}

static __always_inline int may_die(struct task_struct *task)
{
	return wanted(task->pid) && !*(volatile __u32 *)&shared.is_paused && task->mm &&
	       !(task->flags & (PF_KTHREAD | PF_IO_WORKER));
}

/*
 * Each thread of a process that a signal ends gets here, the others as by SIGKILL; so do those of a process that exits, whose
 * status is there by then.
 */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int sig, void *info, struct k_sigaction *action)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (!may_die(task) || !is_fatal(sig))
		return 0;
	if (sig == SIG_KILL ? !task->signal->group_exit_code : action->sa.sa_handler != 0)
		return 0;
	return send_death(task);
}

/*
 * An exit with a status other than 0: from Linux 6.16 on the thread still has its memory here. Other threads of the process were sent
 * when they got their signal.
 */
static __always_inline void end_badly(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct offcpu_record *r = bpf_map_lookup_elem(&places, &tid);

	if (task->exit_code && !(task->exit_code & 0x7f) && may_die(task) &&
	    (!r || r->state != TASK_DEAD))
		send_death(task);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 tid = task->pid;

	if (wanted(tid)) {
		end_wait(tid);
		end_badly(task);
		forget(tid);
	}
	return 0;
}

/* Another image, with another stack; perhaps of a thread that has taken over the number of its process. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
	__u32 tid = task->pid;

	/* Wanted or not: from here on it may be one of which nothing is recorded (ctxsw.bpf.c). */
	forget(tid);
	forget(old_tid);
	return 0;
}
