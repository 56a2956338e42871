/*
 * hook.c - slow paths of hook.h: start of a thread, a full chunk, a signal that interrupts the shim,
 * records with strings.
 *
 * Runs inside the program's calls: no locks, no allocation, no libc. System calls are direct, so that
 * errno and cancellation are not affected.
 */
#include "preload/core/hook.h"
#include "preload/core/arena_map.h"
#include "preload/core/leaving.h"
#include "preload/core/seccomp.h"
#include "preload/core/stack.h"
#include "preload/core/thread_room.h"
#include "preload/core/wait.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/wire/sys.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- slots and chunks ---- */

static struct sl_chunk *chunk_init(sl_ref ref, sl_ref slot, uint32_t seq)
{
	struct sl_chunk *c = sl_arena_chunk(ref);

	c->next = 0;
	c->seq = seq;
	c->slot = slot;
	c->consumed = 0;
	__atomic_store_n(&c->committed, 0, __ATOMIC_RELAXED);
	return c;
}

static void use_chunk(struct sl_chunk *c)
{
	sl_tls.chunk = c;
	sl_tls.cur = c->data;
	sl_tls.end = c->data + sizeof(c->data) / 8;
}

/*
 * Populates a chunk that was never used, by one system call: page faults in the program's calls would cost as much as
 * hundreds of records each. Kernels before 5.14 refuse it; then the pages are faulted in.
 */
static void map_fresh(sl_ref ref)
{
	if (!sl_global.seccomp)
		sl_sys3(SYS_madvise, sl_arena_chunk(ref), SL_CHUNK_BYTES, MADV_POPULATE_WRITE);
}

static bool take_next(struct sl_arena *a, void *what)
{
	sl_ref *ref = what;
	bool used;

	*ref = sl_chunk_take(a, false, &used);
	if (*ref && !used)
		map_fresh(*ref);
	return *ref != 0;
}

static void count_lost(enum sl_hook hook, const struct sl_call *call)
{
	struct sl_slot *slot = sl_tls.slot;
	struct sl_agg *agg = &sl_tls.agg[hook];

	if (hook >= SL_HOOK_CNT) {
		uint64_t *cnt = &slot->lost_of[hook - SL_HOOK_CNT];

		__atomic_store_n(cnt, *cnt + 1, __ATOMIC_RELEASE);
		return;
	}
	if (call->duration < agg->min || !(agg->total + agg->lost_total))
		agg->min = call->duration;
	if (call->duration > agg->max)
		agg->max = call->duration;
	agg->lost_total += call->duration;
	__atomic_store_n(&agg->lost_count, agg->lost_count + 1, __ATOMIC_RELEASE);
	if (slot->lost_cnt == slot->lost_recorded)
		slot->lost_first = call->start;
	slot->lost_last = call->start + call->duration;
	__atomic_store_n(&slot->lost_cnt, slot->lost_cnt + 1, __ATOMIC_RELEASE);
}

/* Begins a META record of @words words at @w; returns the address of its payload. */
static uint64_t *put_meta(uint64_t *w, enum sl_meta meta, uint64_t start, unsigned words)
{
	w[0] = start;
	w[1] = (uint64_t)sl_head(meta, words, 0, SL_SHAPE_META, 0) << 32;
	return w + 2;
}

/* The first records of a new chunk: losses before it, and the wait for it. */
static void put_gap(uint64_t wait_begun, uint64_t wait_end)
{
	struct sl_slot *slot = sl_tls.slot;
	uint64_t *w;

	if (wait_begun) {
		w = put_meta(sl_tls.cur, SL_META_OVERHEAD, wait_begun, 4);
		w[0] = wait_end;
		w[1] = SL_OVERHEAD_FULL;
		sl_commit(w + 2);
	}
	if (slot->lost_cnt != slot->lost_recorded) {
		w = put_meta(sl_tls.cur, SL_META_LOST, slot->lost_first, 5);
		w[0] = slot->lost_last;
		w[1] = slot->lost_cnt;
		w[2] = SL_LOSS_FULL;
		/* A count that only grows: wherever the process is killed, each loss is counted once. */
		sl_commit(w + 3);
		slot->lost_recorded = slot->lost_cnt;
	}
}

static bool take_next_chunk(void)
{
	struct sl_arena *a = sl_global.arena;
	uint64_t wait_begun = 0, wait_end = 0;
	struct sl_chunk *old = sl_tls.chunk, *c;
	sl_ref ref;

	if (!take_next(a, &ref)) {
		/* Each dropped call comes here: no clock is read. */
		if (sl_tls.dropping || sl_global.session->on_full == SL_FULL_DROP)
			return false;
		wait_begun = sl_ticks();
		if (!sl_wait_for(a, take_next, &ref)) {
			sl_tls.dropping = 1;
			return false;
		}
		wait_end = sl_ticks();
	}
	sl_tls.dropping = 0;
	c = chunk_init(ref, old->slot, old->seq + 1);
	use_chunk(c);
	put_gap(wait_begun, wait_end);
	/* Release: a reader of the link reads the chunk's header, and the final value of old->committed (drain.c). */
	__atomic_store_n(&old->next, ref, __ATOMIC_RELEASE);
	return true;
}

/* Switches to another chunk. False: there is none, and --on-full forbids to wait (longer); or the session is left. */
static bool next_chunk(void)
{
	bool ok = sl_slow_begin();

	if (ok) {
		ok = take_next_chunk();
		sl_slow_end();
	}
	return ok;
}

uint64_t *sl_room_slow(unsigned words, enum sl_hook hook, const struct sl_call *call)
{
	/* Reset by a fork inside the call (by a signal handler): no chunk. */
	if (!sl_tls.chunk)
		return NULL;
	if (!next_chunk()) {
		count_lost(hook, call);
		return NULL;
	}
	return (size_t)((char *)sl_tls.end - (char *)sl_tls.cur) >= words * 8u ? sl_tls.cur : NULL;
}

uint64_t *sl_room_or_none(unsigned words)
{
	if (!sl_tls.chunk)
		return NULL;
	if ((size_t)((char *)sl_tls.end - (char *)sl_tls.cur) >= words * 8u)
		return sl_tls.cur;
	return next_chunk() ? sl_tls.cur : NULL;
}

void sl_count_nested(void)
{
	if (sl_tls.clockless_since)
		sl_count_unslotted();
	else if (sl_tls.slot)
		__atomic_add_fetch(&sl_tls.slot->nested_cnt, 1, __ATOMIC_RELAXED);
	else if (sl_global.arena)
		__atomic_add_fetch(&sl_global.arena->unslotted_cnt, 1, __ATOMIC_RELAXED);
}

uint64_t sl_slow_ticks(void)
{
	if (sl_tls.clockless_since)
		return sl_tls.clockless_since;
	return sl_proc.clock_mode == SL_CLOCK_TSC ? sl_counter() : sl_mono_ns();
}

/* ---- a thread's first call ---- */

void sl_count_unslotted(void)
{
	struct sl_arena *a = sl_global.arena;
	uint64_t now = sl_ticks(), none = 0;

	__atomic_compare_exchange_n(&a->unslotted_first, &none, now, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	__atomic_store_n(&a->unslotted_last, now, __ATOMIC_RELAXED);
	__atomic_add_fetch(&a->unslotted_cnt, 1, __ATOMIC_RELAXED);
}

/* A thread's slot, totals and first chunk; 0: not taken. */
struct thread_refs {
	sl_ref slot, agg, first;
	bool agg_used;
};

static bool take_thread_refs(struct sl_arena *a, void *what)
{
	struct thread_refs *o = what;
	bool used;

	o->slot = sl_stack_pop(&a->free_slots, a->slot_link, SL_SLOT_CNT);
	if (!o->slot)
		o->slot = sl_take_fresh(&a->fresh_slot, a->slot_cnt);
	o->agg = o->slot ? sl_chunk_take(a, true, &o->agg_used) : 0;
	o->first = o->agg ? sl_chunk_take(a, true, &used) : 0;
	if (o->first)
		return true;
	if (o->agg)
		sl_stack_push(&a->free_chunks, a->chunk_link, o->agg);
	if (o->slot)
		sl_stack_push(&a->free_slots, a->slot_link, o->slot);
	return false;
}

/* Threads may start and exit faster than the collector frees their slots: new ones wait. */
static bool wait_for_thread_refs(struct sl_arena *a, struct thread_refs *o)
{
	/* The last wait failed: no other until slots are free again. */
	static uint32_t gave_up;
	bool ok = take_thread_refs(a, o);

	if (!ok && !__atomic_load_n(&gave_up, __ATOMIC_RELAXED))
		ok = sl_wait_for(a, take_thread_refs, o);
	__atomic_store_n(&gave_up, !ok, __ATOMIC_RELAXED);
	return ok;
}

static void reset_thread(void)
{
	static const struct sl_tls fresh = SL_NEW_THREAD;
	uint32_t busy = sl_tls.busy;

	sl_tls = fresh;
	sl_tls.busy = busy;
}

bool sl_thread_start(void)
{
	const struct sl_session *s = sl_global.session;
	const struct sl_thread_room *parent = sl_tls.room;
	struct sl_arena *a = sl_global.arena;
	uint32_t tid = sl_own_tid();
	struct sl_slot *slot;
	struct thread_refs o;

	/* The state may be the parent's. */
	reset_thread();
	if (!tid || !wait_for_thread_refs(a, &o)) {
		sl_count_unslotted();
		return false;
	}
	slot = &a->slot[o.slot - 1];
	slot->pid = sl_proc.pid;
	slot->tid = tid;
	slot->process = sl_proc.number;
	slot->parent_process = sl_proc.parent_number;
	slot->flags = sl_global.private_pid_ns ? SL_SLOT_NAMESPACED : 0;
	slot->file_chunk = 0;
	slot->epoch = sl_tls.epoch = __atomic_load_n(&s->epoch, __ATOMIC_RELAXED);
	slot->agg_chunk = o.agg;
	slot->first_chunk = o.first;
	slot->born = sl_ticks();
	slot->lost_cnt = slot->lost_recorded = slot->nested_cnt = 0;
	memset(slot->lost_of, 0, sizeof(slot->lost_of));
	slot->gil_since = slot->gil_wait = 0;
	slot->gil_recorded = 0;
	slot->instance++;
	if (!sl_global.seccomp)
		sl_sys2(SYS_prctl, 16 /* PR_GET_NAME */, slot->comm);
	sl_tls.slot = slot;
	sl_thread_room_start(parent);
	sl_tls.agg = (struct sl_agg *)sl_arena_chunk(o.agg);
	sl_tls.files = sl_file_few(sl_tls.agg);
	sl_tls.file_mask = SL_FILE_FEW - 1;
	if (o.agg_used)
		memset(sl_tls.agg, 0, SL_CHUNK_BYTES);
	use_chunk(chunk_init(o.first, o.slot, 0));
	sl_tls.threshold = s->threshold_ticks;
	sl_tls.file_threshold = s->trace & SL_TRACE_FILE_ACCESS ? 0 : s->threshold_ticks;
	sl_tls.signal_threshold = s->signal_threshold_ticks;
	sl_tls.depth = sl_proc.clock_mode == SL_CLOCK_TSC ? 0 : SL_DEPTH_MONO;
	sl_tls.dropping = 0;
	sl_tls.stack_ticks = s->stack_kinds & (SL_STACK_OSRT_NATIVE | SL_STACK_OSRT_PYTHON) &&
					     !sl_global.is_foreign
				     ? s->stack_ticks
				     : UINT64_MAX;
	sl_tls.long_ticks = sl_tls.stack_ticks >> 32 ? UINT64_C(1) << 32 : sl_tls.stack_ticks;
	__atomic_add_fetch(&sl_proc.thread_cnt, 1, __ATOMIC_RELAXED);
	/* Release: pairs with the collector's acquire of state. */
	__atomic_store_n(&slot->state, SL_SLOT_LIVE, __ATOMIC_RELEASE);
	sl_tls.cookie = sl_proc.cookie;
	return true;
}

/* Calls that did not return; fewer than none, if some that were taken for such do return (on another stack). */
static void count_left(int64_t calls)
{
	uint64_t *cnt, now;

	if (!sl_tls.slot || sl_tls.cookie < SL_COOKIE_FIRST || sl_tls.cookie != sl_proc.cookie)
		return;
	cnt = &sl_tls.slot->lost_of[SL_LOST_LEFT];
	now = __atomic_load_n(cnt, __ATOMIC_RELAXED);
	if (calls < 0 && now < (uint64_t)-calls)
		calls = -(int64_t)now;
	__atomic_store_n(cnt, now + (uint64_t)calls, __ATOMIC_RELEASE);
}

void sl_leave_open_calls(void)
{
	uint32_t mono = sl_tls.depth & SL_DEPTH_MONO;

	count_left(sl_tls.depth - mono);
	sl_tls.depth = mono;
}

uint64_t sl_enter_nested(char *frame)
{
	uint32_t mono = sl_tls.depth & SL_DEPTH_MONO, depth = sl_tls.depth - mono;

	/* A call left by longjmp or an exception did not decrement the depth. */
	if (depth && frame >= sl_tls.outer_frame) {
		count_left(depth);
		depth = 0;
	}
	if (!depth)
		sl_tls.outer_frame = frame;
	sl_tls.depth = mono | (depth + 1);
	return mono ? sl_slow_ticks() : sl_counter();
}

void sl_stop_rare(struct sl_call *call)
{
	uint32_t mono = sl_tls.depth & SL_DEPTH_MONO;
	uint64_t now = mono ? sl_slow_ticks() : sl_counter();
	int64_t within = (int64_t)(sl_tls.depth - mono) - (call->depth & ~SL_DEPTH_MONO) - 1;

	if (within)
		count_left(within);
	sl_tls.depth = call->depth | mono;
	call->duration = now - call->start;
}

void sl_aggregate_rare(enum sl_hook hook, uint64_t duration, uint64_t bytes, bool failed)
{
	if (!sl_begin_write())
		return;
	sl_aggregate(hook, duration, bytes, failed);
	sl_end_write();
}

/* ---- records with more than a few words ---- */

void sl_leave_close(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		    uint32_t serial)
{
	uint64_t p[2] = {sl_result(ret, failed), sl_fd_serial(fd, serial)};

	if (!sl_short(call, hook, true, 0, failed))
		sl_record(call, hook, SL_SHAPE_FD, failed, p, 2);
	else if (serial)
		sl_meta(SL_META_CLOSE, call->start, p + 1, 1, NULL, 0);
}

static enum sl_stack_of stack_of(enum sl_hook hook)
{
	return sl_unlikely(hook == SL_H_munmap) ? SL_STACK_OF_UNMAP : SL_STACK_OF_OSRT;
}

bool sl_record_slow(const struct sl_call *call, enum sl_hook hook, unsigned shape, bool failed,
		    const uint64_t *payload, unsigned payload_words)
{
	unsigned words = 2 + (call->duration >> 32 != 0) + payload_words;
	uint32_t stack =
		call->duration >= sl_tls.stack_ticks ? sl_stack_take(call, stack_of(hook)) : 0;
	uint64_t *w;

	/* In a signal handler that interrupted the shim: counted there. */
	if (!sl_begin_write())
		return true;
	if (stack)
		sl_stack_put(call, stack, words);
	w = sl_room(words, hook, call);
	if (w) {
		uint64_t *to = sl_put_head(w, hook, words, call, shape, failed ? SL_REC_ERR : 0);

		for (unsigned i = 0; i < payload_words; i++)
			to[i] = payload[i];
		sl_commit(to + payload_words);
	}
	sl_end_write();
	return w != NULL;
}

void sl_leave_io_slow(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed,
		      int fd, uint64_t requested, int64_t done, int64_t offset)
{
	uint64_t result = sl_result(ret, failed), p[4] = {result};
	uint32_t serial = failed ? sl_fd_peek(fd) : sl_fd_get(fd);
	unsigned shape = SL_SHAPE_IO_AT, words = 3;

	if (failed)
		done = 0;
	if (sl_file_shorter(call, hook, fd, serial, done, failed))
		return;
	p[1] = sl_fd_serial(fd, serial);
	p[2] = (uint64_t)offset;
	if (requested >> 32 || (!failed && (requested | result) >> 31)) {
		shape = SL_SHAPE_IO_WIDE;
		words = 4;
		p[3] = p[2];
		p[2] = p[1];
		p[1] = requested;
	} else {
		p[0] |= requested << 32;
		if (offset == SL_NO_OFFSET) {
			shape = SL_SHAPE_IO;
			words = 2;
		}
	}
	/* The slow one in any case, which has no copies on the stack. */
	if (!sl_record_slow(call, hook, shape, failed, p, words))
		sl_file_lost(call, hook, fd, serial, done);
}

void sl_leave_copy(const struct sl_call *call, enum sl_hook hook, int64_t ret, int in, int out,
		   uint64_t requested, int64_t offset)
{
	if (ret >= 0)
		sl_file_copied(out, (uint64_t)ret);
	sl_leave_io_slow(call, hook, ret, ret < 0, in, requested, ret, offset);
}

void sl_leave_io_rare(uint64_t start, uint32_t depth, enum sl_hook hook, int64_t ret, int fd,
		      uint64_t requested, int64_t offset)
{
	struct sl_call call = {.start = start, .depth = depth, .is_rare = 1};

	sl_stop_rare(&call);
	sl_leave_io_slow(&call, hook, ret, ret == -1, fd, requested, ret, offset);
}

void sl_leave_dup(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		  uint32_t serial, uint32_t new_serial)
{
	uint64_t p[3] = {sl_result(ret, failed), sl_fd_serial(fd, serial), new_serial};

	if (sl_short(call, hook, true, 0, failed)) {
		uint64_t both[2] = {p[1], sl_fd_serial((int)ret, new_serial)};

		if (new_serial)
			sl_meta(SL_META_DUP, call->start, both, 2, NULL, 0);
		return;
	}
	sl_record(call, hook, SL_SHAPE_DUP, failed, p, 3);
}

static unsigned byte_words(size_t *len, unsigned before, unsigned *flags)
{
	size_t room = (SL_REC_MAX_WORDS - before) * 8;

	*flags = 0;
	if (*len > room) {
		*len = room;
		*flags = SL_REC_CUT;
	}
	return (unsigned)((*len + 7) / 8);
}

static uint64_t *put_bytes(uint64_t *w, const void *bytes, size_t len, unsigned words)
{
	*w++ = len;
	if (words)
		w[words - 1] = 0;
	memcpy(w, bytes, len);
	return w + words;
}

void sl_leave_bytes(const struct sl_call *call, enum sl_hook hook, unsigned shape, int64_t ret,
		    bool failed, uint64_t word1, const void *bytes, size_t len, bool is_file)
{
	unsigned head = 2 + (call->duration >> 32 != 0), flags, n, words;
	uint32_t stack = 0;
	uint64_t *w;

	if (sl_short(call, hook, is_file, 0, failed)) {
		uint64_t p[2] = {word1, sl_opened_by(hook, call->duration)};

		/* A descriptor's name is recorded for short calls, too: later records refer to it. */
		if (word1 >> 32 && !failed)
			sl_meta(shape == SL_SHAPE_SOCK ? SL_META_SOCKET : SL_META_FILE, call->start,
				p, 2, bytes, len);
		return;
	}
	n = byte_words(&len, head + 3, &flags);
	words = head + 3 + n;
	if (sl_unlikely(call->duration >= sl_tls.stack_ticks))
		stack = sl_stack_take(call, stack_of(hook));
	if (!sl_begin_write())
		return;
	if (sl_unlikely(stack))
		sl_stack_put(call, stack, words);
	w = sl_room(words, hook, call);
	if (w) {
		uint64_t result = sl_result(ret, failed);

		w = sl_put_head(w, hook, words, call, shape, flags | (failed ? SL_REC_ERR : 0));
		w[0] = result;
		w[1] = word1;
		sl_commit(put_bytes(w + 2, bytes, len, n));
	}
	sl_end_write();
}

static enum sl_lost lost_of(enum sl_meta meta)
{
	switch (meta) {
	case SL_META_FILE:
	case SL_META_SOCKET:
	case SL_META_LOCAL:
	case SL_META_DUP:
	case SL_META_CLOSE:
		return SL_LOST_FILE;
	case SL_META_FILE_TOTAL:
		return SL_LOST_TOTAL;
	default:
		return SL_LOST_OTHER;
	}
}

/*
 * Room for a record of @words and a string behind them, which is made there; with `busy` set. The string may lie in what is
 * left of the chunk.
 */
static uint64_t *room_made(unsigned words, enum sl_hook hook, const struct sl_call *call,
			   sl_maker *make, const void *what, size_t *len)
{
	uint64_t *w = sl_tls.cur;

	for (bool again = false; w; again = true) {
		size_t left = (size_t)(sl_tls.end - w), room = 0;

		if (left > words)
			room = (left - words) * 8;
		if (room > SL_MADE_BYTES)
			room = SL_MADE_BYTES;
		*len = room ? make(what, (char *)(w + words), room) : SL_MADE_CUT;
		if (*len <= room)
			return w;
		if (*len == SL_MADE_NONE)
			return NULL;
		*len = 0;
		if (again)
			return w;
		w = sl_room_slow(words + SL_MADE_BYTES / 8, hook, call);
	}
	return NULL;
}

static uint64_t *end_made(uint64_t *w, size_t len)
{
	unsigned words = (unsigned)((len + 7) / 8);

	*w++ = len;
	memset((char *)w + len, 0, words * 8 - len);
	return w + words;
}

bool sl_meta_made(enum sl_meta meta, uint64_t start, const uint64_t *payload, unsigned cnt,
		  sl_maker *make, const void *what)
{
	struct sl_call call = {.start = start};
	bool nested = sl_tls.busy == SL_BUSY_SETTING_UP;
	uint64_t *w;
	size_t len;

	if (!nested && !sl_begin_write())
		return false;
	w = room_made(3 + cnt, SL_NO_CALL(lost_of(meta)), &call, make, what, &len);
	if (w) {
		w = put_meta(w, meta, start, 3 + cnt + (unsigned)((len + 7) / 8));
		for (unsigned i = 0; i < cnt; i++)
			w[i] = payload[i];
		sl_commit(end_made(w + cnt, len));
	}
	if (!nested)
		sl_end_write();
	return w != NULL;
}

void sl_leave_made(const struct sl_call *call, enum sl_hook hook, int64_t ret, uint64_t word1,
		   sl_maker *make, const void *what)
{
	unsigned words = 2 + (call->duration >> 32 != 0) + 3;
	uint32_t stack = 0;
	uint64_t *w;
	size_t len;

	if (sl_short(call, hook, true, 0, false)) {
		uint64_t p[2] = {word1, sl_opened_by(hook, call->duration)};

		sl_meta_made(SL_META_FILE, call->start, p, 2, make, what);
		return;
	}
	if (sl_unlikely(call->duration >= sl_tls.stack_ticks))
		stack = sl_stack_take(call, stack_of(hook));
	if (!sl_begin_write())
		return;
	if (sl_unlikely(stack))
		sl_stack_put(call, stack, words + SL_MADE_BYTES / 8);
	w = room_made(words, hook, call, make, what, &len);
	if (w) {
		w = sl_put_head(w, hook, words + (unsigned)((len + 7) / 8), call, SL_SHAPE_PATH, 0);
		w[0] = (uint64_t)ret;
		w[1] = word1;
		sl_commit(end_made(w + 2, len));
	}
	sl_end_write();
}

void sl_meta(enum sl_meta meta, uint64_t start, const uint64_t *payload, unsigned cnt,
	     const void *bytes, size_t len)
{
	struct sl_call call = {.start = start};
	unsigned flags = 0, n = bytes ? byte_words(&len, 3 + cnt, &flags) : 0;
	unsigned words = 2 + cnt + (bytes ? 1 + n : 0);
	bool nested = sl_tls.busy == SL_BUSY_SETTING_UP;
	uint64_t *w;

	/* Called from wrappers (not busy) and from set-up (busy, the ring is ready). */
	if (!nested && !sl_begin_write())
		return;
	w = sl_room(words, SL_NO_CALL(lost_of(meta)), &call);
	if (w) {
		w = put_meta(w, meta, start, words);
		w[-1] |= (uint64_t)flags << 61;
		for (unsigned i = 0; i < cnt; i++)
			w[i] = payload[i];
		sl_commit(bytes ? put_bytes(w + cnt, bytes, len, n) : w + cnt);
	}
	if (!nested)
		sl_end_write();
}
