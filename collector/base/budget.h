/*
 * budget.h - bounds the collector's memory: its total, and the part that programs' records cause
 * (texts, paths, files and stacks of all arenas).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_KEPT (UINT64_C(144) << 20) /* taken by budget_take() */
/* The process's memory beyond its rings. AddressSanitizer adds shadow memory and its quarantine of freed blocks. */
#if defined(__SANITIZE_ADDRESS__)
#define BUDGET_MEMORY (UINT64_C(8) << 30)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUDGET_MEMORY (UINT64_C(8) << 30)
#endif
#endif
#ifndef BUDGET_MEMORY
#define BUDGET_MEMORY (UINT64_C(192) << 20)
#endif

/* False: @bytes more are too many. One thread. */
bool budget_take(size_t bytes);
void budget_give(size_t bytes);
/* The main thread keeps @bytes more (or less) under a bound of another kind: no symbols, see below. */
void budget_note(int64_t bytes);

/*
 * Memory of this process that is its own (no shared memory, so no rings); 0: not known. One read of a file in /proc. Above three quarters
 * of BUDGET_MEMORY, free memory is given back to the kernel first, once a second.
 */
uint64_t budget_memory(void);
/* Bytes of resident pages of mapped files, the program's own included, and of shared memory; 0: not known. Signals may call it from its second call on. */
uint64_t budget_files(void);

/*
 * Begins and ends work of the thread that reads symbols. Growth of memory meanwhile, beyond kept
 * and noted bytes, is usually no program's doing.
 */
void budget_symbols_begin(void);
void budget_symbols_end(void);
/* Returns @memory, an answer of budget_memory(), less the memory of symbols. */
uint64_t budget_without_symbols(uint64_t memory);
