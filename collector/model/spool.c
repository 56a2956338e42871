/*
 * spool.c - segments of copied chunks: memfds, then files.
 *
 * Files are allocated before they are mapped (no SIGBUS on a full disk). Those of a collector that died may be cut off or
 * damaged: each copy has a sum, which is checked.
 */
#include "collector/model/spool.h"
#include "collector/base/now.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DATA_BYTES   ((uint32_t)sizeof(((struct sl_chunk *)0)->data))
#define RETRY_NS     1000000000ull
#define ROOM_ON_DISK 16u /* segments: with less left, the disk is the report's */
#define NAME_MAX_LEN 24

void spool_init(struct spool *s)
{
	*s = (struct spool){.folder = -1, .beside = -1, .in_memory = SPOOL_IN_MEMORY};
	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++)
		s->segment[i].fd = -1;
}

static void name_of(uint32_t index, char name[NAME_MAX_LEN])
{
	snprintf(name, NAME_MAX_LEN, "%u" SPOOL_SUFFIX, index);
}

static void close_segment(struct spool *s, uint32_t index)
{
	struct spool_segment *g = &s->segment[index];
	char name[NAME_MAX_LEN];

	if (!g->map)
		return;
	if (s->on_segment)
		s->on_segment(s->ctx, index, -1);
	if (g->is_file && s->folder >= 0) {
		name_of(index, name);
		unlinkat(s->folder, name, 0);
	}
	munmap(g->map, SPOOL_SEGMENT_BYTES);
	close(g->fd);
	s->used -= g->used;
	*g = (struct spool_segment){.fd = -1};
}

/* Removes the folder when it has no files: the next file may be that of another report. A folder with foreign files stays. */
static void leave_folder(struct spool *s)
{
	if (s->folder >= 0)
		close(s->folder);
	if (s->beside >= 0) {
		unlinkat(s->beside, s->name, AT_REMOVEDIR);
		close(s->beside);
	}
	s->folder = s->beside = -1;
}

void spool_release(struct spool *s)
{
	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++)
		close_segment(s, i);
	leave_folder(s);
}

static bool has_files(const struct spool *s)
{
	for (uint32_t i = SPOOL_IN_MEMORY; i < SPOOL_SEGMENTS; i++)
		if (s->segment[i].map)
			return true;
	return false;
}

static bool has_room_on_disk(int fd)
{
	struct statvfs v;

	return fstatvfs(fd, &v) == 0 &&
	       (uint64_t)v.f_bavail * v.f_frsize >= (uint64_t)ROOM_ON_DISK * SPOOL_SEGMENT_BYTES;
}

static int make_file(struct spool *s, uint32_t index)
{
	char name[NAME_MAX_LEN];
	int fd;

	if (s->folder < 0 && s->open_folder)
		s->open_folder(s->ctx, s);
	if (s->folder < 0 || !has_room_on_disk(s->folder))
		return -1;
	name_of(index, name);
	unlinkat(s->folder, name, 0);
	fd = openat(s->folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (posix_fallocate(fd, 0, SPOOL_SEGMENT_BYTES) == 0)
		return fd;
	unlinkat(s->folder, name, 0);
	close(fd);
	return -1;
}

static int make_memfd(void)
{
	int fd = memfd_create("sightline-spool", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, SPOOL_SEGMENT_BYTES) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	close(fd);
	return -1;
}

/* @fd: closed on failure. */
static bool map_segment(struct spool_segment *g, int fd, bool is_file)
{
	void *at = mmap(NULL, SPOOL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		close(fd);
		return false;
	}
	*g = (struct spool_segment){.map = at, .fd = fd, .is_file = is_file};
	return true;
}

static bool make_segment(struct spool *s, uint32_t index)
{
	bool is_file = index >= SPOOL_IN_MEMORY;
	int fd;

	if (is_file ? (uint64_t)mono_ns() < s->no_file_before : index >= s->in_memory)
		return false;
	fd = is_file ? make_file(s, index) : make_memfd();
	if (fd < 0 || !map_segment(&s->segment[index], fd, is_file)) {
		s->no_file_before = (uint64_t)mono_ns() + RETRY_NS;
		return false;
	}
	if (s->on_segment)
		s->on_segment(s->ctx, index, fd);
	return true;
}

static sl_ref take_in(struct spool *s, uint32_t index)
{
	struct spool_segment *g = &s->segment[index];

	for (uint32_t w = 0; w < SPOOL_SEGMENT_CHUNKS / 64; w++) {
		uint32_t bit;

		if (!~g->taken[w])
			continue;
		bit = (uint32_t)__builtin_ctzll(~g->taken[w]);
		g->taken[w] |= UINT64_C(1) << bit;
		g->used++;
		s->used++;
		return SL_CHUNK_CNT + 1 + index * SPOOL_SEGMENT_CHUNKS + w * 64 + bit;
	}
	return 0;
}

/* A chunk in a file that is not being read or written does not count as the collector's memory. (A fault maps others, too.) */
static void rest_segment(const struct spool *s, sl_ref ref)
{
	const struct spool_segment *g =
		&s->segment[(ref - SL_CHUNK_CNT - 1) / SPOOL_SEGMENT_CHUNKS];

	if (g->is_file)
		madvise(g->map, SPOOL_SEGMENT_BYTES, MADV_DONTNEED);
}

/* The lowest free one: those used last are used next, and segments at the end become empty. */
sl_ref spool_take(struct spool *s)
{
	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++) {
		struct spool_segment *g = &s->segment[i];

		if (!g->map) {
			/* Without memory for one, a file may do. */
			if (!make_segment(s, i)) {
				if (i >= SPOOL_IN_MEMORY)
					return 0;
				continue;
			}
		} else if (g->used == SPOOL_SEGMENT_CHUNKS) {
			continue;
		}
		return take_in(s, i);
	}
	return 0;
}

/* Frees segments without a chunk, but one for the next burst. */
static void shrink(struct spool *s, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (s->segment[i].map && s->segment[i].used < SPOOL_SEGMENT_CHUNKS / 2) {
			close_segment(s, index);
			if (!has_files(s))
				leave_folder(s);
			return;
		}
}

void spool_give(struct spool *s, sl_ref ref)
{
	uint32_t i = ref - SL_CHUNK_CNT - 1, index = i / SPOOL_SEGMENT_CHUNKS,
		 in = i % SPOOL_SEGMENT_CHUNKS;
	struct spool_segment *g = &s->segment[index];

	__atomic_store_n(&g->map[in].reserved[SPOOL_ARENA], 0, __ATOMIC_RELEASE);
	rest_segment(s, ref);
	g->taken[in / 64] &= ~(UINT64_C(1) << in % 64);
	g->used--;
	s->used--;
	if (!g->used)
		shrink(s, index);
}

/* Calls @each for each chunk in use; it may give the chunk back. */
static void each_chunk(struct spool *s, void (*each)(struct spool *s, sl_ref ref, void *ctx),
		       void *ctx)
{
	for (uint32_t i = 0; i < SPOOL_SEGMENTS && s->used; i++)
		for (uint32_t k = 0; k < SPOOL_SEGMENT_CHUNKS; k++)
			if (s->segment[i].map && s->segment[i].taken[k / 64] >> k % 64 & 1)
				each(s, SL_CHUNK_CNT + 1 + i * SPOOL_SEGMENT_CHUNKS + k, ctx);
}

static void drop_one(struct spool *s, sl_ref ref, void *ctx)
{
	if (spool_at(s, ref)->reserved[SPOOL_ARENA] == *(const uint32_t *)ctx)
		spool_give(s, ref);
}

void spool_drop(struct spool *s, uint32_t arena)
{
	each_chunk(s, drop_one, &arena);
}

struct of_arena {
	uint32_t arena, cnt;
};

static void count_of(struct spool *s, sl_ref ref, void *ctx)
{
	struct of_arena *o = ctx;

	o->cnt += spool_at(s, ref)->reserved[SPOOL_ARENA] == o->arena;
}

uint32_t spool_count(struct spool *s, uint32_t arena)
{
	struct of_arena o = {.arena = arena};

	each_chunk(s, count_of, &o);
	return o.cnt;
}

/* Detects damage by a disk, not by an attacker: the folder is the user's alone. */
static uint64_t sum_of(const struct sl_chunk *c)
{
	uint64_t a = c->committed, b = c->seq;

	for (uint32_t i = 0; i < c->committed / 8; i++) {
		a += c->data[i];
		b += a;
	}
	return a ^ b << 1 ^ b >> 63;
}

void spool_publish(struct spool *s, sl_ref ref, uint32_t arena, uint32_t instance)
{
	struct sl_chunk *copy = spool_at(s, ref);
	uint64_t sum = sum_of(copy);

	copy->reserved[SPOOL_INSTANCE] = instance;
	copy->reserved[SPOOL_WORD_VERSION] = SPOOL_VERSION;
	copy->reserved[SPOOL_SUM_LOW] = (uint32_t)sum;
	copy->reserved[SPOOL_SUM_HIGH] = (uint32_t)(sum >> 32);
	__atomic_store_n(&copy->reserved[SPOOL_ARENA], arena, __ATOMIC_RELEASE);
	rest_segment(s, ref);
}

uint64_t spool_bytes(const struct spool *s)
{
	return (uint64_t)s->used * SL_CHUNK_BYTES;
}

unsigned spool_fill(const struct spool *s)
{
	bool may_have_files = s->folder >= 0 || (s->open_folder && !s->no_file_before);
	uint32_t files = may_have_files ? SPOOL_SEGMENTS - SPOOL_IN_MEMORY : 0,
		 most = (s->in_memory + files) * SPOOL_SEGMENT_CHUNKS;

	return s->used >= most ? 100 : s->used * 100 / most;
}

/* ---- of a collector that died ---- */

static bool is_sound(const struct sl_chunk *c)
{
	uint64_t sum;

	if (c->reserved[SPOOL_WORD_VERSION] != SPOOL_VERSION || c->committed > DATA_BYTES ||
	    c->committed % 8 || c->consumed > c->committed || c->slot - 1 >= SL_SLOT_CNT)
		return false;
	sum = sum_of(c);
	return (uint32_t)sum == c->reserved[SPOOL_SUM_LOW] &&
	       (uint32_t)(sum >> 32) == c->reserved[SPOOL_SUM_HIGH];
}

/* A file that was cut off is made long again: the missing part reads as zeros. */
static bool has_size(int fd, bool *is_file)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	*is_file = st.st_nlink > 0;
	if (st.st_size == SPOOL_SEGMENT_BYTES)
		return true;
	return *is_file && st.st_size < (off_t)SPOOL_SEGMENT_BYTES &&
	       posix_fallocate(fd, 0, SPOOL_SEGMENT_BYTES) == 0;
}

bool spool_adopt(struct spool *s, uint32_t index, int fd)
{
	struct spool_segment *g = &s->segment[index < SPOOL_SEGMENTS ? index : 0];
	bool is_file = false;

	if (index >= SPOOL_SEGMENTS || g->map || !has_size(fd, &is_file)) {
		close(fd);
		return false;
	}
	if (!map_segment(g, fd, is_file))
		return false;
	for (uint32_t i = 0; i < SPOOL_SEGMENT_CHUNKS; i++) {
		struct sl_chunk *c = &g->map[i];

		if (!__atomic_load_n(&c->reserved[SPOOL_ARENA], __ATOMIC_ACQUIRE))
			continue;
		if (!is_sound(c)) {
			c->reserved[SPOOL_ARENA] = 0;
			s->damaged++;
			continue;
		}
		g->taken[i / 64] |= UINT64_C(1) << i % 64;
		g->used++;
		s->used++;
	}
	s->has_old |= g->used > 0;
	if (s->on_segment)
		s->on_segment(s->ctx, index, fd);
	return true;
}

struct wanted {
	uint32_t arena, slot, instance;
	sl_ref *list;
	uint32_t cnt, room;
};

static void count_one(struct spool *s, sl_ref ref, void *ctx)
{
	const struct sl_chunk *c = spool_at(s, ref);
	struct wanted *w = ctx;

	if (c->reserved[SPOOL_ARENA] != w->arena || c->slot != w->slot + 1 ||
	    c->reserved[SPOOL_INSTANCE] != w->instance)
		return;
	if (w->cnt < w->room)
		w->list[w->cnt] = ref;
	w->cnt++;
}

static int by_seq(const void *a, const void *b, void *ctx)
{
	const struct spool *s = ctx;
	uint32_t x = spool_at(s, *(const sl_ref *)a)->seq, y = spool_at(s, *(const sl_ref *)b)->seq;

	return x < y ? -1 : x > y;
}

sl_ref spool_link(struct spool *s, uint32_t arena, uint32_t slot, uint32_t instance, sl_ref *last)
{
	struct wanted w = {.arena = arena, .slot = slot, .instance = instance};
	sl_ref first;

	if (!s->has_old)
		return 0;
	each_chunk(s, count_one, &w);
	w.list = w.cnt ? malloc(w.cnt * sizeof(*w.list)) : NULL;
	if (!w.list)
		return 0;
	w.room = w.cnt;
	w.cnt = 0;
	each_chunk(s, count_one, &w);
	qsort_r(w.list, w.cnt, sizeof(*w.list), by_seq, s);
	for (uint32_t i = 0; i + 1 < w.cnt; i++)
		spool_at(s, w.list[i])->next = w.list[i + 1];
	first = w.list[0];
	*last = w.list[w.cnt - 1];
	free(w.list);
	return first;
}
