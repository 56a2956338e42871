/*
 * cfi.h - unwind rules by code address: rows of DWARF call frame information (.eh_frame).
 *
 * Pure: reads only the given table, allocates nothing, keeps no state; the shim uses it on its own process, the collector
 * on files (stacks of samples). Both cache rows: a row is 16 bytes.
 *
 * The rules of nearly all code fit into a row (sl_row.kind SL_ROW_SP, SL_ROW_FP). Others are SL_ROW_FULL: such a frame must
 * be interpreted with all registers, by sl_cfi_step().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* An object's table. Addresses are those of the process that has the object loaded. */
struct sl_cfi {
	uint64_t header;    /* .eh_frame_hdr (PT_GNU_EH_FRAME) */
	uint64_t low, high; /* its mapped segment; nothing outside is read */
	intptr_t at;        /* added to an address to read it. 0 in the process itself */
};

enum sl_row_kind {
	SL_ROW_NONE = 0, /* no table covers the address */
	SL_ROW_SP,       /* CFA = stack pointer + cfa */
	SL_ROW_FP,       /* CFA = frame pointer + cfa */
	SL_ROW_END,      /* the outermost frame: there is no caller */
	SL_ROW_FULL,     /* anything else: expressions, signal frames, other registers */
	/* CFA = *(frame pointer + cfa), and the caller's frame pointer is at frame pointer + fp: functions that align
	 * their stack, such as main(). x86-64. */
	SL_ROW_FP_AT,
};

/*
 * The caller's stack pointer (after the return) is the CFA, its program counter is at CFA + ra, its frame pointer at CFA +
 * fp if fp is not 0, else unchanged. aarch64: ra 0 means that it is still in the link register.
 */
struct sl_row {
	uint8_t kind;      /* enum sl_row_kind */
	uint8_t is_signal; /* a signal frame: the caller was interrupted, it made no call */
	int16_t ra, fp;    /* bytes from the CFA */
	int16_t reserved;
	int32_t cfa;
	uint32_t size; /* bytes of code from the address on that the row is valid for */
};
_Static_assert(sizeof(struct sl_row) == 16, "sl_row");

/* The row for the instruction at @pc. False (and SL_ROW_NONE): none, or the table is invalid. */
bool sl_cfi_row(const struct sl_cfi *table, uint64_t pc, struct sl_row *row);

/* The addresses that the entry for the instruction at @pc covers. False: none, or the table is invalid. */
bool sl_cfi_range(const struct sl_cfi *table, uint64_t pc, uint64_t *begin, uint64_t *end);

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
 * Replaces @regs by the caller's registers, by the full rules for the instruction at @pc. False: they cannot be determined.
 * *is_signal as in a row. regs->pc is 0 if there is no caller.
 */
bool sl_cfi_step(const struct sl_cfi *table, uint64_t pc, struct sl_regs *regs, sl_cfi_read *read,
		 void *ctx, bool *is_signal);

#pragma GCC visibility pop
