/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pywalk.h - for *.bpf.c: from the current thread to its Python frames.
 *
 * The interpreter's memory is read in the thread's own context: it cannot change meanwhile. User space supplies the
 * layout, per process; for an unknown process a request is sent. The including file defines PYWALK_POINTERS and
 * PYWALK_NUMBERS (state carried along a walk) before, and take_frame(), which consumes a frame, after.
 *
 * Numbers lie in a map: on the stack the verifier would follow each of their values through both loops, for 60 ms.
 */
#pragma once

#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/bpf/pytask.h"

#define STATES_MAX 8192

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));
struct pid_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
} __attribute__((preserve_access_index));

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
/*
 * Code objects that user space has received, by their keys; two that share a place with a third take turns, and are sent again.
 * An LRU map of as many would take 2.5 ms to make.
 */
#define MET_BITS 14
struct met_place {
	__u64 newest, older;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << MET_BITS);
	__type(key, __u32);
	__type(value, struct met_place);
} met SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} asks SEC(".maps");
struct { /* where the next record is assembled */
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pysample_code);
} copies SEC(".maps");

struct walk_numbers {
	__u64 me;                         /* the C library's id of this thread */
	__u64 interpreter, thread, state; /* looked at; found */
	__u64 frame, marks;
	__u64 frames[PYSAMPLE_NESTED]; /* of each interpreter that the thread is in */
	__u32 nested, at;              /* how many; which is being read */
	__u32 is_one;                  /* there is one interpreter */
	__u32 cnt, pid;
	__u32 is_fresh; /* a code object is new */
	PYWALK_NUMBERS
};
struct { /* of the walk on this CPU: a program that walks is not interrupted by itself */
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk_numbers);
} walks SEC(".maps");
struct walk {
	const struct pysample_process *py;
	struct walk_numbers *n;
	PYWALK_POINTERS
};

/* 0 for all of them; 0: there is no such memory, which the verifier cannot know. */
static __always_inline struct walk_numbers *fresh_numbers(void)
{
	__u32 zero = 0;
	struct walk_numbers *n = bpf_map_lookup_elem(&walks, &zero);

	if (n)
		__builtin_memset(n, 0, sizeof(*n));
	return n;
}

static __always_inline void take_frame(struct walk *w, __u64 code, __u64 instruction, __u64 check);

static __always_inline __u64 load(__u64 at)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)at);
	return value;
}

static __always_inline void ask(__u64 image, __u32 pid, __u32 is_code)
{
	struct pysample_ask a = {.image = image, .pid = pid, .is_code = is_code};

	bpf_ringbuf_output(&asks, &a, sizeof(a), BPF_RB_FORCE_WAKEUP);
}

/* ---- which process ---- */

/*
 * Layout of the process; 0: it has no Python. Sends a request for a new process, and again later, since libraries may
 * be loaded. A layout that user space set before the first sample is taken for the current image and confirmed.
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
	if (is_time_to_ask(p->asked))
		ask(image, pid, 0);
	return 0;
}

/* ---- the thread's state ---- */

static __always_inline __u64 frame_of(const struct pysample_process *py, __u64 state)
{
	__u64 at = load(state + py->thread_at.frame);

	if (py->thread_at.base && at == load(state + py->thread_at.base))
		return 0;
	return py->thread_at.has_cframe && at ? load(at + py->thread_at.frame_of_cframe) : at;
}

static long look_at_state(__u32 i, struct walk *w)
{
	const struct pysample_process *py = w->py;
	__u32 nested;
	__u64 frame;

	if (!w->n->thread) {
		w->n->interpreter = load(w->n->interpreter + py->interpreter_at.next);
		if (!w->n->interpreter)
			return 1;
		w->n->thread = load(w->n->interpreter + py->interpreter_at.threads);
		return 0;
	}
	if (load(w->n->thread + py->thread_at.id) == w->n->me &&
	    (frame = frame_of(py, w->n->thread))) {
		if (!w->n->nested)
			w->n->state = w->n->thread;
		nested = w->n->nested;
		if (nested < PYSAMPLE_NESTED) {
			w->n->frames[nested] = frame;
			w->n->nested = nested + 1;
		}
		if (w->n->is_one)
			return 1;
	}
	w->n->thread = load(w->n->thread + py->thread_at.next);
	return 0;
}

/*
 * The frame that the thread is in; 0: none. A thread has a state for each interpreter that it has been in; those with
 * frames count, the youngest interpreter's first. With one interpreter, the state stays where it was.
 */
static __always_inline __u64 find_frame(struct walk *w, __u32 tid)
{
	const struct pysample_process *py = w->py;
	__u64 head = load(py->runtime + py->runtime_at.interpreters), ends, *kept = 0;

	if (!head)
		return 0;
	w->n->is_one = !load(head + py->interpreter_at.next);
	if (w->n->is_one)
		kept = bpf_map_lookup_elem(&states, &tid);
	if (kept && *kept && load(*kept + py->thread_at.id) == w->n->me) {
		w->n->state = *kept;
		w->n->frame = frame_of(py, w->n->state);
	}
	if (!w->n->frame) {
		w->n->interpreter = head;
		w->n->thread = load(head + py->interpreter_at.threads);
		bpf_loop(STATES_MAX, look_at_state, w, 0);
		w->n->frame = w->n->frames[0];
		if (w->n->frame && w->n->is_one)
			bpf_map_update_elem(&states, &tid, &w->n->state, BPF_ANY);
	}
	/* A thread that ends Python frees the data of the other threads. */
	ends = load(py->runtime + py->runtime_at.finalizing);
	return ends && ends != w->n->state ? 0 : w->n->frame;
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

/* No wake-up: a request record follows. Not 0: there was no room. */
static __always_inline long tell_code(const struct walk *w, __u64 code, __u64 check)
{
	const struct pysample_process *py = w->py;
	__u32 zero = 0;
	struct pysample_code *c = bpf_map_lookup_elem(&copies, &zero);
	__u32 object, lines;

	if (!c)
		return 0;
	object = py->code_at.size;
	if (object > PYSAMPLE_OBJECT)
		return 0;
	c->ask.image = py->image;
	c->ask.pid = w->n->pid;
	c->ask.is_code = 1;
	c->code = code;
	c->check = check;
	c->name = load(code + py->code_at.shown_name);
	c->file = load(code + py->code_at.file);
	c->lines = load(code + py->code_at.line_table);
	c->object_len = copy(c->object_bytes, object, code);
	c->name_len = copy_text(c->name_bytes, PYSAMPLE_NAME, c->name);
	c->file_len = copy_text(c->file_bytes, PYSAMPLE_FILE, c->file);
	lines = load(c->lines + py->bytes_at.size) + py->bytes_at.data;
	if (lines > PYSAMPLE_LINES)
		lines = 0;
	if (bpf_probe_read_user(c->lines_bytes, lines, (void *)c->lines))
		lines = 0;
	c->lines_len = lines;
	return bpf_ringbuf_output(&asks, c,
				  __builtin_offsetof(struct pysample_code, lines_bytes) + lines,
				  BPF_RB_NO_WAKEUP);
}

static __always_inline void meet(struct walk *w, __u64 code, __u64 check)
{
	__u64 key = (code ^ check << 7 ^ w->py->image << 21) | 1; /* 0: a free place */
	__u32 at = (key * 0x9e3779b97f4a7c15u) >> (64 - MET_BITS);
	struct met_place *p = bpf_map_lookup_elem(&met, &at);

	if (!p || p->newest == key || p->older == key)
		return;
	p->older = p->newest;
	p->newest = key;
	w->n->is_fresh = 1;
	if (tell_code(w, code, check))
		p->newest = 0; /* the next frame of it tries again */
}

static __always_inline __u64 check_of(const struct pysample_process *py, __u64 code)
{
	__u64 name, lines, file;
	__u32 first_line;

	if (bpf_probe_read_user(&name, sizeof(name), (void *)(code + py->code_at.name)) ||
	    bpf_probe_read_user(&lines, sizeof(lines), (void *)(code + py->code_at.line_table)) ||
	    bpf_probe_read_user(&file, sizeof(file), (void *)(code + py->code_at.file)) ||
	    bpf_probe_read_user(&first_line, sizeof(first_line),
				(void *)(code + py->code_at.first_line)))
		return 0;
	return pysample_check(name, lines, file, first_line);
}

/*
 * Without the lock, each thread has its own copy of bytecode that other threads run, too (3.14): the record holds the same
 * place in the original bytecode, 0 where that is unknown.
 */
static __always_inline __u64 instruction_of(const struct pysample_process *py, __u64 frame,
					    __u64 code)
{
	__u64 instruction = load(frame + py->frame_at.instruction), copies;
	__s32 number;

	copies = py->code_at.copies ? load(code + py->code_at.copies) : 0;
	if (!copies)
		return instruction;
	number = (__s32)load(frame + py->frame_at.copy_number);
	if (number < 0 || number >= (__s64)load(copies))
		return 0;
	return instruction - load(copies + 8 + 8 * (__u64)number) + code + py->code_at.bytecode;
}

/* 0: there is another one. */
static __always_inline long next_interpreter(struct walk *w)
{
	__u32 at = w->n->at + 1;

	if (at >= w->n->nested || at >= PYSAMPLE_NESTED)
		return 1;
	w->n->at = at;
	w->n->frame = w->n->frames[at];
	take_frame(w, 0, PYSAMPLE_NEXT, 0);
	w->n->cnt++;
	return 0;
}

static long each_frame(__u32 i, struct walk *w)
{
	const struct pysample_process *py = w->py;
	__u64 frame = w->n->frame, code, check, instruction;
	__u8 flag = 0;

	if (!frame)
		return next_interpreter(w);
	if (bpf_probe_read_user(&code, sizeof(code), (void *)(frame + py->frame_at.code))) {
		w->n->marks |= PYSAMPLE_BROKEN;
		return 1;
	}
	/* The lowest bits may be marks of a reference. */
	code &= ~7ull;
	if (py->frame_at.flag)
		bpf_probe_read_user(&flag, sizeof(flag), (void *)(frame + py->frame_at.flag));
	check = check_of(py, code);
	instruction = instruction_of(py, frame, code);
	if (py->frame_at.flag_of_c && flag >= py->frame_at.flag_of_c)
		instruction = frame;
	take_frame(w, (code & ~(0xffull << 56)) | (__u64)flag << 56, instruction, check);
	if (check)
		meet(w, code, check);
	w->n->cnt++;
	w->n->frame = load(frame + py->frame_at.previous);
	return 0;
}

/* All of them; w->n->frame is the innermost. */
static __always_inline void walk_frames(struct walk *w)
{
	bpf_loop(PYSAMPLE_DEPTH, each_frame, w, 0);
	if (w->n->frame && !(w->n->marks & PYSAMPLE_BROKEN))
		w->n->marks |= PYSAMPLE_DEEPER;
}
