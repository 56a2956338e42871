/* sample_unwind.c - unwinds a sample's registers and stack bytes by the tables of its modules. */
#include "collector/kernel/sample/sample_unwind.h"

#include <string.h>

#include "collector/kernel/sample/sample_jit.h"
#include "preload/unwind/cfi.h"
#include "preload/wire/frame.h"

#if defined(__x86_64__)
#define NONE 0xffu
/* DWARF's number of each of perf's: ax, bx, cx, dx, si, di, bp, sp, ip; flags, cs, ss; r8 to r15 */
static const uint8_t dwarf[SAMPLE_REG_CNT] = {0,    3,    2, 1, 4,  5,  6,  7,  SL_REG_RA, NONE,
					      NONE, NONE, 8, 9, 10, 11, 12, 13, 14,        15};
#elif defined(__aarch64__)
#define REG_PC 0xfeu
static const uint8_t dwarf[SAMPLE_REG_CNT] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, REG_PC};
#endif
#define WORD 8u

struct walk {
	const struct sample_user *user;
	struct sample_jit jit;
	uint64_t low; /* address of user->stack */
	struct sl_regs regs;
	bool is_past;    /* something behind the piece that we have was asked for */
	bool is_full;    /* all registers are followed, not only the common ones */
	bool is_lacking; /* a frame needs registers that were not */
};

static void begin(struct walk *w, const struct sample_user *user)
{
	memset(w, 0, sizeof(*w));
	w->user = user;
	for (unsigned i = 0; i < SAMPLE_REG_CNT; i++) {
		if (dwarf[i] < SL_REG_CNT &&
		    (!user->has_pointers_only || i == SAMPLE_REG_SP || i == SAMPLE_REG_PC)) {
			w->regs.value[dwarf[i]] = user->regs[i];
			w->regs.known |= 1u << dwarf[i];
		}
	}
#if defined(__x86_64__)
	w->regs.pc = w->regs.value[SL_REG_RA];
#else
	w->regs.pc = user->regs[32];
#endif
	w->low = w->regs.value[SL_REG_SP];
}

/* A sl_cfi_read. */
static bool read_word(void *ctx, uint64_t address, uint64_t *value)
{
	struct walk *w = ctx;
	uint64_t at = address - w->low;

	if (at > w->user->stack_bytes || w->user->stack_bytes - at < WORD) {
		w->is_past |= address >= w->low;
		return false;
	}
	memcpy(value, w->user->stack + at, WORD);
	return true;
}

static bool has(const struct walk *w, unsigned reg)
{
	return w->regs.known >> reg & 1;
}

/* Pointers of programs that sign them (aarch64) carry the signature above. */
static uint64_t plain(uint64_t pc)
{
#if defined(__aarch64__)
	return pc & ((UINT64_C(1) << 48) - 1);
#else
	return pc;
#endif
}

static enum sl_remark failed(const struct walk *w)
{
	return w->is_past ? SL_REMARK_MEMORY : SL_REMARK_BROKEN;
}

/* By a row; other registers are unknown from here on, but for the frame pointer. */
static enum sl_remark step_row(struct walk *w, const struct sl_row *row)
{
	unsigned base = row->kind == SL_ROW_SP ? SL_REG_SP : SL_REG_FP;
	uint64_t sp = w->regs.value[SL_REG_SP],
		 cfa = w->regs.value[base] + (uint64_t)(int64_t)row->cfa,
		 fp = w->regs.value[SL_REG_FP], fp_at = cfa + (uint64_t)(int64_t)row->fp, pc;

	if (!has(w, base))
		return SL_REMARK_BROKEN;
	if (row->kind == SL_ROW_FP_AT) {
		fp_at = fp + (uint64_t)(int64_t)row->fp;
		if (!read_word(w, cfa, &cfa))
			return failed(w);
	}
	if (cfa < sp || cfa % WORD)
		return SL_REMARK_BROKEN;
	if (!row->ra) {
		/* Still in the link register: of a leaf frame. */
		if (SL_REG_RA == 16u || !has(w, SL_REG_RA))
			return SL_REMARK_BROKEN;
		pc = w->regs.value[SL_REG_RA];
	} else if (!read_word(w, cfa + (uint64_t)(int64_t)row->ra, &pc)) {
		return failed(w);
	}
	/* Below the stack pointer: at its end a function has it back already, which tables do not say. */
	if ((row->fp || row->kind == SL_ROW_FP_AT) && fp_at >= sp && !read_word(w, fp_at, &fp))
		return failed(w);
	/* Behind code without tables, the saved one is that code's. */
	if (w->user->has_pointers_only && row->fp && row->kind != SL_ROW_FP_AT && fp_at >= sp)
		w->regs.known |= 1u << SL_REG_FP;
	w->regs.known = 1u << SL_REG_SP | (w->regs.known & 1u << SL_REG_FP);
	w->regs.value[SL_REG_SP] = cfa;
	w->regs.value[SL_REG_FP] = fp;
	w->regs.pc = plain(pc);
	return SL_REMARK_NONE;
}

/* Code without a table: where the frame pointer leads, if it does. */
static enum sl_remark step_pointer(struct walk *w, bool *is_end)
{
	uint64_t sp = w->regs.value[SL_REG_SP], at = w->regs.value[SL_REG_FP], pc, fp;

	/* The tables mark the outermost frame as having no caller. */
	*is_end = has(w, SL_REG_FP) && !at;
	if (*is_end)
		return SL_REMARK_NONE;
	if (!has(w, SL_REG_FP) || at < sp || at % WORD)
		return SL_REMARK_NO_TABLE;
	if (!read_word(w, at, &fp) || !read_word(w, at + WORD, &pc))
		return w->is_past ? SL_REMARK_MEMORY : SL_REMARK_NO_TABLE;
	w->regs.known = 1u << SL_REG_SP | 1u << SL_REG_FP;
	w->regs.value[SL_REG_SP] = at + 2 * WORD;
	w->regs.value[SL_REG_FP] = fp;
	w->regs.pc = plain(pc);
	return SL_REMARK_NONE;
}

static enum sl_remark step_full(struct walk *w, const struct sample_file *f, uint64_t address,
				bool *is_signal)
{
	uint64_t sp = w->regs.value[SL_REG_SP];
	bool is_first = sp == w->low;

	if (!sample_file_step(f, address, &w->regs, read_word, w, is_signal)) {
		w->is_lacking = !w->is_full;
		return failed(w);
	}
	w->regs.pc = plain(w->regs.pc);
	/* The caller is on another stack: the copy holds this one alone. */
	w->is_past |= *is_signal && w->regs.value[SL_REG_SP] - w->low >= w->user->stack_bytes;
	/* A function interrupted by a signal may have another stack; other callers lie further up. */
	if (*is_signal || w->regs.value[SL_REG_SP] > sp)
		return SL_REMARK_NONE;
	/* vfork() has its return address in a register while the child uses the stack. */
	return is_first && w->regs.value[SL_REG_SP] == sp ? SL_REMARK_NONE : SL_REMARK_BROKEN;
}

/* Steps to the caller. *by_pointer: found by the frame pointer. *is_exact: its address is exact, not a return address. */
static enum sl_remark step(struct walk *w, struct sample_files *files, const struct sample_range *r,
			   bool *by_pointer, bool *is_exact, bool *is_end)
{
	uint64_t address = w->regs.pc - !*is_exact - (r ? r->bias : 0);
	struct sl_row row;

	*is_exact = false;
	*by_pointer = !r || !r->file || !sample_file_row(files, r->file, address, &row);
	if (*by_pointer)
		sample_space_jit(w->jit.space);
	if (r && !r->file && sample_jit_caller(&w->jit, &w->regs))
		return SL_REMARK_NONE;
	if (*by_pointer)
		return step_pointer(w, is_end);
	if (row.kind == SL_ROW_END) {
		*is_end = true;
		return SL_REMARK_NONE;
	}
	*is_exact = row.is_signal;
	if (row.kind == SL_ROW_FULL)
		return step_full(w, r->file, address, is_exact);
	if (w->is_full) {
		struct sl_regs before = w->regs;

		/* Else it is one of sample_libc_start.h. */
		if (step_full(w, r->file, address, is_exact) == SL_REMARK_NONE)
			return SL_REMARK_NONE;
		w->regs = before;
		*is_exact = row.is_signal;
	}
	return step_row(w, &row);
}

static struct sample_walk walk_all(struct walk *w, struct sample_spaces *ss,
				   struct sample_files *files, struct sample_space *s, uint64_t ns,
				   uint64_t *frames, unsigned depth)
{
	struct sample_walk walk = {.end = SL_REMARK_NONE};
	bool by_pointer = false, is_exact = true, is_end = false;

	w->jit = (struct sample_jit){ss, s, ns, read_word, w};
	while (!is_end && w->regs.pc && walk.end == SL_REMARK_NONE) {
		const struct sample_range *r;

		if (walk.cnt == depth) {
			walk.end = SL_REMARK_DEPTH;
			break;
		}
		r = sample_space_find(ss, s, w->regs.pc - !is_exact, ns);
		/* Not a return address: the tables or registers were wrong. */
		if (!r && walk.cnt) {
			walk.end = by_pointer ? SL_REMARK_NO_TABLE : SL_REMARK_BROKEN;
			break;
		}
		frames[walk.cnt++] = (w->regs.pc & ~SL_FRAME_MARKS) |
				     (is_exact ? SL_FRAME_EXACT : 0) |
				     (by_pointer ? SL_FRAME_BY_FP : 0);
		walk.end = step(w, files, r, &by_pointer, &is_exact, &is_end);
	}
	if (walk.end != SL_REMARK_NONE)
		frames[walk.cnt++] = SL_FRAME_REMARK | walk.end;
	return walk;
}

/*
 * Few frames need more than the stack and the frame pointer: that of ld.so which binds a function
 * at its first call is found by rbx, which those inside have saved. Then once more, with all
 * registers. Unwinding with all registers has its own trouble (registers already popped): it is
 * used only where it gets further.
 */
struct sample_walk sample_unwind(struct sample_spaces *ss, struct sample_files *files,
				 struct sample_space *s, const struct sample_user *user,
				 uint64_t ns, uint64_t *frames, unsigned depth)
{
	struct sample_walk walk, first;
	struct walk w;

	begin(&w, user);
	first = walk_all(&w, ss, files, s, ns, frames, depth);
	if (!w.is_lacking)
		return first;
	begin(&w, user);
	w.is_full = true;
	walk = walk_all(&w, ss, files, s, ns, frames, depth);
	if (walk.cnt > first.cnt || walk.end == SL_REMARK_NONE)
		return walk;
	begin(&w, user);
	return walk_all(&w, ss, files, s, ns, frames, depth);
}
