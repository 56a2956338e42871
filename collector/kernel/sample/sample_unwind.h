/*
 * sample_unwind.h - the user's part of a sampled stack, from the registers and the piece of memory that came with the
 * sample. By the tables of the files that it goes through; by frame pointers where there is none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/sample/sample_spaces.h"

#if defined(__x86_64__)
#define SAMPLE_REGS    UINT64_C(0xff0fff) /* registers that perf has on 64 bits */
#define SAMPLE_REG_CNT 20u
#define SAMPLE_REG_SP  7u
#define SAMPLE_REG_PC  8u
#elif defined(__aarch64__)
#define SAMPLE_REGS    UINT64_C(0x1ffffffff)
#define SAMPLE_REG_CNT 33u
#define SAMPLE_REG_SP  31u
#define SAMPLE_REG_PC  32u
#endif

struct sample_user {
	const uint64_t *regs; /* SAMPLE_REG_CNT, in perf's order */
	const uint8_t *stack; /* from the stack pointer on; need not be aligned */
	uint64_t stack_bytes;
	bool has_pointers_only; /* of @regs only those of the stack and of the instruction are known */
};

/* Why a stack ends where it does: an enum sl_remark, SL_REMARK_NONE: at the outermost frame. */
struct sample_walk {
	unsigned cnt; /* words written, the remark among them */
	unsigned end;
};

/* At most @depth frames, then perhaps a remark; @frames has room for that. */
struct sample_walk sample_unwind(struct sample_spaces *ss, struct sample_files *files,
				 struct sample_space *s, const struct sample_user *user,
				 uint64_t ns, uint64_t *frames, unsigned depth);
