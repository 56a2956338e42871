/*
 * symbols_internal.h - shared by the files of symbols.h.
 *
 *   symbols.c         the session: modules, earlier lookups; symbols_session.h
 *   symbols_texts.c   texts, each once
 *   symbols_owner.c   whose files this process reads
 *   symbols_apart.c   processes that read files of other users
 *   symbols_serve.c   such a process
 *   symbols_answer.c  messages between both
 *   symbols_prefetch.c   a thread that looks up addresses in advance
 *   symbols_cache.c   answers of earlier recordings; symbols_kept.c: for later ones
 *   symbols_file.c    files of a module: which is the right one, where its debug information is
 *   symbols_process.c   files that only the process leads to that has them mapped
 *   symbols_debuginfod.c  debug information from a server
 *   symbols_table.c   symbol tables
 *   symbols_cpython_loop.c    the part of CPython's loop that has no name
 *   symbols_dwarf.c   debug information (libdw)
 *   symbols_dwarf_file.c  opens its file; symbols_dwarf_place.c: files and lines in it
 *   symbols_jit.c     code made at run time; symbols_jit_kept.c: of processes in other namespaces
 *   symbols_kernel.c  the kernel's
 *   kernel_asker.c    the same, by asking the kernel
 */
#pragma once

#include "collector/symbols/elf_image.h"
#include "collector/symbols/symbols.h"

#define SYMBOLS_FRAMES_MAX 64 /* functions inlined into each other at one address */

/* ---- symbols.c ---- */

/* Texts that live as long as the session. NULL: no memory. */
const char *symbols_text(struct symbols *s, const char *text);
const char *symbols_demangled(struct symbols *s, const char *symbol);
bool symbols_is_interpreter(const char *symbol);

/* Once each; later calls do nothing. */
void symbols_know(struct symbols *s, struct symbols_module *m, uint64_t address);
void symbols_kernel_know(struct symbols *s, uint64_t address);

/* As symbols_module(), of a file that has the open descriptor @fd (-1: none), which the session closes; known or not. */
struct symbols_module *symbols_module_alone(struct symbols *s, const char *path,
					    const uint8_t *build_id, size_t build_id_len, int fd);
/* Opens its files: SYMBOLS_HAS_... (symbols_answer.h). */
uint32_t symbols_module_state(struct symbols *s, struct symbols_module *m);

/* State of a session's debuginfod server; changed while a thread asks one, and so read and written by __atomic_. */
struct symbols_server {
	int left_ms;        /* 0 or less: is not asked any more */
	bool is_waited_for; /* by a caller that Ctrl-C may interrupt */
};

struct symbols_server *symbols_server(struct symbols *s);

/* ---- symbols_prefetch.c ---- */

struct symbols_reader; /* the thread; NULL: none */
struct symbols_reader **symbols_reader(struct symbols *s);

/* The thread closes the session when it is through with its file, without a server. False: there is no thread. */
bool symbols_leave(struct symbols *s);

/* ---- symbols_file.c ---- */

struct symbols_file {
	struct elf_image image;  /* of the program; at NULL: none that is right */
	struct elf_image debug;  /* beside it; at NULL: none */
	struct elf_image mini;   /* .gnu_debugdata, unpacked */
	char *path, *debug_path; /* of those; NULL: none */
};
/* @held: a descriptor of the file where its path leads to another one, or to none; -1: none. It stays open. */
void symbols_file_open(struct symbols_file *f, const char *path, int held, const uint8_t *build_id,
		       size_t build_id_len, struct symbols_server *server);
/* Whether @path is that of a file that has none any more. */
bool symbols_file_is_gone(const char *path);
void symbols_file_close(struct symbols_file *f);

/* ---- symbols_process.c ---- */

/* A descriptor of the file that @by has mapped and calls @path; -1: none. */
int symbols_process_open(const struct symbols_mapped *by, const char *path);

/* ---- symbols_debuginfod.c ---- */

/* Whether the waiting thread has a pending signal that ends the wait. */
bool symbols_is_interrupted(const struct symbols_server *server);
extern int symbols_debuginfod_ms; /* a session's time for it */
/* The file with debug information of that build id (hexadecimal). */
bool symbols_debuginfod(const char *hex, struct symbols_server *server, char *path, size_t room);

/* ---- symbols_table.c ---- */

struct symbols_entry {
	uint64_t at, size, until; /* until: the largest end of it and those before */
	const char *name;
	bool is_local;
};
struct symbols_table {
	struct symbols_entry *entry;
	size_t cnt, cap;
};
void symbols_table_fill(struct symbols_table *t, const struct symbols_file *f);
void symbols_table_free(struct symbols_table *t);
const struct symbols_entry *symbols_table_find(const struct symbols_table *t, uint64_t address);
/* Where an entry begins or ends behind @address, of which @e is found. */
uint64_t symbols_table_until(const struct symbols_table *t, const struct symbols_entry *e,
			     uint64_t address);

/* ---- symbols_cpython_loop.c ---- */

/* Where that lies, in a file whose other symbols are in @t. False: there is none, or it has a name. */
bool symbols_loop_part(const struct symbols_table *t, const struct elf_image *e, uint64_t *at,
		       uint64_t *size);

/* ---- symbols_dwarf.c ---- */

struct symbols_dwarf;
struct symbols_dwarf *symbols_dwarf_open(const char *path); /* NULL: none, or built without */
void symbols_dwarf_close(struct symbols_dwarf *d);
bool symbols_dwarf_is_alone(const struct symbols_dwarf *d); /* no part of it is in a file of dwz */
/*
 * As symbols_at(). *@entry: where the outermost function begins, 0 not known. *@until: all addresses from @address up to
 * it have this answer; others may have it, too.
 */
size_t symbols_dwarf_at(struct symbols *s, struct symbols_dwarf *d, uint64_t address,
			struct symbols_frame *frame, size_t room, uint64_t *entry, uint64_t *until);

/* ---- symbols_jit.c ---- */

struct symbols_jit;
/* NULL: nothing there. The bytes that it keeps are taken off *@room, which outlives it. */
struct symbols_jit *symbols_jit_open(int64_t pid, size_t *room,
				     const struct symbols_server *server);
void symbols_jit_close(struct symbols_jit *j);
bool symbols_jit_find(struct symbols_jit *j, uint64_t address, int64_t mono_ns,
		      struct symbols_frame *frame);

/* ---- symbols_jit_kept.c ---- */

/* A descriptor of the process's map of its own (symbols_jit_keep()), at its begin, for the caller to close; -1: there is none. */
int symbols_jit_kept(int64_t pid);

/* ---- symbols_kernel.c ---- */

struct symbols_kernel;
struct symbols_kernel *symbols_kernel_open(void); /* NULL: no memory */
void symbols_kernel_close(struct symbols_kernel *k);
/*
 * False: no name, or addresses are hidden. *@module is set only when it is one of the kernel's modules. An answer stays:
 * code that BPF programs had is found after their end, if it was asked for before.
 */
bool symbols_kernel_find(struct symbols *s, struct symbols_kernel *k, uint64_t address,
			 const char **function, const char **module);
