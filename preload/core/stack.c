/*
 * stack.c - stacks of calls: taken, looked up, told when they are new.
 *
 * Known ones are in a table of the process: hash to number, in levels that are mapped when the level before is full, so
 * that a program with few different stacks touches a few pages. Entries are never taken out, and whoever searches stops
 * at the first free place: so a place that was free may be taken by another thread, but nothing moves.
 *
 * A forked child goes on with a copy of the table: what the parent has told it need not tell again. Addresses mean the
 * same in both.
 */
#include "preload/core/stack.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/unwind/pystack.h"
#include "preload/wire/sys.h"
#include "preload/unwind/unwind.h"

#define HEAD_WORDS  3u /* of SL_META_STACK */
#define CHAIN_WORDS 4u /* with a duration of 64 bits */
#define PATH_MAX_   4095u

/* ---- the table ---- */

#define LEVELS       4u
#define LEVEL_CNT(i) (UINT64_C(1024) << 3 * (i))
#define LEVEL_PLACES 8u /* looked at, one after the other */

struct entry {
	uint64_t hash; /* 0: free */
	uint32_t id;   /* 0: not yet; release, pairs with whoever reads it (acquire) */
	uint32_t unused;
};

static struct entry *levels[LEVELS];

static struct entry *level_at(unsigned i, bool make)
{
	struct entry *l = __atomic_load_n(&levels[i], __ATOMIC_ACQUIRE);
	long bytes = (long)(LEVEL_CNT(i) * sizeof(*l)), m;

	if (l || !make || sl_global.restricted)
		return l;
	m = sl_sys6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m < 0 && m > -4096)
		return NULL;
	if (__atomic_compare_exchange_n(&levels[i], &l, (struct entry *)m, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return (struct entry *)m;
	/* Another thread was quicker. */
	sl_sys2(SYS_munmap, m, bytes);
	return l;
}

/* The @n-th place that @hash may be in, over all levels. NULL: there is none any more. */
static struct entry *place(uint64_t hash, unsigned n, bool make)
{
	unsigned i = n / LEVEL_PLACES;
	struct entry *l = i < LEVELS ? level_at(i, make) : NULL;

	/* Other bits of the hash for each level: what is crowded in one is spread in the next. */
	return l ? &l[((hash >> 13 * i) + n % LEVEL_PLACES) & (LEVEL_CNT(i) - 1)] : NULL;
}

/* 0: not known, or another thread is about to say. */
static uint32_t known(uint64_t hash)
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
 * It has been told: from here on others use @id for it. Returns the number to use: where another thread was quicker, its
 * number, so that equal calls have equal ones; what is told under ours is then named by nobody.
 */
static uint32_t remember(uint64_t hash, uint32_t id)
{
	struct entry *e;

	for (unsigned n = 0; (e = place(hash, n, true)); n++) {
		uint64_t there = 0;
		uint32_t none = 0;

		if (!__atomic_compare_exchange_n(&e->hash, &there, hash, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE) &&
		    there != hash)
			continue;
		/* Also where another thread had the hash in and was interrupted, perhaps by a fork for ever. */
		return __atomic_compare_exchange_n(&e->id, &none, id, 0, __ATOMIC_ACQ_REL,
						   __ATOMIC_ACQUIRE)
			       ? id
			       : none;
	}
	return id;
}

/* Nothing at all can be remembered: then each stack would be told each time. */
static bool has_table(void)
{
	return level_at(0, true) != NULL;
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

/* Bytes to be appended in pieces. */
struct piece {
	const void *at;
	size_t len;
};

/* @numbers, then the pieces, one behind the other; there is room. */
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

/* Objects that somebody in the process has met. What had no room is tried again with the next stack. */
static uint32_t modules_due;

static void tell_modules(uint64_t start)
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

/* What of a code object's line table did not fit into its record. */
static void tell_lines(const struct sl_pycode *c, uint32_t from, uint64_t start)
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

static void tell_code(const struct sl_pycode *c, uint64_t start)
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
	tell_lines(c, (uint32_t)lines, start);
}

static void tell_codes(uint64_t start)
{
	struct sl_pycode c;

	sl_tls.codes_due = 1;
	while (sl_room_or_none(SL_REC_MAX_WORDS)) {
		if (!sl_pystack_next_code(&c)) {
			sl_tls.codes_due = 0;
			return;
		}
		tell_code(&c, start);
	}
}

/* ---- Python ---- */

static void write_note(void)
{
	const char *note = sl_pystack_take_note();
	uint64_t kind = SL_NOTE_PYTHON;

	if (sl_unlikely(note) && sl_ready())
		sl_meta(SL_META_NOTE, sl_ticks(), &kind, 1, note, strlen(note));
}

void sl_stack_rescan(bool is_loading)
{
	sl_pystack_rescan(is_loading);
	write_note();
}

/* ---- taking ---- */

struct fresh {
	unsigned modules, codes;
};

#define LOOK_FIRST 4u /* beside the kinds: whether Python's frames are there */

/* The frames of the calling thread at @to. */
static unsigned take(uint64_t *to, uint32_t kinds, unsigned depth, struct fresh *fresh)
{
	unsigned cnt = 0;

	if (!sl_unwind_has_room()) {
		*to = SL_FRAME_REMARK | SL_REMARK_MEMORY;
		return 1;
	}
	if (kinds & SL_STACK_OSRT_NATIVE)
		cnt = sl_unwind(to, depth + 1, depth, &fresh->modules);
	if (kinds & LOOK_FIRST && kinds & SL_STACK_OSRT_PYTHON && !sl_pystack_is_there())
		to[cnt++] = SL_FRAME_REMARK | SL_REMARK_PYTHON_BROKEN;
	else if (kinds & SL_STACK_OSRT_PYTHON && sl_pystack_has())
		cnt += sl_pystack(to + cnt, depth + 1, depth, &fresh->codes);
	write_note();
	return cnt;
}

/* The number under which it is told now; 0: there was no room. */
static uint32_t tell_stack(const struct sl_call *call, const uint64_t *frames, unsigned cnt,
			   uint64_t hash)
{
	uint64_t *w = sl_room_or_none(HEAD_WORDS + cnt);
	uint32_t id;

	if (!w)
		return 0;
	w = put_head(w, SL_META_STACK, call->start, HEAD_WORDS + cnt);
	memcpy(w + 1, frames, cnt * sizeof(*frames));
	/* Threads often come to a place together: the last look is as late as can be. */
	id = known(hash);
	if (id)
		return id;
	id = __atomic_add_fetch(&sl_global.arena->stack_serial, 1, __ATOMIC_RELAXED);
	w[0] = id + cnt * (UINT64_C(1) << 32);
	sl_commit(w + 1 + cnt);
	return remember(hash, id);
}

/* Tells it, if it has no number @id yet, and what is new of code in it. Its number; 0: there was no room. */
static uint32_t tell(const struct sl_call *call, const uint64_t *frames, unsigned cnt,
		     const struct fresh *fresh, uint64_t hash, uint32_t id)
{
	if (!sl_begin_write())
		return id;
	if (!id)
		id = tell_stack(call, frames, cnt, hash);
	if (fresh->modules || __atomic_load_n(&modules_due, __ATOMIC_RELAXED))
		tell_modules(call->start);
	if (fresh->codes || sl_tls.codes_due)
		tell_codes(call->start);
	sl_end_write();
	return id;
}

/*
 * Where a thread's frames are put together: behind its totals, which do not fill their chunk. Not in the ring, for a
 * signal may come meanwhile, and what its handler does is to be recorded.
 */
#define SCRATCH_AT (SL_HOOK_MAX - SL_FRAME_MAX * 8 / sizeof(struct sl_agg))
_Static_assert(SL_HOOK_CNT <= SCRATCH_AT, "there is room behind the totals");

static uint32_t number_of_stack(const struct sl_call *call, uint32_t kinds, const char *here)
{
	unsigned most = SL_FRAME_MAX / 2 - 1, depth = sl_global.session->stack_depth, cnt;
	uint64_t *frames = (uint64_t *)(sl_tls.agg + SCRATCH_AT), hash;
	struct fresh fresh = {0};
	uint32_t id;

	cnt = take(frames, kinds, depth < most ? depth : most, &fresh);
	hash = hash_of(frames, cnt);
	id = cnt ? known(hash) : 0;
	sl_barrier();
	/* Another one was taken meanwhile, which found this one left behind: see below. */
	if (!cnt || sl_tls.taking != here)
		return 0;
	if (id && !fresh.modules && !fresh.codes)
		return id;
	return tell(call, frames, cnt, &fresh, hash, id);
}

uint32_t sl_stack_take(const struct sl_call *call, enum sl_stack_of of)
{
	/* The bits of both are in the same order. */
	uint32_t kinds = sl_global.session->stack_kinds >> (of == SL_STACK_OF_GPU ? 2 : 0) & 3, id;
	const char *here = __builtin_frame_address(0);

	/*
	 * Not in a handler that interrupted the taking of another one. That may have been left by longjmp() and never
	 * end: then it was begun further down the stack than we are.
	 */
	if (kinds && of == SL_STACK_OF_UNMAP)
		kinds |= LOOK_FIRST;
	if (!kinds || !sl_tls.agg || sl_tls.busy || (sl_tls.taking && here < sl_tls.taking) ||
	    !has_table())
		return 0;
	sl_tls.taking = here;
	sl_barrier();
	id = number_of_stack(call, kinds, here);
	sl_barrier();
	sl_tls.taking = NULL;
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
	/* Not published yet: whoever reads it is to find the call behind it. */
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
