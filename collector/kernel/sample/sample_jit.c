/*
 * sample_jit.c - steps out of code that was made at run time.
 *
 * Words on the stack, from its pointer on: the made code's own data, with the frame pointer among
 * it if that register has another use; a return address in made code that has saved the
 * interpreter's registers; those registers; a return address in the interpreter.
 */
#include "collector/kernel/sample/sample_jit.h"

#include "collector/symbols/elf_image.h"
#include "collector/kernel/sample/sample_python_find.h"

#define WORD        8u
#define OWN_BYTES   512u  /* of made code's frames, together */
#define FRAME_BYTES 4096u /* of the interpreter's */

static const struct sample_range *code_at(const struct sample_jit *j, uint64_t address)
{
	return sample_space_find(j->spaces, j->space, address - 1, j->ns);
}

/* A function's address would qualify as well, but for this. */
static bool follows_call(const struct sample_range *r, uint64_t address)
{
	static const uint8_t lengths[] = {2, 3, 4, 6,
					  7}; /* of those through a register or memory */
	uint64_t at = address - r->from + r->offset;
	struct elf_image e;

	if (!sample_file_image(r->file, &e) || at < WORD || at > e.size)
		return false;
	if (e.at[at - 5] == 0xe8)
		return true;
	for (unsigned i = 0; i < sizeof(lengths); i++) {
		const uint8_t *call = e.at + at - lengths[i];

		if (call[0] == 0xff && (call[1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}

/* May it point at the frame of the interpreter's that lies behind @above? */
static bool is_frame(const struct sample_jit *j, uint64_t pointer, uint64_t above)
{
	const struct sample_range *r;
	uint64_t back;

	if (pointer < above || pointer - above >= FRAME_BYTES || pointer % WORD ||
	    !j->read(j->ctx, pointer + WORD, &back))
		return false;
	r = code_at(j, back);
	return r && r->file && follows_call(r, back);
}

/* The one that made code has put away between @from and @to. 0: none. */
static uint64_t saved_frame(const struct sample_jit *j, uint64_t from, uint64_t to, uint64_t above)
{
	uint64_t word;

	while (to > from) {
		to -= WORD;
		if (j->read(j->ctx, to, &word) && is_frame(j, word, above))
			return word;
	}
	return 0;
}

bool sample_jit_caller(const struct sample_jit *j, struct sl_regs *regs)
{
	uint64_t sp = regs->value[SL_REG_SP], own = sp, word, frame;

	for (uint64_t at = sp; at - sp < OWN_BYTES && j->read(j->ctx, at, &word); at += WORD) {
		const struct sample_range *r = code_at(j, word);
		const struct pyfind_file *python;

		if (!r)
			continue;
		if (!r->file) {
			own = at;
			continue;
		}
		python = *sample_file_note(r->file);
		if (!python || !python->has_python)
			return false;
		if (!follows_call(r, word))
			continue;
		frame = regs->value[SL_REG_FP];
		if (!(regs->known >> SL_REG_FP & 1) || !is_frame(j, frame, at + WORD))
			frame = saved_frame(j, sp, own > sp ? own : at, at + WORD);
		regs->pc = word;
		regs->value[SL_REG_SP] = at + WORD;
		regs->value[SL_REG_FP] = frame;
		regs->known = 1u << SL_REG_SP | (frame ? 1u << SL_REG_FP : 0);
		return true;
	}
	return false;
}
