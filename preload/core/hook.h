/*
 * hook.h - the hot path: code of every wrapper before and after the real call.
 *
 * Rules:
 *  - No locks, no allocation, no libc calls, no system calls on the inline paths. The slow paths
 *    (hook.c) make direct system calls.
 *  - errno is the program's: read on failure, never written.
 *  - A signal handler may interrupt any of this and call wrappers. While `busy` is set, its calls are
 *    only counted (sl_slot.nested_cnt).
 *  - The process may have forked since this thread was set up, this may be a vfork child that shares
 *    its parent's memory, or the gate may have changed: sl_tls.gate then differs from the gate, and
 *    the slow path (gate.c) updates the state.
 *  - Records are published before the wrapper returns: after sl_commit() a SIGKILL loses nothing.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/base/compiler.h"
#include "preload/base/resolve.h"
#include "preload/base/state.h"
#include "preload/wire/arena.h"
#include "preload/wire/clock.h"
#include "preload/wire/hooks.h"
#include "preload/wire/session.h"

#pragma GCC visibility push(hidden)

/* Follows the gate; returns the gate that this thread follows now, or SL_GATE_STALE: nothing may be written. */
SL_COLD uint32_t sl_sync(void);

/* Whether this thread may write records that do not depend on the gate (names, images, NVTX). */
SL_HOT bool sl_ready(void)
{
	return sl_likely(sl_tls.gate == sl_gate()) || sl_sync() != (uint32_t)SL_GATE_STALE;
}

/*
 * True: the gate is closed and sl_sync() is not due. For wrappers of cheap functions; unlike sl_gate() it reads the word
 * at its fixed address, and recognizes a forked child by the cleared page.
 */
SL_HOT bool sl_is_closed(void)
{
	uint32_t gate = __atomic_load_n(&sl_control.session.gate, __ATOMIC_RELAXED);

	return sl_unlikely(!(gate & 1)) && sl_tls.gate == gate && sl_proc.gate_at;
}

/* Flag in a depth: the counter cannot be used. One test of the depth covers both rare cases. */
#define SL_DEPTH_MONO 0x80000000u

/* Ticks without the counter; in a clockless thread the last time that it could read. */
SL_COLD uint64_t sl_slow_ticks(void);

SL_HOT uint64_t sl_ticks(void)
{
	if (sl_likely(sl_proc.clock_mode == SL_CLOCK_TSC && !(sl_tls.depth & SL_DEPTH_MONO)))
		return sl_counter();
	return sl_slow_ticks();
}

/* State of a wrapper across the real call. */
struct sl_call {
	uint64_t start, duration; /* ticks */
	uint32_t depth;           /* number of enclosing traced calls; with SL_DEPTH_MONO */
	/*
	 * Set by sl_stop(). 0: depth is 0, there is a counter, and the call did not interrupt the shim; as a signal handler
	 * restores `busy`, no test of it is due. A constant where sl_stop() is inlined.
	 */
	uint32_t is_rare;
};

/* Slow path of sl_begin(): inside another call, or without the counter. @frame: of the wrapper. */
SL_COLD uint64_t sl_enter_nested(char *frame);

/* Slow path of sl_stop(): inside another call, without the counter, or in a handler that interrupted the shim. */
SL_COLD void sl_stop_rare(struct sl_call *call);

/* After the real call; the thread may have lost its clock in it. */
SL_HOT bool sl_is_rare(void)
{
	return sl_tls.inside != SL_INSIDE_OUTERMOST;
}
SL_HOT void sl_stop_outermost(struct sl_call *call)
{
	call->duration = sl_counter() - call->start;
	sl_tls.depth = 0;
	call->depth = 0;
	call->is_rare = 0;
}
/* Right after the real call. */
SL_HOT void sl_stop(struct sl_call *call)
{
	if (sl_likely(!sl_is_rare())) {
		sl_stop_outermost(call);
	} else {
		struct sl_call copy = *call;

		sl_stop_rare(&copy);
		*call = copy;
		call->is_rare = 1;
	}
}

/* The thread ends, or its process: calls that enclose the present one do not return. */
SL_COLD void sl_leave_open_calls(void);

/* Starts the timing of a call while no other is in progress and there is a counter. */
SL_HOT void sl_begin_outermost(struct sl_call *call)
{
	sl_tls.outer_frame = __builtin_dwarf_cfa();
	sl_tls.depth = 1;
	call->depth = 0;
	call->is_rare = 1;
	call->start = sl_counter();
}
SL_HOT void sl_begin(struct sl_call *call)
{
	if (sl_likely(!sl_tls.depth)) {
		sl_begin_outermost(call);
		return;
	}
	call->start = sl_enter_nested(__builtin_dwarf_cfa());
	call->depth = sl_tls.depth - 1;
	call->is_rare = 1;
}

/* False: the call is not recorded. */
SL_HOT bool sl_enter(struct sl_call *call)
{
	uint32_t gate = sl_gate();

	if (sl_unlikely(sl_tls.gate != gate))
		gate = sl_sync();
	if (sl_unlikely(!(gate & 1)))
		return false;
	sl_begin(call);
	return true;
}
/* The same after SL_THIN_WRAPPER: where the gate is closed, the function is not looked up yet. */
SL_HOT bool sl_enter_open(struct sl_call *call)
{
	uint32_t gate = sl_gate();

	if (sl_unlikely(sl_tls.gate != gate))
		gate = sl_sync();
	if (sl_unlikely(!(gate & 1)))
		return false;
	sl_begin(call);
	return true;
}

/* Counts a call of a signal handler that interrupted the shim, and so cannot be recorded. */
SL_COLD void sl_count_nested(void);
/* In place of a hook, for records that are no calls: what is lost where there is no room, an enum sl_lost. */
#define SL_NO_CALL(lost) ((enum sl_hook)(SL_HOOK_CNT + (lost)))

/* Slow path of sl_room(): switches to another chunk, or counts the loss and returns NULL. */
SL_COLD uint64_t *sl_room_slow(unsigned words, enum sl_hook hook, const struct sl_call *call);
/* Room for optional records: NULL is not counted as a loss. */
SL_COLD uint64_t *sl_room_or_none(unsigned words);

SL_HOT bool sl_begin_write(void)
{
	if (sl_unlikely(sl_tls.busy)) {
		sl_count_nested();
		return false;
	}
	sl_tls.busy = SL_BUSY_WRITING;
	sl_barrier();
	return true;
}
SL_HOT void sl_end_write(void)
{
	sl_barrier();
	sl_tls.busy = SL_BUSY_NOT;
}

/* The same after a call that is not rare: `busy` needs no test. */
SL_HOT void sl_begin_write_outermost(void)
{
	sl_tls.busy = SL_BUSY_WRITING;
	sl_barrier();
}

SL_HOT void sl_aggregate(enum sl_hook hook, uint64_t duration, uint64_t bytes, bool failed)
{
	struct sl_agg *a = &sl_tls.agg[hook];

	if (duration < a->min || !a->total)
		a->min = duration;
	a->total += duration;
	if (duration > a->max)
		a->max = duration;
	a->bytes += bytes;
	a->err_count += failed;
	/* Release: the collector reads the totals at any time, the count first. */
	__atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
}

/* Slow path of sl_shorter(): after a rare call. */
SL_COLD void sl_aggregate_rare(enum sl_hook hook, uint64_t duration, uint64_t bytes, bool failed);

/* True: the call was too short for a record and was added to the totals. */
SL_HOT bool sl_shorter(const struct sl_call *call, enum sl_hook hook, uint64_t threshold,
		       int64_t bytes, bool failed)
{
	if (call->duration >= threshold)
		return false;
	if (sl_unlikely(call->is_rare)) {
		sl_aggregate_rare(hook, call->duration, bytes > 0 ? (uint64_t)bytes : 0, failed);
		return true;
	}
	sl_begin_write_outermost();
	sl_aggregate(hook, call->duration, bytes > 0 ? (uint64_t)bytes : 0, failed);
	sl_end_write();
	return true;
}
SL_HOT bool sl_short(const struct sl_call *call, enum sl_hook hook, bool is_file, int64_t bytes,
		     bool failed)
{
	return sl_shorter(call, hook, is_file ? sl_tls.file_threshold : sl_tls.threshold, bytes,
			  failed);
}

/* ---- totals by file (file_totals.c) ---- */

/* Calls of stdio have places of their own. What lies apart among a few places does so among those of a chunk. */
#define SL_FILE_STREAM_AT (SL_FILE_TOTALS / 2 + SL_FILE_FEW / 2)

/* Where calls on @fd are counted, if the key there is that of its serial; @stream: 0 or SL_FILE_STREAM. */
SL_HOT struct sl_file_total *sl_file_place(int fd, uint32_t stream)
{
	return &sl_tls.files[((unsigned)fd + (stream ? SL_FILE_STREAM_AT : 0)) & sl_tls.file_mask];
}

/* With `busy` set. @way: SL_FILE_* */
SL_HOT void sl_file_add(struct sl_file_total *f, unsigned way, uint64_t duration, uint64_t bytes)
{
	f->way[way].bytes += bytes;
	f->way[way].total += duration;
	/* Release: as in sl_aggregate(). */
	__atomic_store_n(&f->way[way].count, f->way[way].count + 1, __ATOMIC_RELEASE);
}

/* As sl_shorter() for a call that reads or writes. */
SL_COLD bool sl_file_shorter(const struct sl_call *call, enum sl_hook hook, int fd, uint32_t serial,
			     int64_t bytes, bool failed);
/* After a record that found no room. */
SL_COLD void sl_file_lost(const struct sl_call *call, enum sl_hook hook, int fd, uint32_t serial,
			  int64_t bytes);
/* A call that has a record, or totals, of another descriptor has moved @bytes to @fd, too. Its time is not counted twice. */
SL_COLD void sl_file_copied(int fd, uint64_t bytes);
/* Slow path of sl_count_char(). */
SL_COLD void sl_count_char_slow(enum sl_hook hook, int fd);

/* The totals of another report begin. */
void sl_file_reset(void);

/* Writes the two or three words that every record begins with; returns the address of the payload. */
SL_HOT uint64_t *sl_put_head(uint64_t *w, enum sl_hook hook, unsigned words,
			     const struct sl_call *call, unsigned shape, unsigned flags)
{
	unsigned depth = call->depth & ~SL_DEPTH_MONO, level = depth < 7 ? depth : 7;

	w[0] = call->start;
	if (sl_unlikely(call->duration >> 32)) {
		w[1] = (uint64_t)sl_head(hook, words, level, shape, flags | SL_REC_LONG) << 32;
		w[2] = call->duration;
		return w + 3;
	}
	w[1] = call->duration | (uint64_t)sl_head(hook, words, level, shape, flags) << 32;
	return w + 2;
}

#define SL_AHEAD_BYTES 256u /* some 8 records */

/* Release: pairs with the collector's acquire of committed (drain.c). */
SL_HOT void sl_commit(uint64_t *end)
{
	uint32_t bytes = (uint32_t)((char *)end - (char *)sl_tls.chunk->data);

	sl_tls.cur = end;
	/* The collector has read the chunk that is used again: each line costs 25 ns unless the next ones are fetched ahead. */
	sl_prefetch_write((uintptr_t)end + SL_AHEAD_BYTES);
	__atomic_store_n(&sl_tls.chunk->committed, bytes, __ATOMIC_RELEASE);
}

SL_HOT uint64_t *sl_room(unsigned words, enum sl_hook hook, const struct sl_call *call)
{
	uint64_t *w = sl_tls.cur;

	if (sl_unlikely((size_t)((char *)sl_tls.end - (char *)w) < words * 8u)) {
		struct sl_call copy = *call;

		return sl_room_slow(words, hook, &copy);
	}
	return w;
}

/* Slow path of sl_record(): a rare call, one long enough for a stack, or the chunk is full. */
SL_COLD bool sl_record_slow(const struct sl_call *call, enum sl_hook hook, unsigned shape,
			    bool failed, const uint64_t *payload, unsigned payload_words);

/* Room for the record of a call, with `busy` set; false: the slow path is due. */
SL_HOT bool sl_begin_record(const struct sl_call *call, unsigned words, uint64_t **w)
{
	/* long_ticks: a stack is due, or more than 32 bits of duration. */
	if (sl_unlikely(call->is_rare || call->duration >= sl_tls.long_ticks))
		return false;
	sl_begin_write_outermost();
	*w = sl_tls.cur;
	/* Addresses, not pointers: the sum may lie beyond the chunk. */
	if (sl_unlikely((uintptr_t)*w + words * 8u > (uintptr_t)sl_tls.end)) {
		sl_end_write();
		return false;
	}
	return true;
}
/* The payload, from w[2], has been written. */
SL_HOT void sl_end_record(uint64_t *w, const struct sl_call *call, enum sl_hook hook,
			  unsigned shape, unsigned words, bool failed)
{
	uint32_t head = sl_head(hook, words, 0, shape, failed ? SL_REC_ERR : 0);

	w[0] = call->start;
	w[1] = call->duration | (uint64_t)head << 32;
	sl_commit(w + words);
	sl_end_write();
}

/*
 * Writes the record of a call. Inlined into every wrapper with constant shape and length, so that only the stores
 * remain. The slow path gets copies: variables whose address is taken would be in memory on the fast path as well.
 * False: there was no room.
 */
SL_HOT bool sl_record(const struct sl_call *call, enum sl_hook hook, unsigned shape, bool failed,
		      const uint64_t *payload, unsigned payload_words)
{
	uint64_t *w;

	if (sl_unlikely(!sl_begin_record(call, 2 + payload_words, &w))) {
		struct sl_call copy = *call;
		uint64_t p[4];

		for (unsigned i = 0; i < payload_words; i++)
			p[i] = payload[i];
		return sl_record_slow(&copy, hook, shape, failed, p, payload_words);
	}
	for (unsigned i = 0; i < payload_words; i++)
		w[2 + i] = payload[i];
	sl_end_record(w, call, hook, shape, 2 + payload_words, failed);
	return true;
}

SL_HOT uint64_t sl_result(int64_t ret, bool failed)
{
	return failed ? (uint64_t)(int64_t)errno : (uint64_t)ret;
}

static inline void sl_leave_call(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				 bool failed)
{
	uint64_t p[1];

	if (sl_short(call, hook, false, 0, failed))
		return;
	p[0] = sl_result(ret, failed);
	sl_record(call, hook, SL_SHAPE_CALL, failed, p, 1);
}

static inline void sl_leave_arg(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				bool failed, int64_t arg)
{
	uint64_t p[2];

	if (sl_short(call, hook, false, 0, failed))
		return;
	p[0] = sl_result(ret, failed);
	p[1] = (uint64_t)arg;
	sl_record(call, hook, SL_SHAPE_ARG, failed, p, 2);
}

/* ---- descriptors (fdtable.c) ---- */

#define SL_FD_NEAR 1024u
extern uint32_t sl_fd_near[SL_FD_NEAR]; /* file serial by descriptor, 0: unknown */
uint32_t sl_fd_serial_slow(int fd); /* assigns a serial and records the name of @fd; 0: not open */
void sl_fd_set(int fd, uint32_t serial); /* 0 clears the entry */
uint32_t sl_fd_take(int fd);             /* reads and clears the entry */
void sl_fd_clear_range(unsigned first, unsigned last);
uint32_t sl_fd_new_serial(void);
void sl_fd_local(int fd, uint32_t serial); /* records the own address of a connected socket */
long sl_fd_link(int fd, char *target, size_t room); /* readlink of @fd in /proc; bytes, or -errno */

/* The serial, if known, without a system call: for failed calls, whose descriptor may be invalid. */
SL_HOT uint32_t sl_fd_peek(int fd)
{
	size_t at = (unsigned)fd;

	return sl_likely(at < SL_FD_NEAR) ? __atomic_load_n(&sl_fd_near[at], __ATOMIC_RELAXED) : 0;
}

SL_HOT uint32_t sl_fd_get(int fd)
{
	uint32_t serial = sl_fd_peek(fd);

	return sl_likely(serial) ? serial : sl_fd_serial_slow(fd);
}

static inline void sl_leave_fd(const struct sl_call *call, enum sl_hook hook, int64_t ret,
			       bool failed, int fd)
{
	uint64_t p[2];

	if (sl_short(call, hook, true, 0, failed))
		return;
	p[0] = sl_result(ret, failed);
	p[1] = sl_fd_serial(fd, failed ? sl_fd_peek(fd) : sl_fd_get(fd));
	sl_record(call, hook, SL_SHAPE_FD, failed, p, 2);
}

/* As sl_leave_fd(), for a function that reads or writes and returns no number of bytes. */
SL_COLD void sl_leave_messages(const struct sl_call *call, enum sl_hook hook, int64_t ret,
			       bool failed, int fd);

/* Slow path of sl_leave_io(): anything but a short record of an ordinary call on a known file. */
SL_COLD void sl_leave_io_slow(const struct sl_call *call, enum sl_hook hook, int64_t ret,
			      bool failed, int fd, uint64_t requested, int64_t done,
			      int64_t offset);

/* The same with sl_stop() in it, after a rare call. */
SL_COLD void sl_leave_io_rare(uint64_t start, uint32_t depth, enum sl_hook hook, int64_t ret,
			      int fd, uint64_t requested, int64_t offset);

/* True: a call too short for a record was added to the totals. */
SL_HOT bool sl_short_io(const struct sl_call *call, enum sl_hook hook, unsigned way, int fd,
			uint64_t done)
{
	struct sl_file_total *f = sl_file_place(fd, 0);

	if (sl_unlikely(f->key != sl_file_key(sl_fd_peek(fd))))
		return false;
	sl_begin_write_outermost();
	sl_aggregate(hook, call->duration, done, false);
	sl_file_add(f, way, call->duration, done);
	sl_end_write();
	return true;
}

/* True: the call was added to the totals, or its record is written. */
SL_HOT bool sl_leave_io_fast(const struct sl_call *call, enum sl_hook hook, unsigned way,
			     int64_t ret, int fd, uint64_t requested, int64_t done, int64_t offset)
{
	bool is_at = !(__builtin_constant_p(offset) && offset == SL_NO_OFFSET);
	unsigned words = is_at ? 5 : 4;
	uint32_t serial;
	uint64_t *w;

	/* More bytes than 31 bits hold; failed means -1. */
	if (sl_unlikely(call->is_rare || (requested | (uint64_t)ret) >> 31))
		return false;
	if (ret < 0)
		__builtin_unreachable();
	if (call->duration < sl_tls.file_threshold)
		return sl_short_io(call, hook, way, fd, done > 0 ? (uint64_t)done : 0);
	serial = sl_fd_peek(fd);
	if (sl_unlikely(!serial) || !sl_begin_record(call, words, &w))
		return false;
	w[2] = (uint64_t)ret | requested << 32;
	w[3] = sl_fd_serial(fd, serial);
	if (is_at)
		w[4] = (uint64_t)offset;
	sl_end_record(w, call, hook, is_at ? SL_SHAPE_IO_AT : SL_SHAPE_IO, words, false);
	return true;
}

/* @way: SL_FILE_*; @done: bytes moved, for the totals. */
SL_HOT void sl_leave_io(const struct sl_call *call, enum sl_hook hook, unsigned way, int64_t ret,
			bool failed, int fd, uint64_t requested, int64_t done, int64_t offset)
{
	if (sl_unlikely(!sl_leave_io_fast(call, hook, way, ret, fd, requested, done, offset))) {
		struct sl_call copy = *call;

		sl_leave_io_slow(&copy, hook, ret, failed, fd, requested, done, offset);
	}
}

/* Of a call that moves bytes between two descriptors, for the one that is read; @out has totals of its own. */
SL_COLD void sl_leave_copy(const struct sl_call *call, enum sl_hook hook, int64_t ret, int in,
			   int out, uint64_t requested, int64_t offset);

/* Calls that carry a string or a socket address (not on the hottest paths). */
void sl_leave_bytes(const struct sl_call *call, enum sl_hook hook, unsigned shape, int64_t ret,
		    bool failed, uint64_t word1, const void *bytes, size_t len, bool is_file);
static inline void sl_leave_path(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				 bool failed, int fd, uint32_t serial, const char *path)
{
	sl_leave_bytes(call, hook, SL_SHAPE_PATH, ret, failed, sl_fd_serial(fd, serial), path,
		       path ? __builtin_strlen(path) : 0, true);
}
/* For calls that close a descriptor; @serial was read before the call. */
void sl_leave_close(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		    uint32_t serial);
void sl_leave_dup(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		  uint32_t serial, uint32_t new_serial);

/* Writes a META record: @words of payload, then bytes (may be NULL) preceded by their length. */
void sl_meta(enum sl_meta meta, uint64_t start, const uint64_t *payload, unsigned words,
	     const void *bytes, size_t len);

/*
 * A string that is made where the record has it, as the stack has no room for one: it may be that of a signal handler. Writes
 * it at @to, of at most @room bytes, and returns its length, or SL_MADE_CUT: it needs more, or SL_MADE_NONE: there is none,
 * and no record.
 */
typedef size_t sl_maker(const void *what, char *to, size_t room);
#define SL_MADE_BYTES 4096u /* no such string needs more */
#define SL_MADE_CUT   SIZE_MAX
#define SL_MADE_NONE  (SIZE_MAX - 1)
/* As sl_meta(), and sl_leave_path() of a successful call. False: there is no record. */
bool sl_meta_made(enum sl_meta meta, uint64_t start, const uint64_t *payload, unsigned words,
		  sl_maker *make, const void *what);
void sl_leave_made(const struct sl_call *call, enum sl_hook hook, int64_t ret, uint64_t word1,
		   sl_maker *make, const void *what);

/* Writes a NOTE record. */
static inline void sl_note(enum sl_note kind, const char *text, size_t len)
{
	uint64_t word = kind;

	sl_meta(SL_META_NOTE, sl_ticks(), &word, 1, text, len);
}

/* Counts a call without reading the clock (uncontended locks, buffered characters). */
SL_HOT void sl_count_only(enum sl_hook hook, uint64_t bytes)
{
	uint32_t gate = sl_gate();
	struct sl_agg *a;

	if (sl_unlikely(sl_tls.gate != gate))
		gate = sl_sync();
	if (sl_unlikely(!(gate & 1)) || !sl_begin_write())
		return;
	a = &sl_tls.agg[hook];
	a->bytes += bytes;
	a->err_count |= SL_AGG_UNTIMED;
	__atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
	sl_end_write();
}

/* The same for a call that moves one byte from or to a stream with descriptor @fd. */
SL_HOT void sl_count_char(enum sl_hook hook, unsigned way, int fd)
{
	uint32_t gate = sl_gate();
	struct sl_file_total *f;
	struct sl_agg *a;

	if (sl_unlikely(sl_tls.gate != gate))
		gate = sl_sync();
	if (sl_unlikely(!(gate & 1)))
		return;
	f = sl_file_place(fd, SL_FILE_STREAM);
	if (sl_unlikely(f->key != sl_file_key(sl_fd_peek(fd) | SL_FILE_STREAM))) {
		sl_count_char_slow(hook, fd);
		return;
	}
	if (!sl_begin_write())
		return;
	a = &sl_tls.agg[hook];
	a->bytes++;
	a->err_count |= SL_AGG_UNTIMED;
	__atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
	sl_file_add(f, way, 0, 1);
	sl_end_write();
}

/* A chunk of the pool; @first: one that the quota does not apply to; @used: it has been in use, and is not zero. */
sl_ref sl_chunk_take(struct sl_arena *a, bool first, bool *used);
/* The next index of @cnt that was never taken; 0: all were. */
sl_ref sl_take_fresh(uint32_t *next, uint32_t cnt);
bool sl_thread_start(void); /* takes a slot and chunks; false: there are none, which is counted */
void sl_count_unslotted(void); /* a call that no slot has room for */

#pragma GCC visibility pop
