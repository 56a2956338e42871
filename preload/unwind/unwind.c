/*
 * unwind.c - walks the native stack of the calling thread, with a cache of rows.
 *
 * A usual frame needs program counter, stack and frame pointer, and its row, one word from a table of the process. Other
 * frames (signal frames, other registers) are interpreted by the full rules; if these need a register that was not
 * followed, the walk starts again with all registers.
 */
#include "preload/unwind/unwind_internal.h"

#include "preload/base/table.h"

/* ---- rows ---- */

/*
 * A row in a word: kind, whether the code is this library's, and offsets in words from the CFA:
 * bits 0-2 kind, 3 own, 4 exact, 5 call, 8-19 return address, 20-31 frame pointer, 32-63 CFA in bytes.
 */
#define ROW_OWN   8u
#define ROW_EXACT 16u /* the address is the start of a function, and no call ends before it */
#define ROW_CALL  32u /* of SL_ROW_NONE: a call ends before it */
enum {
	ROW_SIGRETURN = 6, /* the kernel's signal frame is on top of the stack, without a table */
	ROW_NO_CODE = 7,
};
_Static_assert((int)SL_ROW_FP_AT < (int)ROW_SIGRETURN, "kinds of rows");

static inline unsigned row_kind(uint64_t row)
{
	return row & 7;
}
static inline uint64_t row_ra(uint64_t row)
{
	return (uint64_t)(int64_t)((int32_t)((uint32_t)row << 12) >> 20) * 8;
}
static inline uint64_t row_fp(uint64_t row)
{
	return (uint64_t)(int64_t)((int32_t)row >> 20) * 8;
}
static inline uint64_t row_cfa(uint64_t row)
{
	return (uint64_t)((int64_t)row >> 32);
}

static uint64_t pack(const struct sl_row *r)
{
	int ra = r->ra / 8, fp = r->fp / 8;

	if (r->kind == SL_ROW_NONE || r->kind == SL_ROW_END || r->kind == SL_ROW_FULL)
		return r->kind;
	if (r->ra % 8 || r->fp % 8 || ra < -2048 || ra > 2047 || fp < -2048 || fp > 2047)
		return SL_ROW_FULL;
	return r->kind | (uint64_t)(ra & 0xfff) << 8 | (uint64_t)(fp & 0xfff) << 20 |
	       (uint64_t)(uint32_t)r->cfa << 32;
}

/*
 * Entries are written and read without a lock: @check is the key combined with the row, so a torn entry matches no key.
 */
#define ROW_BITS 13
#define MIX      UINT64_C(0x9e3779b97f4a7c15)
struct row_entry {
	uint64_t check, row;
};
static uint32_t generation;

static struct row_entry *get_rows(void)
{
	return sl_table(SL_TABLE_ROWS, sizeof(struct row_entry) << ROW_BITS);
}

SL_HOT bool row_at(const struct row_entry *rows, uint64_t key, uint64_t index, uint64_t *row)
{
	uint64_t check = __atomic_load_n(&rows[index].check, __ATOMIC_RELAXED);

	*row = __atomic_load_n(&rows[index].row, __ATOMIC_RELAXED);
	return (check ^ *row * MIX) == key;
}

static void keep(struct row_entry *rows, uint64_t key, uint64_t row)
{
	uint64_t index = key * MIX >> (64 - ROW_BITS);

	/* The second place if the first is taken; if both are, the key decides. */
	if (__atomic_load_n(&rows[index].check, __ATOMIC_RELAXED) &&
	    (!__atomic_load_n(&rows[index ^ 1].check, __ATOMIC_RELAXED) || key & 1))
		index ^= 1;
	__atomic_store_n(&rows[index].row, row, __ATOMIC_RELAXED);
	__atomic_store_n(&rows[index].check, key ^ row * MIX, __ATOMIC_RELAXED);
}

void sl_unwind_invalidate(void)
{
	/* Release: a reader of the new generation sees the changes before it. */
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
}

uint32_t sl_unwind_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

void sl_unwind_forget(void)
{
	unwind_modules_forget();
	sl_unwind_invalidate();
}

bool sl_unwind_prepare(void)
{
	return get_rows() && unwind_modules_prepare();
}

void sl_unwind_start(void)
{
	unwind_memory_start();
	unwind_object_start();
}

/* ---- code ---- */

/* Whether @pc is the signal return trampoline. */
static bool is_sigreturn(uint64_t pc)
{
#if defined(__x86_64__)
	/* mov $15, %rax; syscall */
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#else
	/* mov x8, #139; svc #0 */
	static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
	return unwind_readable(pc) && unwind_readable(pc + sizeof(code) - 8) &&
	       __builtin_memcmp((const void *)pc, code, sizeof(code)) == 0;
}

/* Whether a call instruction ends right before @pc. For code outside of objects. */
static bool is_behind_call(uint64_t pc)
{
	const uint8_t *p = (const uint8_t *)pc;

	if (pc < 4096 || pc >> 56 || !unwind_readable(pc - 8) ||
	    !unwind_readable(pc & ~UINT64_C(7)))
		return false;
#if defined(__x86_64__)
	if (p[-5] == 0xe8)
		return true;
	/* FF /2 with operands of several lengths. */
	for (int len = 2; len <= 7; len++)
		if (p[-len] == 0xff && (p[1 - len] & 0x38) == 0x10)
			return true;
	return false;
#else
	uint32_t word;

	__builtin_memcpy(&word, p - 4, 4);
	return word >> 26 == 0x25 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800; /* bl, blr, blraa */
#endif
}

/*
 * A return address whose predecessor has no table may be artificial: set by the kernel for a signal handler, or by
 * makecontext() and the like for the first function of a stack.
 */
static uint64_t row_of_made_address(const struct unwind_object *o, uint64_t pc)
{
	struct sl_row r;

	if (is_sigreturn(pc))
		return ROW_SIGRETURN;
	if (sl_cfi_row(&o->cfi, pc, &r) && !is_behind_call(pc))
		return SL_ROW_END | ROW_EXACT;
	return SL_ROW_NONE | (is_behind_call(pc) ? ROW_CALL : 0);
}

/* ---- the walk ---- */

struct walk {
	uint64_t pc, sp, fp;
	struct row_entry *rows;
	uint64_t *frames;
	unsigned cnt, depth, fresh;
	bool is_exact; /* pc is the instruction itself */
	bool is_by_fp; /* pc was found by the frame pointer */
	bool has_regs; /* regs are those of this frame */
	bool is_full;  /* follows all registers */
	uint32_t generation;
	struct unwind_memory memory;
	struct sl_regs regs;
};
enum {
	AGAIN = 0x100,                /* in addition to enum sl_remark: repeat with all registers */
	STEPS_MAX = 2 * SL_FRAME_MAX, /* frames of this library come on top */
};

/* The row of an address that is not cached. */
static SL_COLD uint64_t find_row(struct walk *w, uint64_t pc, bool is_exact, uint64_t key)
{
	struct unwind_object o;
	struct sl_row r;
	uint64_t look = pc - !is_exact, row;

	if (!unwind_object(look, &o)) {
		row = ROW_NO_CODE;
		if (is_exact ? unwind_readable(pc) : is_behind_call(pc))
			row = SL_ROW_NONE | ROW_CALL;
		else if (!is_exact && is_sigreturn(pc))
			row = ROW_SIGRETURN;
		if (sl_global.seccomp)
			return row;
	} else if (!o.is_code) {
		row = ROW_NO_CODE;
	} else {
		sl_cfi_row(&o.cfi, look, &r);
		row = pack(&r);
		if (row == SL_ROW_NONE && !is_exact)
			row = row_of_made_address(&o, pc);
		if (o.is_own)
			row |= ROW_OWN;
		else
			w->fresh += unwind_module_add(&o);
	}
	keep(w->rows, key, row);
	return row;
}

SL_HOT uint64_t get_row(struct walk *w, uint64_t pc, bool is_exact)
{
	uint64_t key = (pc - !is_exact) ^ w->generation * MIX, index = key * MIX >> (64 - ROW_BITS),
		 row;

	if (sl_likely(row_at(w->rows, key, index, &row)) || row_at(w->rows, key, index ^ 1, &row))
		return row;
	return find_row(w, pc, is_exact, key);
}

static enum sl_remark unreadable(const struct walk *w)
{
	return w->memory.refused ? SL_REMARK_MEMORY : SL_REMARK_BROKEN;
}

static bool read_for_cfi(void *ctx, uint64_t address, uint64_t *value)
{
	return unwind_read(ctx, address, value);
}

/* The registers of the interrupted code, from the kernel's signal frame at the stack pointer. */
static bool read_interrupted(struct walk *w)
{
	struct sl_regs *r = &w->regs;
#if defined(__x86_64__)
	/* struct ucontext's general registers, as the kernel orders them, by their DWARF numbers. */
	static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
	uint64_t at = w->sp + 40;
	const unsigned cnt = 16;
#else
	/* siginfo, struct ucontext up to the registers */
	uint64_t at = w->sp + 128 + 176 + 8;
	const unsigned cnt = 32;
#endif

	r->known = 0;
	for (unsigned i = 0; i < cnt; i++, at += 8) {
#if defined(__x86_64__)
		unsigned reg = order[i];
#else
		unsigned reg = i;
#endif
		if (!unwind_read(&w->memory, at, &r->value[reg]))
			return false;
		r->known |= 1u << reg;
	}
	return unwind_read(&w->memory, at, &r->pc);
}

/* One frame outwards by the full rules. */
static SL_COLD unsigned step_full(struct walk *w, unsigned kind)
{
	struct unwind_object o;
	bool is_signal = kind == ROW_SIGRETURN;
	uint64_t sp = w->sp, look = w->pc - !w->is_exact;

	if (!w->has_regs) {
		w->regs.value[SL_REG_SP] = w->sp;
		w->regs.value[SL_REG_FP] = w->fp;
		w->regs.known = 1u << SL_REG_SP | 1u << SL_REG_FP;
	}
	if (is_signal) {
		if (!read_interrupted(w))
			return unreadable(w);
	} else if (!unwind_object(look, &o)) {
		return SL_REMARK_BROKEN;
	} else if (!sl_cfi_step(&o.cfi, look, &w->regs, read_for_cfi, &w->memory, &is_signal)) {
		return w->is_full || w->memory.refused ? unreadable(w) : AGAIN;
	}
	w->pc = w->regs.pc;
	if (!w->pc)
		return SL_REMARK_NONE;
	w->sp = w->regs.value[SL_REG_SP];
	w->fp = w->regs.known >> SL_REG_FP & 1 ? w->regs.value[SL_REG_FP] : 0;
	w->is_exact = is_signal;
	w->has_regs = is_signal || w->is_full;
	if (is_signal)
		unwind_memory_begin(&w->memory, w->sp);
	else if (w->sp <= sp && !(w->sp == sp && SL_REG_RA == 30 && w->has_regs))
		return SL_REMARK_BROKEN;
	return SL_REMARK_NONE;
}

/* Stricter than with a table: the register may have any value, and the stack has stale addresses. */
static bool is_return_address(struct walk *w, uint64_t pc)
{
	uint64_t row = get_row(w, pc, false);

	if (row_kind(row) == ROW_NO_CODE)
		return false;
	return row & ROW_CALL || sl_global.seccomp ||
	       (row_kind(row) != SL_ROW_NONE && is_behind_call(pc));
}

/* Without a table: by the frame pointer, if it may point to a frame. */
static SL_COLD unsigned step_by_fp(struct walk *w)
{
	uint64_t fp = w->fp, saved, pc;

	if (!fp || fp < w->sp || fp & 7 || fp - w->sp > UINT64_C(1) << 26 ||
	    !unwind_read(&w->memory, fp, &saved) || !unwind_read(&w->memory, fp + 8, &pc))
		return SL_REMARK_NO_TABLE;
#if defined(__aarch64__)
	pc &= (UINT64_C(1) << 48) - 1;
#endif
	if (pc ? !is_return_address(w, pc) : saved != 0)
		return SL_REMARK_NO_TABLE;
	w->pc = pc;
	w->sp = fp + 16;
	w->fp = saved;
	w->is_exact = w->has_regs = false;
	w->is_by_fp = true;
	return SL_REMARK_NONE;
}

/* One frame outwards by a cached row. pc 0: it was the last. */
SL_HOT unsigned step(struct walk *w, uint64_t row)
{
	uint64_t cfa, pc;

	switch (row_kind(row)) {
	case SL_ROW_SP:
		cfa = w->sp + row_cfa(row);
		break;
	case SL_ROW_FP:
		cfa = w->fp + row_cfa(row);
		break;
	default: /* SL_ROW_FP_AT */
		if (!unwind_read(&w->memory, w->fp + row_cfa(row), &cfa))
			return unreadable(w);
	}
#if defined(__aarch64__)
	if (!row_ra(row)) {
		/* Still in the link register, which is known for interrupted code only. */
		if (!w->has_regs || cfa < w->sp)
			return SL_REMARK_BROKEN;
		pc = w->regs.value[SL_REG_RA];
		if (row_fp(row) && !unwind_read(&w->memory, cfa + row_fp(row), &w->fp))
			return unreadable(w);
	} else
#endif
	{
		if (sl_unlikely(cfa <= w->sp))
			return SL_REMARK_BROKEN;
		if (!unwind_read(&w->memory, cfa + row_ra(row), &pc))
			return unreadable(w);
		if (sl_unlikely(row_kind(row) == SL_ROW_FP_AT)) {
			if (!unwind_read(&w->memory, w->fp + row_fp(row), &w->fp))
				return unreadable(w);
		} else if (row_fp(row) && !unwind_read(&w->memory, cfa + row_fp(row), &w->fp)) {
			return unreadable(w);
		}
	}
#if defined(__aarch64__)
	pc &= (UINT64_C(1) << 48) - 1; /* without its signature */
#endif
	w->pc = pc;
	w->sp = cfa;
	w->is_exact = w->has_regs = false;
	return SL_REMARK_NONE;
}

/* Returns the remark at the end of the stack, SL_REMARK_NONE if it is complete, or AGAIN. */
static unsigned walk(struct walk *w)
{
	for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
		uint64_t row = get_row(w, w->pc, w->is_exact);
		unsigned kind = row_kind(row), remark;

		if (sl_unlikely(kind == ROW_NO_CODE))
			return SL_REMARK_BROKEN;
		if (!(row & ROW_OWN)) {
			if (w->cnt == w->depth)
				return SL_REMARK_DEPTH;
			w->frames[w->cnt++] =
				(w->pc & ~SL_FRAME_MARKS) |
				(w->is_exact || row & ROW_EXACT ? SL_FRAME_EXACT : 0) |
				(w->is_by_fp ? SL_FRAME_BY_FP : 0);
		}
		w->is_by_fp = false;
		if (sl_likely((kind == SL_ROW_SP || kind == SL_ROW_FP || kind == SL_ROW_FP_AT) &&
			      !w->is_full))
			remark = step(w, row);
		else if (kind == SL_ROW_END)
			return SL_REMARK_NONE;
		else if (kind == SL_ROW_NONE)
			remark = step_by_fp(w);
		else
			remark = step_full(w, kind);
		if (sl_unlikely(remark))
			return remark;
		if (sl_unlikely(!w->pc))
			return SL_REMARK_NONE;
	}
	return SL_REMARK_BROKEN;
}

/* The current program counter, and the callee-saved registers. */
#if defined(__x86_64__)
static const uint8_t kept_number[] = {3, 12, 13, 14, 15};
#define KEPT_CNT (sizeof(kept_number) / sizeof(kept_number[0]))

SL_HOT void capture(uint64_t *pc, uint64_t *sp, uint64_t *fp, uint64_t *kept)
{
	/* Outputs must not be callee-saved registers. */
	__asm__ volatile("lea 0(%%rip), %0\n\t"
			 "mov %%rsp, %1\n\t"
			 "mov %%rbp, %2\n\t"
			 "mov %%rbx, 0(%4)\n\t"
			 "mov %%r12, 8(%4)\n\t"
			 "mov %%r13, 16(%4)\n\t"
			 "mov %%r14, 24(%4)\n\t"
			 "mov %%r15, 32(%4)"
			 : "=&a"(*pc), "=&c"(*sp), "=&d"(*fp), "=m"(*(uint64_t(*)[KEPT_CNT])kept)
			 : "S"(kept)
			 : "memory");
}
#else
static const uint8_t kept_number[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
#define KEPT_CNT (sizeof(kept_number) / sizeof(kept_number[0]))

SL_HOT void capture(uint64_t *pc, uint64_t *sp, uint64_t *fp, uint64_t *kept)
{
	register uint64_t x9 __asm__("x9");
	register uint64_t x10 __asm__("x10");
	register uint64_t x11 __asm__("x11");
	register uint64_t *x12 __asm__("x12") = kept;

	__asm__ volatile("adr %0, .\n\t"
			 "mov %1, sp\n\t"
			 "mov %2, x29\n\t"
			 "stp x19, x20, [%4]\n\t"
			 "stp x21, x22, [%4, #16]\n\t"
			 "stp x23, x24, [%4, #32]\n\t"
			 "stp x25, x26, [%4, #48]\n\t"
			 "stp x27, x28, [%4, #64]"
			 : "=&r"(x9), "=&r"(x10), "=&r"(x11), "=m"(*(uint64_t(*)[KEPT_CNT])kept)
			 : "r"(x12)
			 : "memory");
	*pc = x9;
	*sp = x10;
	*fp = x11;
}
#endif

/* Repeats the walk with all registers. */
static SL_COLD unsigned walk_again(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp,
				   const uint64_t *kept)
{
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->cnt = 0;
	w->is_exact = w->is_full = w->has_regs = true;
	w->is_by_fp = false;
	w->regs.known = 1u << SL_REG_SP | 1u << SL_REG_FP;
	w->regs.value[SL_REG_SP] = sp;
	w->regs.value[SL_REG_FP] = fp;
	for (unsigned i = 0; i < KEPT_CNT; i++) {
		w->regs.known |= 1u << kept_number[i];
		w->regs.value[kept_number[i]] = kept[i];
	}
	unwind_memory_begin(&w->memory, sp);
	return walk(w);
}

__attribute__((noinline)) unsigned sl_unwind(uint64_t *frames, unsigned room, unsigned depth,
					     unsigned *fresh)
{
	uint64_t pc, sp, fp, kept[KEPT_CNT];
	struct walk w;
	unsigned remark;

	if (!room || !sl_unwind_prepare())
		return 0;
	w.rows = get_rows();
	capture(&pc, &sp, &fp, kept);
	w.pc = pc;
	w.sp = sp;
	w.fp = fp;
	w.frames = frames;
	w.cnt = w.fresh = 0;
	w.depth = depth < room ? depth : room - 1;
	w.is_exact = true;
	w.is_by_fp = w.has_regs = w.is_full = false;
	w.generation = sl_unwind_generation();
	w.memory.refused = false;
	unwind_memory_begin(&w.memory, sp);
	remark = walk(&w);
	if (remark == AGAIN)
		remark = walk_again(&w, pc, sp, fp, kept);
	if (remark)
		frames[w.cnt++] = SL_FRAME_REMARK | remark;
	*fresh += w.fresh;
	return w.cnt;
}
