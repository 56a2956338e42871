/*
 * symbols.h - from an address in a file to functions, files and lines: by symbol tables and debug information, in the
 * file, beside it, or elsewhere by build id. Without libdw (elfutils) names come from symbol tables alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
 * Where @m is mapped: the process leads to a file that its path does not lead to (a memfd, a removed file). Files that are
 * not the system's are opened at once, the first 64, as they may be removed or replaced before their names are looked up.
 */
struct symbols_mapped {
	uint32_t pid;
	uint64_t start, end;
};
void symbols_mapped(struct symbols *s, struct symbols_module *m, const struct symbols_mapped *by);

/*
 * Queues an address for a thread, which opens the module's files and looks it up (@m NULL: in the kernel). A
 * full queue drops it: symbols_at() finds it then. Between the first call and symbols_settle() nothing else may be called
 * but symbols_module(), symbols_mapped() of a new module, and symbols_close().
 *
 * symbols_settle() drops queued addresses and waits for the running lookup. A pending signal
 * (Ctrl-C) ends a long wait, as for a file server that does not answer: false; the thread then owns
 * the session and closes it.
 */
void symbols_prefetch(struct symbols *s, struct symbols_module *m, uint64_t address);
bool symbols_settle(struct symbols *s);

/*
 * The functions at @address (in the file's terms), the innermost first: at most @room. How many, 0: nothing is known.
 * Texts are valid until symbols_close().
 */
size_t symbols_at(struct symbols *s, struct symbols_module *m, uint64_t address,
		  struct symbols_frame *frame, size_t room);

/*
 * Code that was made while the program ran, as listed by /tmp/perf-PID.map and jitdump: the
 * function at the given time (CLOCK_MONOTONIC). False: not known. Files count that belong to root,
 * to the caller, to the user of the process while it runs, or to a user of symbols_jit_trust(); up
 * to 256 MiB in all.
 */
bool symbols_jit(struct symbols *s, int64_t pid, uint64_t address, int64_t mono_ns,
		 struct symbols_frame *frame);
/*
 * Opens the map of a process that runs code made at run time, if it is another file than that of its number in this process's
 * /tmp; 64 of them stay open. False: it is not there yet, and the caller may try again.
 */
bool symbols_jit_keep(int64_t pid);
/* Files of this user count: traced processes run as that user. */
void symbols_jit_trust(uid_t user);

/*
 * From now on files of other users than root and this process's are read by processes that have their owners' rights: by this
 * program, with the command "symbols" (symbols_serve.h).
 */
void symbols_apart_by(const char *program);
/* Files that such a process could not read, by the reason. */
struct symbols_lost {
	const char *why, *first; /* first: the path of one of the files */
	uid_t owner;             /* of that */
	uint64_t files;
};
/* The @i-th; false: there are no more. */
bool symbols_lost(const struct symbols *s, unsigned i, struct symbols_lost *lost);

/* In the kernel; @module is set to that of the function, "[kernel.kallsyms]" where it is in none. */
bool symbols_kernel(struct symbols *s, uint64_t address, struct symbols_frame *frame,
		    const char **module);
