/*
 * file_totals.c - totals by file: exact number, bytes and time of the calls that read or write a descriptor and have no
 * record (struct sl_file_total in wire.h).
 *
 * They are in shared memory, so that a SIGKILL loses none, and belong to one thread, so that adding to them takes no atomic
 * operation. A thread takes a chunk for them with its first such call, while the pool is more than half full: what begins a
 * thread comes first. Rules as in hook.c.
 */
#include "preload/core/arena_map.h"
#include "preload/core/hook.h"

#include <string.h>

const struct sl_file_total sl_no_files[SL_FILE_TOTALS];

static bool take_files(void)
{
	struct sl_arena *a = sl_global.arena;
	struct sl_slot *slot = sl_tls.slot;
	bool used = false;
	sl_ref ref = 0;

	if (!slot || slot->flags & SL_SLOT_NO_FILES)
		return false;
	if (__atomic_load_n(&a->fresh_chunk, __ATOMIC_RELAXED) < a->chunk_cnt / 2)
		ref = sl_chunk_take(a, true, &used);
	if (!ref) {
		__atomic_store_n(&slot->flags, slot->flags | SL_SLOT_NO_FILES, __ATOMIC_RELAXED);
		return false;
	}
	sl_tls.files = (struct sl_file_total *)sl_arena_chunk(ref);
	if (used)
		memset(sl_tls.files, 0, SL_CHUNK_BYTES);
	/* Release: pairs with the collector's acquire (drain_totals.c). */
	__atomic_store_n(&slot->file_chunk, (uint16_t)ref, __ATOMIC_RELEASE);
	return true;
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

/* A call without a record, with `busy` set. @serial: of @fd, 0 unknown: it is not counted by file. */
static void sl_file_count(enum sl_hook hook, int fd, uint32_t serial, uint64_t duration,
			  uint64_t bytes)
{
	uint32_t stream = sl_hook_is_stdio(hook) ? SL_FILE_STREAM : 0;
	uint8_t io = sl_hook_info[hook].io;
	struct sl_file_total *f;

	/* Without totals: reset by a fork inside the call. */
	if (!serial || !sl_tls.agg || (io != SL_IO_READ && io != SL_IO_WRITE) ||
	    (sl_tls.files == sl_no_files && !take_files()))
		return;
	f = sl_file_place(fd, stream);
	if (f->key != sl_file_key(serial | stream)) {
		if (f->key)
			evict(f);
		f->fd = fd;
		__atomic_store_n(&f->key, sl_file_key(serial | stream), __ATOMIC_RELEASE);
	}
	sl_file_add(f, io == SL_IO_WRITE ? SL_FILE_WRITE : SL_FILE_READ, duration, bytes);
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

void sl_file_lost(const struct sl_call *call, enum sl_hook hook, int fd, uint32_t serial,
		  int64_t bytes)
{
	if (!sl_begin_write())
		return;
	sl_file_count(hook, fd, serial, call->duration, bytes > 0 ? (uint64_t)bytes : 0);
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
	if (sl_tls.files == sl_no_files)
		return;
	for (unsigned i = 0; i < SL_FILE_TOTALS; i++) {
		struct sl_file_total *f = &sl_tls.files[i];

		if (f->key)
			memset(f, 0, sizeof(*f));
	}
}
