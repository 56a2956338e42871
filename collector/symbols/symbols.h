/*
 * symbols.h - from an address in a file to functions, files and lines: by symbol tables and debug information, in the
 * file, beside it, or elsewhere by build id. Without libdw (elfutils) names come from symbol tables alone.
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

struct symbols *symbols_open(void);    /* NULL: no memory */
void symbols_close(struct symbols *s); /* waits for nothing */

/* A file as it was when the program ran: another build id means that it is not the same, and nothing is found in it. */
struct symbols_module *symbols_module(struct symbols *s, const char *path, const uint8_t *build_id,
				      size_t build_id_len);

/*
 * Has an address looked up soon, by a thread which opens the module's files for that (NULL: only reads the kernel's list of
 * symbols): what takes long is done then when somebody asks. Nobody may ask until symbols_settle(), which waits for the
 * one that is being looked up, and forgets those that wait. Where that takes long (the server of a file system does not
 * answer) a signal that waits to be taken, as by Ctrl-C, ends the wait: then it returns false, and the session is the
 * thread's, which closes it. What is more than can wait is looked up when it is asked.
 */
void symbols_ahead(struct symbols *s, struct symbols_module *m, uint64_t address);
bool symbols_settle(struct symbols *s);

/* Is there nothing left for the thread to do? */
bool symbols_is_idle(struct symbols *s);

/*
 * @is_only: from now on nothing is opened any more, which might take long; what a file would have had to be opened for is
 * not known, and counts as missed. May be asked while the thread is there, when it is idle.
 */
void symbols_only_open(struct symbols *s, bool is_only);
/* Was there one since the last time? */
bool symbols_has_missed(struct symbols *s);

/*
 * The functions at @address (in the file's terms), the innermost first: at most @room. How many, 0: nothing is known.
 * Texts are valid until symbols_close().
 */
size_t symbols_at(struct symbols *s, struct symbols_module *m, uint64_t address,
		  struct symbols_frame *frame, size_t room);

/*
 * Code that was made while the program ran, as listed by /tmp/perf-PID.map and jitdump: what was there at the given
 * time (CLOCK_MONOTONIC). False: not known.
 */
bool symbols_jit(struct symbols *s, int64_t pid, uint64_t address, int64_t mono_ns,
		 struct symbols_frame *frame);

/* In the kernel; @module is set to that of the function, "[kernel.kallsyms]" where it is in none. */
bool symbols_kernel(struct symbols *s, uint64_t address, struct symbols_frame *frame,
		    const char **module);

#endif
