/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ctxsw.bpf.c - context switches, wake-ups and the lives of threads.
 *
 * A switch is one record with both of its sides, in a ring per CPU that user space maps: the kernel
 * runs on_switch with interrupts off, so each ring has one writer and needs no lock. (A BPF ring
 * buffer costs more than all the rest of on_switch, and is one lock for all CPUs.) A wake-up is no
 * record: it is kept in a small table and travels with the switch that brings the woken thread onto a
 * CPU. The rare records, which may be written anywhere, go through a BPF ring buffer.
 *
 * Rule easy to break: the two programs on the hot path (on_switch, on_waking) may call no helper they
 * can do without; lookups in arrays are inlined by the kernel and free in comparison.
 *
 * The kernel's structs are declared down to the fields used: CO-RE finds those by name. Never name a
 * struct here that a kernel may lack: libbpf would parse the BTF of every module in search of it.
 */
#include <linux/bpf.h>
struct pt_regs; /* the kernel's own, not the one of the ptrace headers */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "collector/kernel/bpf/ctxsw.h"
#include "collector/kernel/bpf/maps.h"
#include "collector/kernel/bpf/tree.h"

#define RELOC __attribute__((preserve_access_index))

struct pid_namespace;
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
} RELOC;
typedef struct {
	int counter;
} atomic_t;
struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
} RELOC;
struct pt_regs {
	unsigned long orig_ax; /* x86 only */
} RELOC;
#ifndef CTXSW_OLD
/* In the words of libbpf's own headers, which have it from 1.3 on. */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;
#endif
struct mm_struct {
	unsigned long arg_start, arg_end;
} RELOC;
struct linux_binprm {
	unsigned int secureexec : 1; /* AT_SECURE */
	const char *interp;
	unsigned int interp_flags;
} RELOC;
struct cred;
struct task_struct {
	unsigned int __state;
	unsigned int flags;
	void *stack;
	int prio;
	int exit_code;
	unsigned in_execve : 1;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	const struct cred *cred;
	char comm[CTXSW_COMM_LEN];
} RELOC;
struct gendisk {
	int major, first_minor;
	char disk_name[32];
} RELOC;
struct request_queue {
	struct gendisk *disk; /* since 5.15 */
} RELOC;
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	__u64 start_time_ns;
} RELOC;
struct request___old { /* before 5.17 */
	struct gendisk *rq_disk;
} RELOC;
struct task_struct___old { /* before 5.14 */
	long state;
} RELOC;
struct bpf_iter__task { /* UAPI in all but name: each member takes eight bytes */
	void *meta;
	struct task_struct *task;
};

#define SIGNAL_GROUP_EXIT 4
#define ENFORCE_NONDUMP   1u /* of interp_flags: a file that its user may not read */
#ifdef __TARGET_ARCH_x86
#define THREAD_SIZE 16384
#else
#define THREAD_SIZE \
	65536 /* arm64 with pages of 64 KiB; less otherwise, which does not matter here */
#endif

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct ctxsw_config config;
struct ctxsw_shared shared;
#include "collector/kernel/bpf/owner.h"

struct wake {
	__u64 ns;
	__u32 tid; /* of the thread that was woken: slots are shared by many */
	__u32 waker_tid, waker_pid;
	__u32 reserved;
	__u64 frame; /* scratch of note_waker() */
};

/* The sizes of both kinds of ring are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} lives SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rec_exec);
} execs SEC(".maps"); /* being written */
MAPPED_RECORDS(struct rec_switch) switches SEC(".maps");
MAPPED_RECORDS(struct ctxsw_ring) rings SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CTXSW_WAKE_SLOTS);
	__type(key, __u32);
	__type(value, struct wake);
} wakes SEC(".maps");

static __always_inline __u8 *flag_of(__u32 tid)
{
	__u32 block = tid / CTXSW_FLAG_BLOCK;
	struct flag_block *b = bpf_map_lookup_elem(&flags, &block);

	return b ? &b->of[tid % CTXSW_FLAG_BLOCK] : 0;
}

static __always_inline __u32 flags_of(__u32 tid)
{
	__u8 *f = flag_of(tid);

	return f ? *f : 0;
}

static __always_inline __u64 rows_of(__u32 side)
{
	return (side & CTXSW_OUT) + (side >> 1);
}

static __always_inline void count_lost(__u64 rows)
{
	__sync_fetch_and_add(&shared.lost, rows);
}

/*
 * Stores the waking thread of slot @w; 0 when an interrupt does the wake-up, because the thread that it interrupted is
 * not the cause. Interrupts run on a stack of their own, except, on x86, those that hit user mode: there the register
 * frame shows that no system call is running. (The preempt count would be direct, but is out of reach on kernels
 * without KALLSYMS_ALL.)
 */
#ifndef CTXSW_OLD
static __always_inline void note_waker(struct wake *w)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ctxsw_ring *ring = bpf_map_lookup_elem(&rings, &cpu);
	__u64 here, frame, stack;

	w->waker_tid = w->waker_pid = 0;
	/* Through memory, because a pointer must become a number; the slot is ours to write anyway. */
	*(volatile __u64 *)&w->frame = (__u64)&here;
	frame = *(volatile __u64 *)&w->frame;
	if (!ring)
		return;
	stack = ring->stack;
	if (frame - stack >= THREAD_SIZE)
		return;
#ifdef __TARGET_ARCH_x86
	/* A cast costs nothing; asking for the task and its registers costs as much as the clock. */
	const struct pt_regs *regs =
		bpf_rdonly_cast((void *)(stack + shared.regs_offset), config.regs_type);

	if ((long)regs->orig_ax == -1)
		return;
#endif
	w->waker_tid = ring->tid;
	w->waker_pid = ring->pid;
}
#else
static __always_inline void note_waker(struct wake *w)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 here, frame, stack = (__u64)BPF_CORE_READ(task, stack), me;

	w->waker_tid = w->waker_pid = 0;
	*(volatile __u64 *)&w->frame = (__u64)&here; /* as above */
	frame = *(volatile __u64 *)&w->frame;
	if (frame - stack >= THREAD_SIZE)
		return;
#ifdef __TARGET_ARCH_x86
	struct pt_regs *regs = (void *)(stack + THREAD_SIZE - bpf_core_type_size(struct pt_regs));

	if ((long)BPF_CORE_READ(regs, orig_ax) == -1)
		return;
#endif
	me = bpf_get_current_pid_tgid();
	w->waker_tid = (__u32)me;
	w->waker_pid = me >> 32;
}
#endif

/* ---- lives of threads: all off the hot path ---- */

/* @task's id in the collector's PID namespace, 0 when it has none there. */
static __always_inline __u32 id_in_ns(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = shared.ns_level & 31; /* MAX_PID_NS_LEVEL is 32 */
	struct upid id;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	if (bpf_probe_read_kernel(&id, sizeof(id), &pid->numbers[level]))
		return 0;
	return (__u64)id.ns == shared.pid_ns ? id.nr : 0;
}

/* User space polls, and looks at the count to see how full the ring is. */
static __always_inline void count_life(__u64 bytes)
{
	__sync_fetch_and_add(&shared.lives, CTXSW_LIFE_BYTES(bytes));
}

static __always_inline void submit_life(void *record, __u64 bytes)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	count_life(bytes);
}

/* Sends the ids and name of @task to user space. When the ring is full the next switch of @task tries again. */
static __noinline int announce(struct task_struct *task, __u64 parent_pid_tid, __u32 born)
{
	__u8 *f = flag_of(task->pid);
	struct rec_task *r;

	if (!f)
		return 0;
	r = bpf_ringbuf_reserve(&lives, sizeof(*r), 0);
	if (!r) {
		count_lost(1);
		return 0;
	}
	r->ns = bpf_ktime_get_ns();
	r->kind = CTXSW_TASK;
	r->side = born | (*f & CTXSW_LIFE ? CTXSW_HIDDEN : 0);
	r->cpu = bpf_get_smp_processor_id();
	r->tid = r->ns_tid = task->pid;
	r->pid = r->ns_pid = task->tgid;
	r->parent_tid = (__u32)parent_pid_tid;
	r->parent_pid = parent_pid_tid >> 32;
	r->reserved = 0;
	if (config.map_ids) {
		r->ns_tid = id_in_ns(task);
		r->ns_pid = id_in_ns(BPF_CORE_READ(task, group_leader));
	}
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), &task->comm);
	submit_life(r, sizeof(*r));
	*f |= CTXSW_ANNOUNCED;
	return 0;
}

static __always_inline int wanted(__u32 tid)
{
	return config.system_wide || (flags_of(tid) & CTXSW_MEMBER);
}

static __always_inline int has_life(__u32 tid)
{
	return config.system_wide || (flags_of(tid) & (CTXSW_MEMBER | CTXSW_LIFE));
}

static __always_inline void remember_waker(__u32 tid, __u64 ns)
{
	__u32 slot = tid % CTXSW_WAKE_SLOTS;
	struct wake *w = bpf_map_lookup_elem(&wakes, &slot);

	if (!w)
		return;
	w->ns = ns;
	w->tid = tid;
	note_waker(w);
}

/* Unlike sched_process_fork this one also sees the workers that io_uring adds to a process. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task, unsigned long clone_flags)
{
	__u64 parent = bpf_get_current_pid_tgid();
	__u8 *f = flag_of(task->pid);

	if (!f)
		return 0;
	/* Always written: the id may have been a member's in an earlier life. */
	*f = (wanted((__u32)parent) ? CTXSW_MEMBER : 0) |
	     (flags_of((__u32)parent) & (CTXSW_TREE | CTXSW_LIFE));
	if (!*f)
		return 0;
	announce(task, parent, CTXSW_BORN);
	/* The child's first wake-up is its birth; saves a program on sched_wakeup_new. */
	remember_waker(task->pid, bpf_ktime_get_ns());
	return 0;
}

static __always_inline void begin_life(struct rec_life *r, struct task_struct *task, __u8 kind)
{
	r->ns = bpf_ktime_get_ns();
	r->kind = kind;
	r->side = 0;
	r->cpu = bpf_get_smp_processor_id();
	r->tid = r->old_tid = task->pid;
	r->pid = task->tgid;
	r->exit_code = -1;
	r->reserved = 0;
}

static __always_inline struct rec_life *life_record(struct task_struct *task, __u8 kind)
{
	struct rec_life *r;

	if (!has_life(task->pid))
		return 0;
	r = bpf_ringbuf_reserve(&lives, sizeof(*r), 0);
	if (!r) {
		count_lost(1);
		return 0;
	}
	begin_life(r, task, kind);
	return r;
}

/* ---- programs that the user may not trace ---- */

/* A program that gives up its raised rights stays hidden until its next exec, as it may have kept a secret. */
static __always_inline void hide_or_show(struct task_struct *task, struct linux_binprm *bprm)
{
	__u8 *f = flag_of(task->pid);

	if (!f)
		return;
	if (is_own(BPF_CORE_READ(task, cred)) && !BPF_CORE_READ_BITFIELD_PROBED(bprm, secureexec) &&
	    !(BPF_CORE_READ(bprm, interp_flags) & ENFORCE_NONDUMP))
		*f = (*f & ~CTXSW_LIFE) | CTXSW_MEMBER | CTXSW_TREE;
	else
		*f = (*f & ~(CTXSW_MEMBER | CTXSW_TREE)) | CTXSW_LIFE;
}

/* Path and arguments, behind each other in r->text. Bytes of the record. */
static __always_inline __u64 put_exec(struct rec_exec *r, struct task_struct *task,
				      struct linux_binprm *bprm)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 start = mm ? BPF_CORE_READ(mm, arg_start) : 0, len = 0;
	long path = bpf_probe_read_kernel_str(r->text, CTXSW_PATH_LEN, BPF_CORE_READ(bprm, interp));

	if (path < 0 || path > CTXSW_PATH_LEN)
		path = 0;
	if (start)
		len = BPF_CORE_READ(mm, arg_end) - start;
	if (len >= CTXSW_ARGS_LEN)
		len = CTXSW_ARGS_LEN - 1;
	asm volatile("%0 &= %1" : "+r"(len) : "i"(CTXSW_ARGS_LEN - 1));
	/* The stack of the new program, which has just been written: nothing is faulted in. */
	if (len && bpf_probe_read_user(r->text + path, len, (void *)start))
		len = 0;
	r->path_len = path;
	r->args_len = len;
	return __builtin_offsetof(struct rec_exec, text) + path + len;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	__u32 zero = 0;
	struct rec_exec *r;
	__u64 bytes;

	if (!has_life(task->pid))
		return 0;
	if (config.own_only) /* before the time of the record: no switch lies between */
		hide_or_show(task, bprm);
	r = bpf_map_lookup_elem(&execs, &zero);
	if (!r)
		return 0;
	begin_life(&r->life, task, CTXSW_EXEC);
	r->life.side = flags_of(task->pid) & CTXSW_LIFE ? CTXSW_HIDDEN : 0;
	r->life.old_tid = old_pid;
	bpf_probe_read_kernel(r->life.comm, sizeof(r->life.comm), &task->comm);
	bytes = r->life.side ? sizeof(r->life) : put_exec(r, task, bprm);
	if (bytes > sizeof(*r))
		bytes = sizeof(*r);
	if (bpf_ringbuf_output(&lives, r, bytes, BPF_RB_NO_WAKEUP)) {
		/* Without the texts it may fit. */
		bytes = sizeof(r->life);
		if (bpf_ringbuf_output(&lives, r, bytes, BPF_RB_NO_WAKEUP)) {
			count_lost(1);
			return 0;
		}
	}
	count_life(bytes);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct rec_life *r;

	/* exec renames too, and has a record of its own */
	if (bpf_core_field_exists(task->in_execve) &&
	    BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return 0;
	r = life_record(task, CTXSW_RENAME);
	if (!r)
		return 0;
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), comm);
	submit_life(r, sizeof(*r));
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct rec_life *r = life_record(task, CTXSW_EXIT);
	struct signal_struct *signal;

	if (!r)
		return 0;
	r->comm[0] = 0;
	signal = BPF_CORE_READ(task, signal);
	/* The status for wait(): the group's code, or the leader's own. */
	if (!BPF_CORE_READ(signal, live.counter))
		r->exit_code = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT
				       ? BPF_CORE_READ(signal, group_exit_code)
				       : BPF_CORE_READ(task, group_leader, exit_code);
	submit_life(r, sizeof(*r));
	return 0;
}

static __always_inline void find_offsets(struct ctxsw_offsets *o)
{
	struct task_struct *task = 0;
	struct request_queue *q = 0;
	struct request___old *old = 0;
	struct request *rq = 0;
	struct gendisk *disk = 0;

	o->rq_queue = bpf_core_field_offset(rq->q);
	o->rq_flags = bpf_core_field_offset(rq->cmd_flags);
	o->rq_bytes = bpf_core_field_offset(rq->__data_len);
	o->rq_sector = bpf_core_field_offset(rq->__sector);
	o->rq_start = bpf_core_field_offset(rq->start_time_ns);
	if (bpf_core_field_exists(old->rq_disk))
		o->rq_disk = bpf_core_field_offset(old->rq_disk);
	else if (bpf_core_field_exists(q->disk))
		o->queue_disk = bpf_core_field_offset(q->disk);
	o->disk_major = bpf_core_field_offset(disk->major);
	o->disk_minor = bpf_core_field_offset(disk->first_minor);
	o->disk_name = bpf_core_field_offset(disk->disk_name);
	o->task_flags = bpf_core_field_offset(task->flags);
}

/* Run by the collector, in its own context, for each thread of its PID namespace. */
SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 process;
	__u8 *f;

	if (!task)
		return 0;
	if (!shared.offsets.task_flags && bpf_core_type_exists(struct request))
		find_offsets(&shared.offsets);
#if defined(__TARGET_ARCH_x86) && !defined(CTXSW_OLD)
	if (!shared.regs_offset) {
		/* Both through memory, as in note_waker(). Not constant: FRED pads the stack's end. */
		*(volatile __u64 *)&shared.regs_offset = (__u64)bpf_task_pt_regs(task);
		shared.regs_offset -= (__u64)task->stack;
	}
#endif
	if (config.map_ids && !shared.pid_ns && (__u64)task == bpf_get_current_task()) {
		struct pid *pid = BPF_CORE_READ(task, thread_pid);
		struct upid id = {};

		shared.ns_level = BPF_CORE_READ(pid, level);
		bpf_probe_read_kernel(&id, sizeof(id), &pid->numbers[shared.ns_level & 31]);
		shared.pid_ns = (__u64)id.ns;
	}
	if (config.own_only && !shared.user_ns && (__u64)task == bpf_get_current_task())
		note_user(BPF_CORE_READ(task, cred));
	if (!shared.follow_pid)
		return 0;
	process = task->tgid;
	if (config.map_ids)
		process = id_in_ns(BPF_CORE_READ(task, group_leader));
	if (process != shared.follow_pid)
		return 0;
	shared.present++;
	f = flag_of(task->pid);
	if (!f || (*f & (CTXSW_TREE | CTXSW_LIFE)))
		return 0;
	shared.found++;
	/* Else it has become another's since its id was looked at. */
	*f |= !config.own_only || is_own(BPF_CORE_READ(task, cred)) ? CTXSW_MEMBER | CTXSW_TREE
								    : CTXSW_LIFE;
	announce(task, 0, 0);
	return 0;
}

/* ---- the hot path ---- */

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	__u32 tid = task->pid;

	if (*(volatile __u32 *)&shared.is_paused || !wanted(tid))
		return 0;
	/* Wakers outside the tree need their ids mapped as well. */
	if (config.map_ids) {
		__u64 me = bpf_get_current_pid_tgid();

		if ((__u32)me && !(flags_of((__u32)me) & CTXSW_ANNOUNCED))
			announce(bpf_get_current_task_btf(), 0, 0);
	}
	remember_waker(tid, bpf_ktime_get_ns());
	return 0;
}

static __always_inline __u32 state_of(unsigned long long *ctx, struct task_struct *prev)
{
	if (config.state_argument)
		return ctx[3];
	if (bpf_core_field_exists(prev->__state))
		return prev->__state;
	return BPF_CORE_READ((struct task_struct___old *)prev, state);
}

/* Pairs with the acquire load in take_switches(): the record is whole before it is seen. */
static __always_inline void publish(__u64 *head, __u64 value)
{
#ifdef __TARGET_ARCH_x86
	asm volatile("" ::: "memory"); /* stores are not reordered */
	*(volatile __u64 *)head = value;
#else
	/* An atomic whose result is used is a full barrier; BPF has no cheaper release on old kernels. */
	if (__sync_lock_test_and_set(head, value) > value)
		count_lost(0);
#endif
}

/* Which of its two sides a switch is wanted for. */
static __always_inline __u32 sides(struct task_struct *prev, struct task_struct *next)
{
	__u32 prev_tid = prev->pid, next_tid = next->pid;
	__u32 p = flags_of(prev_tid), n = flags_of(next_tid);

	if (config.system_wide) {
		p |= prev_tid != 0; /* the idle threads, all of id 0, have no rows */
		n |= next_tid != 0;
	}
	if ((p & (CTXSW_MEMBER | CTXSW_ANNOUNCED)) == CTXSW_MEMBER)
		announce(prev, 0, 0);
	if ((n & (CTXSW_MEMBER | CTXSW_ANNOUNCED)) == CTXSW_MEMBER)
		announce(next, 0, 0);
	return (p & CTXSW_MEMBER) | (n & CTXSW_MEMBER) << 1;
}

static __always_inline void record(unsigned long long *ctx, struct ctxsw_ring *ring, __u32 cpu,
				   __u32 side, struct task_struct *prev, struct task_struct *next)
{
	__u32 tid = next->pid, state, slot;
	__u64 head = ring->head;
	struct rec_switch *r;
	struct wake *w;

	slot = cpu << config.slot_shift | (head & ((1u << config.slot_shift) - 1));
	r = bpf_map_lookup_elem(&switches, &slot);
	/* Pairs with the store of tail in take_switches(): a slot was read before it is given back. */
	if (!r || (head - *(volatile __u64 *)&ring->tail) >> config.slot_shift) {
		ring->lost += rows_of(side);
		return;
	}
	r->ns = bpf_ktime_get_ns();
	r->kind = CTXSW_SWITCH;
	r->side = side;
	r->cpu = cpu;
	state = (_Bool)ctx[0] ? 0 : state_of(ctx, prev); /* preempted? */
	r->state = state | (state >> 16 ? 0x8000 : 0);
	r->prev_prio = prev->prio;
	r->next_prio = next->prio;
	r->prev_tid = prev->pid;
	r->prev_pid = prev->tgid;
	r->next_tid = tid;
	r->next_pid = next->tgid;
	slot = tid % CTXSW_WAKE_SLOTS;
	w = bpf_map_lookup_elem(&wakes, &slot);
	if (w && w->tid == tid) {
		r->wake_ns = w->ns;
		r->waker_tid = w->waker_tid;
		r->waker_pid = w->waker_pid;
	} else {
		r->wake_ns = 0;
		r->waker_tid = r->waker_pid = 0;
	}
	publish(&ring->head, head + 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id(), side = 0;
	struct ctxsw_ring *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!*(volatile __u32 *)&shared.is_paused)
		side = sides(prev, next);
	if (!ring) { /* a CPU that was plugged in since */
		if (side)
			count_lost(rows_of(side));
		return 0;
	}
	if (side)
		record(ctx, ring, cpu, side, prev, next);
	/* Behind its record: user space that sees the thread sees the record, too (bpf_record()). */
	asm volatile("" ::: "memory");
	ring->tid = next->pid;
	ring->pid = next->tgid;
	ring->stack = (__u64)next->stack;
	return 0;
}

/* Never attached: user space runs it on each CPU to read the current thread when on_switch has not been attached. */
SEC("raw_tp/sched_switch")
int on_ask(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct ctxsw_ring *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!ring)
		return 0;
	ring->tid = BPF_CORE_READ(task, pid);
	ring->pid = BPF_CORE_READ(task, tgid);
	ring->stack = (__u64)BPF_CORE_READ(task, stack);
	return 0;
}
