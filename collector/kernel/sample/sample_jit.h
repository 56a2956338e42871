/*
 * sample_jit.h - callers of code made by CPython's JIT: it has no unwinding tables and, as of 3.14,
 * no frame pointers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/kernel/sample/sample_spaces.h"

struct sample_jit {
	struct sample_spaces *spaces;
	struct sample_space *space;
	uint64_t ns;
	sl_cfi_read *read; /* of the stack */
	void *ctx;
};

/*
 * From run-time code with these registers to the interpreter that called it. False, and they are unchanged: not from there.
 * Only where the files have been searched for a Python (sample_python_find.h).
 */
bool sample_jit_caller(const struct sample_jit *j, struct sl_regs *regs);
