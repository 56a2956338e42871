/*
 * readable.h - whether memory can be read, by a system call: for pointers of the program that the kernel may refuse. Not for
 * hot paths, and not under a seccomp filter that kills for the system call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Whether the aligned word at @address is readable. */
bool sl_readable(uint64_t address);

/* The last page found to be readable, so that memory is asked for once per page. Zero-initialized. */
struct sl_readable {
	uint64_t page;
};
bool sl_readable_bytes(struct sl_readable *r, const void *at, size_t bytes);
/* The length of @s; SIZE_MAX if it cannot be read, or has no end within @most bytes. */
size_t sl_readable_len(struct sl_readable *r, const char *s, size_t most);

#pragma GCC visibility pop
