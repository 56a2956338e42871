/* kernel_asker.h - names of the kernel's functions, address by address, as /proc/kallsyms has them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_TEXT_BYTES 1024 /* longer than the longest symbol (512) with its module (56) */

struct kernel_asker;
struct kernel_asker *kernel_asker_open(
	void); /* NULL: the kernel cannot, or may not; or no memory */
void kernel_asker_close(struct kernel_asker *a);

/* The kernel's text for @address into @text, of KERNEL_TEXT_BYTES. False: the kernel refuses. */
bool kernel_asker_ask(const struct kernel_asker *a, uint64_t address, char *text);

enum kernel_answer {
	KERNEL_NAMED,
	KERNEL_UNKNOWN,  /* no symbol */
	KERNEL_DOUBTFUL, /* the text does not show whether the code is the kernel's or that of BPF */
};

/* Takes @text apart in place: "name" or "name [module]". *@module: NULL for the kernel's own, "[bpf]" for code of BPF programs. */
enum kernel_answer kernel_answer_parse(char *text, const char **function, const char **module);
