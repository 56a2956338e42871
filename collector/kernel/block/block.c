/* block.c - loads bpf/blockio.bpf.c, reads its ring, writes SL_BLOCK_IO. */
#include "collector/kernel/block/block.h"

#include <stdio.h>

struct block_tuning block_tuning;

#ifdef SL_HAVE_BPF

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/base/capture_window.h"
#include "collector/base/grow.h"
#include "collector/kernel/bpf/blockio.h"
#include "collector/kernel/sched/sched_load.h"
#include "collector/report/db.h"
#include "collector/report/db_ids.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "blockio.skel.h"
#pragma GCC diagnostic pop

#define RING_BYTES  ((size_t)1 << 20) /* 8,700 requests */
#define LINK_CNT    3
#define DRAIN_TRIES 10000 /* a second */
#define MINOR_BITS  20    /* as the kernel packs the numbers of a device */

struct block {
	struct bpf_object *object;
	struct bpf_link *links[LINK_CNT];
	struct ring_buffer *ring;
	struct block_shared *shared;
	size_t shared_bytes;
	uint64_t unended; /* of the tree, when it was stopped */
	uint64_t taken;   /* records out of the ring, ever */
	struct {
		struct block_record *list; /* read, and not written yet */
		size_t cnt, room;
		uint64_t lost;
	} waiting;
};

/* Tracepoints of kernels, the newest first; distributions backport, so a version is only a first guess. */
static const struct way {
	int since;
	bool has_start, queue_first;
} ways[] = {
	{6005, true, false},
	{5011, false, false},
	{0, false, true},
	{0, false, false},
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static struct bpf_map *map_of(const struct block *b, const char *name)
{
	return bpf_object__find_map_by_name(b->object, name);
}

static struct bpf_program *program_of(const struct block *b, const char *name)
{
	return bpf_object__find_program_by_name(b->object, name);
}

/* ---- loading ---- */

static size_t ring_bytes(void)
{
	return block_tuning.ring_bytes ? block_tuning.ring_bytes : RING_BYTES;
}

static int set_config(struct block *b, const struct block_ask *ask, const struct way *way)
{
	struct block_config config = {.wake_bytes = ring_bytes() / 4,
				      .at = *ask->kernel->offsets,
				      .system_wide = ask->system_wide,
				      .has_start = way->has_start,
				      .queue_first = way->queue_first};
	struct stat st;
	size_t len;

	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	config.ns_dev = st.st_dev;
	config.ns_ino = st.st_ino;
	memcpy((void *)(uintptr_t)bpf_map__initial_value(map_of(b, ".rodata"), &len), &config,
	       sizeof(config));
	return 0;
}

static int load(struct block *b, const struct block_ask *ask, const struct way *way)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "block");
	const void *elf;
	size_t len;
	int err;

	elf = blockio__elf_bytes(&len);
	b->object = bpf_object__open_mem(elf, len, &opts);
	if (!b->object)
		return -errno;
	err = set_config(b, ask, way);
	bpf_map__set_max_entries(map_of(b, "ring"), (uint32_t)ring_bytes());
	if (!err)
		err = bpf_map__reuse_fd(map_of(b, "flags"), ask->kernel->flags);
	if (!err)
		err = bpf_program__set_autoload(
			program_of(b, way->has_start ? "on_insert" : "on_start"), false);
	return err ? err : bpf_object__load(b->object);
}

/*
 * Attaches the end first, so that the memory of each request is given back. A kernel whose
 * tracepoint has other arguments refuses here.
 */
static int attach(struct block *b, const struct way *way)
{
	const char *const programs[LINK_CNT] = {"on_done", "on_issue",
						way->has_start ? "on_start" : "on_insert"};

	for (int i = 0; i < LINK_CNT; i++) {
		b->links[i] = bpf_program__attach(program_of(b, programs[i]));
		if (!b->links[i])
			return -errno;
	}
	return 0;
}

static void unload(struct block *b)
{
	block_stop(b);
	bpf_object__close(b->object);
	b->object = NULL;
}

static int open_way(struct block *b, const struct block_ask *ask)
{
	int err = -ENOSYS, version = ctxsw_kernel_version();

	for (size_t i = block_tuning.way; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (version < ways[i].since)
			continue;
		err = load(b, ask, &ways[i]);
		if (!err)
			err = attach(b, &ways[i]);
		if (!err || err == -EPERM || err == -ENOMEM)
			break;
		unload(b);
	}
	return err;
}

/* Called by libbpf for each record. */
static int keep(void *ctx, void *data, size_t len)
{
	struct block *b = ctx;

	b->taken++;
	if (len < sizeof(struct block_record) ||
	    !grow(&b->waiting.list, b->waiting.cnt, &b->waiting.room, sizeof(*b->waiting.list))) {
		b->waiting.lost++;
		return 0;
	}
	memcpy(&b->waiting.list[b->waiting.cnt++], data, sizeof(*b->waiting.list));
	return 0;
}

static int map_all(struct block *b)
{
	void *memory;

	b->shared_bytes = (size_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, b->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(map_of(b, ".bss")), 0);
	b->shared = memory == MAP_FAILED ? NULL : memory;
	b->ring = ring_buffer__new(bpf_map__fd(map_of(b, "ring")), keep, b, NULL);
	return b->shared && b->ring ? 0 : -ENOMEM;
}

struct block *block_open(const struct block_ask *ask, char *why, size_t why_len)
{
	libbpf_print_fn_t print;
	struct block *b;
	int err;

	if (!ask->kernel || !ask->kernel->offsets->task_flags) {
		snprintf(why, why_len,
			 "no block I/O: it needs eBPF (root, or CAP_BPF and CAP_PERFMON)");
		return NULL;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	print = libbpf_set_print(quiet);
	err = open_way(b, ask);
	if (!err)
		err = map_all(b);
	libbpf_set_print(print);
	if (!err) {
		if (ask->on_ring)
			ask->on_ring(ask->ctx, bpf_map__fd(map_of(b, "ring")));
		return b;
	}
	snprintf(why, why_len, "no block I/O: the kernel refuses the programs for it: %s",
		 strerror(-err));
	block_close(b);
	return NULL;
}

void block_record(struct block *b, bool on)
{
	__atomic_store_n(&b->shared->is_paused, !on, __ATOMIC_RELAXED);
}

/* Handed to the device, and not done. */
static uint64_t count_unended(const struct block *b)
{
	int map = bpf_map__fd(map_of(b, "requests"));
	uint64_t key, *last = NULL, cnt = 0;
	struct block_record r;

	for (; !bpf_map_get_next_key(map, last, &key); last = &key)
		cnt += !bpf_map_lookup_elem(map, &key, &r) && r.tid && r.issued;
	return cnt;
}

void block_stop(struct block *b)
{
	bool was_on = b->shared && b->links[0];

	for (int i = 0; i < LINK_CNT; i++) {
		bpf_link__destroy(b->links[i]);
		b->links[i] = NULL;
	}
	if (was_on)
		b->unended = count_unended(b);
}

void block_close(struct block *b)
{
	if (!b)
		return;
	block_stop(b);
	ring_buffer__free(b->ring);
	if (b->shared)
		munmap(b->shared, b->shared_bytes);
	bpf_object__close(b->object);
	free(b->waiting.list);
	free(b);
}

/* ---- rows ---- */

static int64_t text_of(struct db *db, const char *text, size_t room)
{
	size_t len = strnlen(text, room);

	return len ? db_string(db, text, len) : DB_NULL;
}

static void write_row(struct db *db, const struct block_record *r, int64_t zero)
{
	int64_t name = text_of(db, r->comm, sizeof(r->comm)),
		disk = text_of(db, r->disk, sizeof(r->disk)), *row = db_row(db, DB_SL_BLOCK_IO);

	row[BLOCK_START] = (int64_t)r->start - zero;
	row[BLOCK_ISSUED] = r->issued ? (int64_t)r->issued - zero : DB_NULL;
	row[BLOCK_END] = (int64_t)r->end - zero;
	row[BLOCK_GLOBAL_TID] = r->tid ? GLOBAL_TID(r->pid, r->tid) : DB_NULL;
	row[BLOCK_NAME_ID] = name;
	row[BLOCK_DEVICE] = (int64_t)r->major << MINOR_BITS | r->minor;
	row[BLOCK_DISK_ID] = disk;
	row[BLOCK_SECTOR] = (int64_t)r->sector < 0 ? DB_NULL : (int64_t)r->sector;
	row[BLOCK_BYTES] = r->bytes;
	row[BLOCK_OPERATION] = r->operation;
	row[BLOCK_FAILED] = r->has_failed;
}

/* Reading stops at a record that another CPU has not finished: those behind it are waited for, but not for ever. */
static void drain(struct block *b)
{
	uint64_t sent = __atomic_load_n(&b->shared->sent, __ATOMIC_ACQUIRE);

	for (int i = 0; i < DRAIN_TRIES; i++) {
		ring_buffer__consume(b->ring);
		if (b->taken >= sent)
			break;
		usleep(100);
	}
}

struct event_rows block_write(struct block *b, struct db *db, const struct windows *windows,
			      int64_t zero, int64_t hold)
{
	struct event_rows rows = {0};
	size_t kept = 0;

	drain(b);
	for (size_t i = 0; i < b->waiting.cnt; i++) {
		const struct block_record *r = &b->waiting.list[i];
		int64_t start = (int64_t)r->start - zero;

		if ((int64_t)r->start >= hold) {
			b->waiting.list[kept++] = *r;
			continue;
		}
		if (!windows_have_ns(windows, zero, start) ||
		    !windows_have_ns(windows, zero, (int64_t)r->end - zero))
			continue;
		write_row(db, r, zero);
		if (!rows.cnt++)
			rows.first = start;
		rows.last = start;
	}
	b->waiting.cnt = kept;
	return rows;
}

static uint64_t missed(const struct block *b, const char *name)
{
	const struct bpf_program *program = program_of(b, name);

	return program ? ctxsw_missed(bpf_program__fd(program)) : 0;
}

uint64_t block_lost(const struct block *b)
{
	return __atomic_load_n(&b->shared->lost_full, __ATOMIC_RELAXED) +
	       __atomic_load_n(&b->shared->lost_crowd, __ATOMIC_RELAXED) +
	       __atomic_load_n(&b->shared->lost_end, __ATOMIC_RELAXED) + b->unended +
	       b->waiting.lost + missed(b, "on_done") + missed(b, "on_issue") +
	       missed(b, "on_start") + missed(b, "on_insert");
}

#else

struct block *block_open(const struct block_ask *ask, char *why, size_t why_len)
{
	(void)ask;
	snprintf(why, why_len, "no block I/O: it needs eBPF, for which sightline was not built");
	return NULL;
}

void block_record(struct block *b, bool on)
{
	(void)b;
	(void)on;
}

struct event_rows block_write(struct block *b, struct db *db, const struct windows *windows,
			      int64_t zero, int64_t hold)
{
	(void)b;
	(void)db;
	(void)windows;
	(void)zero;
	(void)hold;
	return (struct event_rows){0};
}

uint64_t block_lost(const struct block *b)
{
	(void)b;
	return 0;
}

void block_stop(struct block *b)
{
	(void)b;
}

void block_close(struct block *b)
{
	(void)b;
}

#endif
