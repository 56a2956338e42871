/*
 * arena_map.c - maps the arena in extents.
 *
 * The process keeps no descriptor of the file. mremap(2) with an old size of 0 makes another mapping of a shared mapping's
 * pages, which may extend beyond the old one's end: from the last page of an extent that is mapped. The new mapping has the
 * flags of the old one (not dumped, not locked).
 *
 * Runs inside the program's calls: rules as in hook.c.
 */
#include "preload/core/arena_map.h"

#include <sys/mman.h>

#include "preload/base/state.h"
#include "preload/base/valgrind.h"
#include "preload/wire/sys.h"

#define PAGE ((uint64_t)SL_PAGE_MAX)

/* Extents 0 and 1 have FIRST chunks each, and every later one as many as all before it. */
#define FIRST   16u
#define EXTENTS 10u
_Static_assert(FIRST << (EXTENTS - 1) == SL_CHUNK_CNT, "the extents are the arena");

/* Where each extent's first chunk is mapped; NULL: it is not. Release, pairs with the acquire of readers. */
static struct sl_chunk *extents[EXTENTS];
static uint32_t refusals; /* since the last extent was mapped */
enum {
	RETRY_EVERY = 256, /* refused calls: a dropped call must not cost a system call */
};

static unsigned extent_of(sl_ref ref)
{
	uint32_t n = (ref - 1) / FIRST;

	return n ? 32 - (unsigned)__builtin_clz(n) : 0;
}

static uint32_t first_of(unsigned extent)
{
	return extent ? FIRST << (extent - 1) : 0;
}

/* Offsets in the file. */
static uint64_t offset_of(uint32_t chunk)
{
	return SL_ARENA_HEADER_BYTES + (uint64_t)chunk * SL_CHUNK_BYTES;
}

static uint64_t begin_of(unsigned extent)
{
	return extent ? offset_of(first_of(extent)) & ~(PAGE - 1) : 0;
}

static uint64_t end_of(unsigned extent, uint32_t chunk_cnt)
{
	uint32_t end = first_of(extent + 1);

	return (offset_of(end < chunk_cnt ? end : chunk_cnt) + PAGE - 1) & ~(PAGE - 1);
}

static bool is_address(long m)
{
	return m >= 0 || m <= -4096;
}

static struct sl_chunk *load(unsigned extent)
{
	return __atomic_load_n(&extents[extent], __ATOMIC_ACQUIRE);
}

/* Address at which an extent's mapping begins: chunks need not begin at a page. */
static char *mapping_of(unsigned extent, struct sl_chunk *at)
{
	return (char *)at - (offset_of(first_of(extent)) - begin_of(extent));
}

static bool map_extent(unsigned extent)
{
	uint32_t cnt = sl_global.arena->chunk_cnt;
	uint64_t begin = begin_of(extent), end = end_of(extent, cnt), from;
	struct sl_chunk *at, *none = NULL;
	unsigned last = 0; /* always mapped */
	long m;

	for (unsigned i = 1; i < extent; i++)
		if (load(i))
			last = i;
	from = end_of(last, cnt) - PAGE;
	m = sl_sys4(SYS_mremap, mapping_of(last, load(last)) + (from - begin_of(last)), 0,
		    end - from, MREMAP_MAYMOVE);
	if (!is_address(m))
		return false;
	if (from < begin)
		sl_sys2(SYS_munmap, m, begin - from);
	at = (struct sl_chunk *)(m + (long)(offset_of(first_of(extent)) - from));
	if (!__atomic_compare_exchange_n(&extents[extent], &none, at, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		/* Another thread mapped it first. */
		sl_sys2(SYS_munmap, m + (long)(begin - from), end - begin);
	return true;
}

/* Emulators may lack mremap's old size of 0, and filters may refuse the call: then the arena is mapped as a whole. */
static bool can_extend(const struct sl_arena *a)
{
	long m = sl_valgrind_runs() ? -1 : sl_sys4(SYS_mremap, a, 0, PAGE, MREMAP_MAYMOVE);
	bool is_same;

	if (!is_address(m))
		return false;
	is_same = ((const struct sl_arena *)m)->magic == a->magic;
	sl_sys2(SYS_munmap, m, PAGE);
	return is_same;
}

static struct sl_arena *map(int memfd, uint64_t bytes)
{
	long m = sl_sys6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, memfd, 0);

	if (!is_address(m))
		return NULL;
	sl_sys3(SYS_madvise, m, bytes, MADV_DONTDUMP);
	return (struct sl_arena *)m;
}

struct sl_arena *sl_arena_map(int memfd, uint32_t chunk_cnt)
{
	uint64_t whole = sl_arena_bytes(chunk_cnt), part = end_of(0, chunk_cnt);
	struct sl_arena *a = map(memfd, part);
	unsigned mapped = 1;

	if (!a)
		return NULL;
	a->magic = SL_ARENA_MAGIC;
	a->chunk_cnt = chunk_cnt;
	if (!can_extend(a)) {
		sl_sys2(SYS_munmap, a, part);
		a = map(memfd, whole);
		if (!a)
			return NULL;
		sl_valgrind_ignore(a, whole);
		mapped = EXTENTS;
	}
	for (unsigned i = 0; i < mapped; i++)
		__atomic_store_n(&extents[i],
				 (struct sl_chunk *)((char *)a + offset_of(first_of(i))),
				 __ATOMIC_RELEASE);
	return a;
}

void sl_arena_unmap(struct sl_arena *a)
{
	sl_sys2(SYS_munmap, a,
		load(EXTENTS - 1) ? sl_arena_bytes(a->chunk_cnt) : end_of(0, a->chunk_cnt));
}

/* ---- a session that is over ---- */

/*
 * What took the place of earlier sessions' arenas. The calls that threads were in have written to it since; the kernel puts
 * mappings side by side, so that there are few. Those for which there is no room keep their pages.
 */
static struct {
	uintptr_t from, to;
} forgotten[64];
static uint32_t forgotten_cnt;

static void keep_range(uintptr_t from, uintptr_t to)
{
	for (uint32_t i = 0; i < forgotten_cnt; i++) {
		if (forgotten[i].from == to)
			forgotten[i].from = from;
		else if (forgotten[i].to == from)
			forgotten[i].to = to;
		else
			continue;
		return;
	}
	if (forgotten_cnt < sizeof(forgotten) / sizeof(*forgotten)) {
		forgotten[forgotten_cnt].from = from;
		forgotten[forgotten_cnt++].to = to;
	}
}

static void free_pages(void)
{
	for (uint32_t i = 0; i < forgotten_cnt; i++)
		sl_sys3(SYS_madvise, forgotten[i].from, forgotten[i].to - forgotten[i].from,
			MADV_DONTNEED);
}

static void forget(uintptr_t at, uint64_t bytes)
{
	long m = sl_sys6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (m == (long)at)
		keep_range(at, at + bytes);
}

void sl_arena_forget(void)
{
	struct sl_arena *a = sl_global.arena;
	uint32_t cnt = a->chunk_cnt;
	/* Mapped as a whole: by one mapping. */
	bool is_whole = load(EXTENTS - 1) &&
			(char *)load(EXTENTS - 1) == (char *)a + offset_of(first_of(EXTENTS - 1));

	free_pages();
	for (unsigned i = 0; i < EXTENTS; i++) {
		struct sl_chunk *at = load(i);

		/* Their number is read once: the pages are gone after the first step. */
		if (at && (!is_whole || i == 0))
			forget((uintptr_t)mapping_of(i, at),
			       (is_whole ? sl_arena_bytes(cnt) : end_of(i, cnt)) - begin_of(i));
		__atomic_store_n(&extents[i], NULL, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&refusals, 0, __ATOMIC_RELAXED);
}

bool sl_arena_is_short(void)
{
	return __atomic_load_n(&refusals, __ATOMIC_RELAXED) != 0;
}

bool sl_arena_reach(sl_ref ref)
{
	unsigned extent = extent_of(ref);

	if (load(extent))
		return true;
	if (!extent || sl_global.seccomp ||
	    (sl_arena_is_short() &&
	     __atomic_add_fetch(&refusals, 1, __ATOMIC_RELAXED) % RETRY_EVERY))
		return false;
	if (!map_extent(extent)) {
		__atomic_store_n(&refusals, 1, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_store_n(&refusals, 0, __ATOMIC_RELAXED);
	return true;
}

struct sl_chunk *sl_arena_chunk(sl_ref ref)
{
	unsigned extent = extent_of(ref);

	return load(extent) + (ref - 1 - first_of(extent));
}

void sl_arena_map_rest(void)
{
	if (!sl_global.arena)
		return;
	for (unsigned i = 1; i < EXTENTS && first_of(i) < sl_global.arena->chunk_cnt; i++)
		if (!load(i))
			map_extent(i);
}

void sl_arena_unlock(void)
{
	if (!sl_global.arena)
		return;
	for (unsigned i = 0; i < EXTENTS && first_of(i) < sl_global.arena->chunk_cnt; i++) {
		struct sl_chunk *at = load(i);

		if (at)
			sl_sys2(SYS_munlock, mapping_of(i, at),
				end_of(i, sl_global.arena->chunk_cnt) - begin_of(i));
	}
}
