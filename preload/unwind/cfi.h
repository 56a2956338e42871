/*
 * cfi.h - from an address in code to how its caller is found: rows of DWARF call frame information (.eh_frame).
 *
 * Pure: reads the table where it is told it lies and nothing else, allocates nothing, keeps nothing; the shim uses it on
 * its own process, the collector on files (stacks of samples). Both keep the rows they got: a row is 16 bytes.
 *
 * What nearly all code needs fits into a row (sl_row.kind CFA_SP, CFA_FP). The rest is SL_ROW_FULL: such a frame must be
 * interpreted again with all registers, by sl_cfi_step().
 */
#ifndef SL_CFI_H
#define SL_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* An object's table. Addresses are those of the process that has the object loaded. */
struct sl_cfi {
	uint64_t header;    /* .eh_frame_hdr (PT_GNU_EH_FRAME) */
	uint64_t low, high; /* of the mapped segment it is in; nothing outside is read */
	intptr_t at;        /* added to an address: where we can read it. 0 in the process itself */
};

enum sl_row_kind {
	SL_ROW_NONE = 0, /* this address is in no table */
	SL_ROW_SP,       /* CFA = stack pointer + cfa */
	SL_ROW_FP,       /* CFA = frame pointer + cfa */
	SL_ROW_END,      /* the outermost frame: there is no caller */
	SL_ROW_FULL,     /* anything else: expressions, signal frames, other registers */
	/* CFA = *(frame pointer + cfa), and the caller's frame pointer is at frame pointer + fp: functions that align
	 * their stack, main() among them. x86-64. */
	SL_ROW_FP_AT,
};

/*
 * With the CFA the caller's stack pointer (its value after the return) is the CFA, its program counter is at CFA + ra, its
 * frame pointer at CFA + fp where fp is not 0, else as it was. aarch64: ra 0 means it is still in the link register.
 */
struct sl_row {
	uint8_t kind;      /* enum sl_row_kind */
	uint8_t is_signal; /* a signal handler's return: the caller was interrupted, not calling */
	int16_t ra, fp;    /* bytes from the CFA */
	int16_t reserved;
	int32_t cfa;
	uint32_t
		size; /* bytes of code from the address on that the row holds for, for those who keep rows by range */
};
_Static_assert(sizeof(struct sl_row) == 16, "sl_row");

/* The row for the instruction at @pc. False (and SL_ROW_NONE): there is none, or the table makes no sense. */
bool sl_cfi_row(const struct sl_cfi *table, uint64_t pc, struct sl_row *row);

/* Registers by DWARF number. */
#define SL_REG_CNT 32u
enum {
#if defined(__aarch64__)
	SL_REG_FP = 29,
	SL_REG_RA = 30,
	SL_REG_SP = 31,
#else
	SL_REG_FP = 6,
	SL_REG_SP = 7,
	SL_REG_RA = 16,
#endif
};
struct sl_regs {
	uint64_t pc, value[SL_REG_CNT];
	uint32_t known; /* bit per register */
};

/* Reads a word of the stack's memory. False: it cannot be read. */
typedef bool sl_cfi_read(void *ctx, uint64_t address, uint64_t *value);

/*
 * The caller's registers in place of @regs, by the full rules for the instruction at @pc. False: they cannot be found.
 * *is_signal as in a row. regs->pc is 0 where there is no caller.
 */
bool sl_cfi_step(const struct sl_cfi *table, uint64_t pc, struct sl_regs *regs, sl_cfi_read *read,
		 void *ctx, bool *is_signal);

#pragma GCC visibility pop
#endif
