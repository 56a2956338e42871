/*
 * symbols.h - from an address in a file to functions, files and lines: elfutils' libdwfl, with what it finds (symbol
 * tables, debug information beside the file or elsewhere by build id, debuginfod where that is configured).
 */
#ifndef SL_SYMBOLS_H
#define SL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;
struct symbols_module;

struct symbols_frame {
	const char *function; /* demangled; NULL: not known */
	const char *file;     /* NULL: not known */
	int line;             /* 0: not known */
	bool is_inlined;      /* into the next one */
	bool is_interpreter;  /* the loop of CPython's interpreter */
};

struct symbols *symbols_open(void); /* NULL: no memory, or built without libdw */
void symbols_close(struct symbols *s);

/* A file as it was when the program ran: another build id means that it is not the same, and nothing is found in it. */
struct symbols_module *symbols_module(struct symbols *s, const char *path, const uint8_t *build_id,
				      size_t build_id_len);

/*
 * The functions at @address (in the file's terms), the innermost first: at most @room. How many, 0: nothing is known.
 * Texts are valid until symbols_close().
 */
size_t symbols_at(struct symbols *s, struct symbols_module *m, uint64_t address,
		  struct symbols_frame *frame, size_t room);

/* Code that was made while the program ran: /tmp/perf-PID.map and jitdump. NULL: nothing there. */
struct symbols_module *symbols_jit(struct symbols *s, int64_t pid);

/* In the kernel; @module is set to that of the function, "[kernel.kallsyms]" where it is in none. */
bool symbols_kernel(struct symbols *s, uint64_t address, struct symbols_frame *frame,
		    const char **module);

#endif
