/*
 * stack.c - stacks of calls: unwinds, looks the stack up, and records it if it is new.
 *
 * Recorded stacks are in a hash table of the process, hash to id, in levels that are mapped when the level before is
 * full, so that a program with few different stacks touches few pages. Entries are never removed, and a search stops at
 * the first free place: another thread may take a free place, but nothing moves.
 *
 * A forked child inherits a copy of the table: stacks recorded by its parent are valid for it, as are their addresses.
 */
#include "preload/core/stack.h"

#include <string.h>

#include "preload/base/table.h"
#include "preload/core/leaving.h"
#include "preload/unwind/pystack.h"
#include "preload/unwind/unwind.h"

#define HEAD_WORDS  3u /* of SL_META_STACK */
#define CHAIN_WORDS 4u /* with a duration of 64 bits */
#define PATH_MAX_   4095u

/* ---- the table ---- */

#define LEVELS       ((unsigned)SL_TABLE_STACK_LEVELS)
#define LEVEL_CNT(i) (UINT64_C(1024) << 3 * (i))
#define LEVEL_PLACES 8u /* probes per level */

struct entry {
	uint64_t hash; /* 0: free */
	uint32_t id;   /* 0: none yet; release, pairs with readers' acquire */
	uint32_t unused;
};

static struct entry *level_at(unsigned i, bool make)
{
	enum sl_table which = (enum sl_table)(SL_TABLE_STACKS + i);

	return make ? sl_table(which, LEVEL_CNT(i) * sizeof(struct entry)) : sl_table_known(which);
}

/* The @n-th place for @hash, over all levels. NULL: no more. */
static struct entry *place(uint64_t hash, unsigned n, bool make)
{
	unsigned i = n / LEVEL_PLACES;
	struct entry *l = i < LEVELS ? level_at(i, make) : NULL;

	/* Other bits of the hash for each level, so that collisions of one spread in the next. */
	return l ? &l[((hash >> 13 * i) + n % LEVEL_PLACES) & (LEVEL_CNT(i) - 1)] : NULL;
}

/* 0: unknown, or another thread is recording it. */
static uint32_t find_id(uint64_t hash)
{
	struct entry *e;

	for (unsigned n = 0; (e = place(hash, n, false)); n++) {
		uint64_t there = __atomic_load_n(&e->hash, __ATOMIC_ACQUIRE);

		if (there == hash)
			return __atomic_load_n(&e->id, __ATOMIC_ACQUIRE);
		if (!there)
			return 0;
	}
	return 0;
}

/*
 * Publishes the @id of a recorded stack. Returns the id to use: that of another thread if it was faster, so that equal
 * stacks have equal ids; the stack recorded under @id is then not referred to.
 */
static uint32_t add_id(uint64_t hash, uint32_t id)
{
	struct entry *e;

	for (unsigned n = 0; (e = place(hash, n, true)); n++) {
		uint64_t there = 0;
		uint32_t none = 0;

		if (!__atomic_compare_exchange_n(&e->hash, &there, hash, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE) &&
		    there != hash)
			continue;
		/* Also if another thread has added the hash but not the id, and may have been stopped by a fork for ever. */
		return __atomic_compare_exchange_n(&e->id, &none, id, 0, __ATOMIC_ACQ_REL,
						   __ATOMIC_ACQUIRE)
			       ? id
			       : none;
	}
	return id;
}

/* Without a table each stack would be recorded each time. */
static bool has_tables(void)
{
	return level_at(0, true) && sl_unwind_prepare();
}

static uint64_t hash_of(const uint64_t *frames, unsigned cnt)
{
	uint64_t h = sl_unwind_generation() * UINT64_C(0x9e3779b97f4a7c15) + cnt;

	for (unsigned i = 0; i < cnt; i++) {
		h = (h ^ frames[i]) * UINT64_C(0xd6e8feb86659fd93);
		h ^= h >> 32;
	}
	h *= UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 29;
	return h ? h : 1;
}

/*
 * Buffer of a thread's frames: the unused end of the chunk of its totals. Not in the ring, as a signal handler may write
 * records meanwhile. When the stack is recorded, texts of Python's code objects.
 */
#define SCRATCH_AT (SL_HOOK_MAX - SL_FRAME_MAX * 8 / sizeof(struct sl_agg))
_Static_assert(SL_FILE_FEW_AT +
			       SL_FILE_FEW * sizeof(struct sl_file_total) / sizeof(struct sl_agg) <=
		       SCRATCH_AT,
	       "there is room behind the totals");
_Static_assert(2 * SL_PYTEXT_ROOM <= SL_FRAME_MAX * 8, "texts have room in it");

static void *scratch(void)
{
	return sl_tls.agg + SCRATCH_AT;
}

/* ---- records ---- */

static uint64_t *put_head(uint64_t *w, enum sl_meta meta, uint64_t start, unsigned words)
{
	w[0] = start;
	w[1] = (uint64_t)sl_head(meta, words, 0, SL_SHAPE_META, 0) << 32;
	return w + 2;
}

static unsigned words_of(size_t bytes)
{
	return (unsigned)((bytes + 7) / 8);
}

/* A piece of a record's bytes. */
struct piece {
	const void *at;
	size_t len;
};

/* Writes @numbers, then the concatenated pieces; there is room. */
static void put_record(enum sl_meta meta, uint64_t start, const uint64_t *numbers, unsigned cnt,
		       const struct piece *pieces, unsigned piece_cnt)
{
	size_t len = 0;
	uint64_t *w;
	char *to;

	for (unsigned i = 0; i < piece_cnt; i++)
		len += pieces[i].len;
	w = put_head(sl_tls.cur, meta, start, 2 + cnt + 1 + words_of(len));
	for (unsigned i = 0; i < cnt; i++)
		*w++ = numbers[i];
	*w++ = len;
	if (len)
		w[words_of(len) - 1] = 0;
	to = (char *)w;
	for (unsigned i = 0; i < piece_cnt; i++) {
		memcpy(to, pieces[i].at, pieces[i].len);
		to += pieces[i].len;
	}
	sl_commit(w + words_of(len));
}

#define MODULE_WORDS (2 + 5 + (64 + PATH_MAX_ + 7) / 8)

/* Modules without room in the ring are recorded with the next stack. */
static uint32_t modules_due;

static SL_COLD void record_modules(uint64_t start)
{
	struct sl_module m;

	__atomic_store_n(&modules_due, 1, __ATOMIC_RELAXED);
	while (sl_room_or_none(MODULE_WORDS)) {
		uint32_t id_len;
		uint64_t p[4];

		if (!sl_unwind_next_module(&m)) {
			__atomic_store_n(&modules_due, 0, __ATOMIC_RELAXED);
			return;
		}
		id_len = m.build_id_len <= 64 ? m.build_id_len : 0;
		p[0] = m.start;
		p[1] = m.end;
		p[2] = m.bias;
		p[3] = id_len;
		put_record(SL_META_MODULE, start, p, 4,
			   (struct piece[]){{m.build_id, id_len},
					    {m.path, strnlen(m.path, PATH_MAX_)}},
			   2);
	}
}

/* Records the rest of a code object's line table. */
static void record_lines(const struct sl_pycode *c, uint32_t from, uint64_t start)
{
	const uint32_t most = (SL_REC_MAX_WORDS - 2 - 3) * 8;

	while (from < c->lines_len) {
		uint32_t len = c->lines_len - from < most ? c->lines_len - from : most;
		uint64_t p[2] = {c->id, from};

		if (!sl_room_or_none(SL_REC_MAX_WORDS))
			return;
		put_record(SL_META_CODE_LINES, start, p, 2,
			   (struct piece[]){{c->lines + from, len}}, 1);
		from += len;
	}
}

static void record_code(const struct sl_pycode *c, uint64_t start)
{
	size_t room = (SL_REC_MAX_WORDS - 2 - 4) * 8, file = strnlen(c->file, PATH_MAX_), name,
	       lines;
	uint64_t p[3] = {c->id, c->first_line | (uint64_t)c->version << 32, c->lines_len};

	room -= file + 2;
	name = strnlen(c->name, room < 2048 ? room : 2048);
	room -= name;
	lines = c->lines_len < room ? c->lines_len : room;
	put_record(SL_META_CODE, start, p, 3,
		   (struct piece[]){
			   {c->file, file}, {"", 1}, {c->name, name}, {"", 1}, {c->lines, lines}},
		   5);
	record_lines(c, (uint32_t)lines, start);
}

static SL_COLD void record_codes(uint64_t start)
{
	struct sl_pycode c;

	sl_tls.codes_due = 1;
	while (sl_room_or_none(SL_REC_MAX_WORDS)) {
		if (!sl_pystack_next_code(&c, scratch())) {
			sl_tls.codes_due = 0;
			return;
		}
		record_code(&c, start);
	}
}

/* ---- Python ---- */

static void write_note(void)
{
	const char *note = sl_pystack_take_note();

	if (sl_unlikely(note) && sl_ready())
		sl_note(SL_NOTE_PYTHON, note, strlen(note));
}

void sl_stack_rescan(bool is_loading)
{
	sl_pystack_rescan(is_loading);
	write_note();
}

void sl_stack_forget(void)
{
	sl_unwind_forget();
	sl_pystack_forget();
	for (unsigned i = 0; i < LEVELS; i++)
		sl_table_clear((enum sl_table)(SL_TABLE_STACKS + i));
}

/* ---- taking ---- */

struct fresh {
	unsigned modules, codes;
};

#define CHECK_FRAMES \
	4u /* flag in addition to the kinds: checks that Python's frames are readable */

/* Unwinds the calling thread to @to. */
static unsigned take(uint64_t *to, uint32_t kinds, unsigned depth, struct fresh *fresh)
{
	unsigned cnt = 0;

	if (!sl_unwind_has_room()) {
		*to = SL_FRAME_REMARK | SL_REMARK_MEMORY;
		return 1;
	}
	if (kinds & SL_STACK_OSRT_NATIVE)
		cnt = sl_unwind(to, depth + 1, depth, &fresh->modules);
	if (kinds & CHECK_FRAMES && kinds & SL_STACK_OSRT_PYTHON && !sl_pystack_is_readable())
		to[cnt++] = SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN;
	else if (kinds & SL_STACK_OSRT_PYTHON && sl_pystack_has())
		cnt += sl_pystack(to + cnt, depth + 1, depth, &fresh->codes);
	write_note();
	return cnt;
}

/* Id of the recorded stack; 0: the ring is full. */
static uint32_t record_stack(const struct sl_call *call, const uint64_t *frames, unsigned cnt,
			     uint64_t hash)
{
	uint64_t *w = sl_room_or_none(HEAD_WORDS + cnt);
	uint32_t id;

	if (!w)
		return 0;
	w = put_head(w, SL_META_STACK, call->start, HEAD_WORDS + cnt);
	memcpy(w + 1, frames, cnt * sizeof(*frames));
	/* Threads often reach a new stack together: looked up again as late as possible. */
	id = find_id(hash);
	if (id)
		return id;
	id = __atomic_add_fetch(&sl_global.arena->stack_serial, 1, __ATOMIC_RELAXED);
	w[0] = id + cnt * (UINT64_C(1) << 32);
	sl_commit(w + 1 + cnt);
	return add_id(hash, id);
}

/* Records the stack, unless it has an @id, and new modules and code objects in it. Returns its id; 0: the ring is full. */
static uint32_t record_new(const struct sl_call *call, const uint64_t *frames, unsigned cnt,
			   const struct fresh *fresh, uint64_t hash, uint32_t id)
{
	if (!sl_begin_write())
		return id;
	if (!id)
		id = record_stack(call, frames, cnt, hash);
	if (fresh->modules || __atomic_load_n(&modules_due, __ATOMIC_RELAXED))
		record_modules(call->start);
	if (fresh->codes || sl_tls.codes_due)
		record_codes(call->start);
	sl_end_write();
	return id;
}

static uint32_t number_of_stack(const struct sl_call *call, uint32_t kinds, const char *here)
{
	unsigned most = SL_FRAME_MAX / 2 - 1, depth = sl_global.session->stack_depth, cnt;
	uint64_t *frames = scratch(), hash;
	struct fresh fresh = {0};
	uint32_t id;

	cnt = take(frames, kinds, depth < most ? depth : most, &fresh);
	hash = hash_of(frames, cnt);
	id = cnt ? find_id(hash) : 0;
	sl_barrier();
	/* A stack was taken meanwhile that considered this one abandoned: see below. */
	if (!cnt || sl_tls.taking != here)
		return 0;
	if (id && !fresh.modules && !fresh.codes)
		return id;
	return record_new(call, frames, cnt, &fresh, hash, id);
}

uint32_t sl_stack_take(const struct sl_call *call, enum sl_stack_of of)
{
	/* The bits of both are in the same order. */
	uint32_t kinds = sl_global.session->stack_kinds >> (of == SL_STACK_OF_GPU ? 2 : 0) & 3, id;
	const char *here = __builtin_frame_address(0);

	/*
	 * Not in a signal handler that interrupted another one. That may also have been abandoned by longjmp(): then its
	 * frame is below this one.
	 */
	if (kinds && of == SL_STACK_OF_UNMAP)
		kinds |= CHECK_FRAMES;
	if (!kinds || !sl_tls.agg || sl_tls.busy || (sl_tls.taking && here < sl_tls.taking) ||
	    !has_tables())
		return 0;
	if (!sl_slow_begin())
		return 0;
	sl_tls.taking = here;
	sl_barrier();
	id = number_of_stack(call, kinds, here);
	sl_barrier();
	sl_tls.taking = NULL;
	sl_slow_end();
	return id;
}

void sl_stack_put(const struct sl_call *call, uint32_t id, unsigned words)
{
	uint64_t *w = sl_room_or_none(CHAIN_WORDS + words);

	if (!w)
		return;
	w = sl_put_head(w, (enum sl_hook)SL_META_CHAIN, 3 + (call->duration >> 32 != 0), call,
			SL_SHAPE_META, 0);
	w[0] = id;
	/* Not committed: it becomes visible together with the record of the call. */
	sl_tls.cur = w + 1;
}

/* ---- classes of GPU functions ---- */

static bool has(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

static bool begins(const char *name, const char *part)
{
	return strncmp(name, part, strlen(part)) == 0;
}

enum sl_stack_class sl_stack_class_of(const char *f)
{
	bool is_cuda = begins(f, "cuda"),
	     is_driver = !is_cuda && begins(f, "cu") && f[2] >= 'A' && f[2] <= 'Z';

	if (!is_cuda && !is_driver && !begins(f, "__cuda"))
		return SL_STACK_CLASS_OTHER;
	if (has(f, "Launch"))
		return SL_STACK_CLASS_KERNEL;
	if (has(f, "Synchronize") || has(f, "Query") || has(f, "WaitEvent") || has(f, "WaitValue"))
		return SL_STACK_CLASS_SYNC;
	if (begins(f, is_cuda ? "cudaMem" : "cuMem") || begins(f, "cudaMalloc") ||
	    begins(f, "cudaFree") || begins(f, "cudaHostAlloc") || begins(f, "cudaHostRegister") ||
	    begins(f, "cudaHostUnregister"))
		return SL_STACK_CLASS_MEMORY;
	return SL_STACK_CLASS_OTHER;
}
