/*
 * file_totals.c - totals by file: exact number, bytes and time of the calls that read or write a descriptor and have no
 * record (struct sl_file_total in wire.h).
 *
 * They are in shared memory, so that a SIGKILL loses none, and belong to one thread, so that adding to them takes no atomic
 * operation. A thread has a few places, by the descriptor's number; when two descriptors need the same one, it takes a chunk of
 * them, while the pool is more than half full: what begins a thread comes first. Without a chunk, what was counted for the
 * other descriptor goes into the ring. Rules as in hook.c.
 */
#include "preload/core/arena_map.h"
#include "preload/core/hook.h"
#include "preload/core/leaving.h"

#include <string.h>

static bool has_few(void)
{
	return sl_tls.file_mask == SL_FILE_FEW - 1;
}

/* Chunks of threads that have ended are taken in any case: there are as many again for those that begin. */
static sl_ref take_chunk(bool *used)
{
	struct sl_arena *a = sl_global.arena;

	if (__atomic_load_n(&a->fresh_chunk, __ATOMIC_RELAXED) >= a->chunk_cnt / 2 &&
	    !(sl_ref)__atomic_load_n(&a->free_chunks, __ATOMIC_RELAXED))
		return 0;
	return sl_chunk_take(a, true, used);
}

static bool move_totals(void)
{
	struct sl_file_total *few = sl_file_few(sl_tls.agg);
	struct sl_slot *slot = sl_tls.slot;
	bool used = false;
	sl_ref ref;

	if (!slot || slot->flags & SL_SLOT_FEW_FILES)
		return false;
	ref = take_chunk(&used);
	if (!ref) {
		__atomic_store_n(&slot->flags, slot->flags | SL_SLOT_FEW_FILES, __ATOMIC_RELAXED);
		return false;
	}
	sl_tls.files = (struct sl_file_total *)sl_arena_chunk(ref);
	sl_tls.file_mask = SL_FILE_TOTALS - 1;
	if (used)
		memset(sl_tls.files, 0, SL_CHUNK_BYTES);
	for (unsigned i = 0; i < SL_FILE_FEW; i++)
		if (few[i].key)
			*sl_file_place(few[i].fd, sl_file_key(few[i].key) & SL_FILE_STREAM) =
				few[i];
	/* Release: pairs with the collector's acquire (drain_totals.c), which finds each total here or there, or in both. */
	__atomic_store_n(&slot->file_chunk, (uint16_t)ref, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < SL_FILE_FEW; i++)
		__atomic_store_n(&few[i].key, 0, __ATOMIC_RELEASE);
	return true;
}

/* Goes on in a chunk, to which the totals move. False: there is none. */
static bool take_more(void)
{
	bool ok = sl_slow_begin();

	if (ok) {
		ok = move_totals();
		sl_slow_end();
	}
	return ok;
}

/* Puts into the ring what was counted for another descriptor. */
static void evict(struct sl_file_total *f)
{
	uint64_t payload[7] = {sl_fd_serial(f->fd, sl_file_key(f->key))};

	for (unsigned way = 0; way < 2; way++) {
		payload[1 + 3 * way] = f->way[way].count;
		payload[2 + 3 * way] = f->way[way].bytes;
		payload[3 + 3 * way] = f->way[way].total;
	}
	sl_tls.busy = SL_BUSY_SETTING_UP;
	sl_meta(SL_META_FILE_TOTAL, sl_ticks(), payload, 7, NULL, 0);
	sl_tls.busy = SL_BUSY_WRITING;
	/* After the record: the collector that finds another descriptor here finds the record in the ring. */
	__atomic_store_n(&f->key, 0, __ATOMIC_RELEASE);
	memset(f->way, 0, sizeof(f->way));
}

/*
 * One more call, with `busy` set. @serial: of @fd, 0 unknown: it is not counted by file; @stream: 0 or SL_FILE_STREAM; @way:
 * SL_FILE_*
 */
static void count(int fd, uint32_t serial, uint32_t stream, unsigned way, uint64_t duration,
		  uint64_t bytes)
{
	struct sl_file_total *f;

	/* Without totals: reset by a fork inside the call. */
	if (!serial || !sl_tls.agg)
		return;
	f = sl_file_place(fd, stream);
	if (f->key && f->key != sl_file_key(serial | stream) && has_few() && take_more())
		f = sl_file_place(fd, stream);
	if (f->key != sl_file_key(serial | stream)) {
		if (f->key)
			evict(f);
		f->fd = fd;
		__atomic_store_n(&f->key, sl_file_key(serial | stream), __ATOMIC_RELEASE);
	}
	sl_file_add(f, way, duration, bytes);
}

static void sl_file_count(enum sl_hook hook, int fd, uint32_t serial, uint64_t duration,
			  uint64_t bytes)
{
	uint32_t stream = sl_hook_is_stdio(hook) ? SL_FILE_STREAM : 0;
	uint8_t io = sl_hook_info[hook].io;

	if (io == SL_IO_READ || io == SL_IO_WRITE)
		count(fd, serial, stream, io == SL_IO_WRITE ? SL_FILE_WRITE : SL_FILE_READ,
		      duration, bytes);
}

bool sl_file_shorter(const struct sl_call *call, enum sl_hook hook, int fd, uint32_t serial,
		     int64_t bytes, bool failed)
{
	uint64_t moved = bytes > 0 ? (uint64_t)bytes : 0;

	if (call->duration >= sl_tls.file_threshold)
		return false;
	if (!sl_begin_write())
		return true;
	sl_aggregate(hook, call->duration, moved, failed);
	sl_file_count(hook, fd, serial, call->duration, moved);
	sl_end_write();
	return true;
}

void sl_file_copied(int fd, uint64_t bytes)
{
	uint32_t serial = sl_fd_get(fd);

	if (!sl_begin_write())
		return;
	count(fd, serial, 0, SL_FILE_WRITE, 0, bytes);
	sl_end_write();
}

void sl_file_lost(const struct sl_call *call, enum sl_hook hook, int fd, uint32_t serial,
		  int64_t bytes)
{
	uint64_t moved = bytes > 0 ? (uint64_t)bytes : 0;

	if (!sl_begin_write())
		return;
	/* Without totals: reset by a fork inside the call. */
	if (sl_tls.agg)
		sl_tls.agg[hook].bytes += moved;
	sl_file_count(hook, fd, serial, call->duration, moved);
	sl_end_write();
}

void sl_count_char_slow(enum sl_hook hook, int fd)
{
	uint32_t serial = sl_fd_get(fd);
	struct sl_agg *a = &sl_tls.agg[hook];

	if (!sl_begin_write())
		return;
	a->bytes++;
	a->err_count |= SL_AGG_UNTIMED;
	__atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
	sl_file_count(hook, fd, serial, 0, 1);
	sl_end_write();
}

void sl_leave_messages(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed,
		       int fd)
{
	uint32_t serial = failed ? sl_fd_peek(fd) : sl_fd_get(fd);
	uint64_t p[2] = {sl_result(ret, failed), sl_fd_serial(fd, serial)};

	if (!sl_file_shorter(call, hook, fd, serial, 0, failed) &&
	    !sl_record(call, hook, SL_SHAPE_FD, failed, p, 2))
		sl_file_lost(call, hook, fd, serial, 0);
}

void sl_file_reset(void)
{
	for (unsigned i = 0; i <= sl_tls.file_mask; i++) {
		struct sl_file_total *f = &sl_tls.files[i];

		if (f->key)
			memset(f, 0, sizeof(*f));
	}
}
