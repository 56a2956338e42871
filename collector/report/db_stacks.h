/*
 * db_stacks.h - stacks in the report: raw while it grows, all of them with names when it is finished.
 *
 * db_finish() calls db_stacks_finish(): frames get their functions, files and lines (symbols.h), Python's frames take the
 * place of its interpreter's, inlined functions become frames of their own; the result is SL_FRAMES, SL_STACKS and
 * the tables of callchains that nsys has. The raw tables are dropped then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

/* An address space: the memory of one process image. Known already: nothing happens, but for the pid. */
int db_space(struct db *db, int64_t space, int64_t parent, int64_t global_pid);

struct db_module {
	int64_t space;
	uint64_t start, end; /* addresses */
	uint64_t bias;       /* address - address in the file's own terms (p_vaddr) */
	int64_t since;       /* session ns */
	const char *path;    /* absolute, or "[vdso]", "[anonymous]" and the like */
	const uint8_t *build_id;
	size_t build_id_len; /* 0: none */
};
int db_module(struct db *db, const struct db_module *m);

struct db_code {
	int64_t id; /* STACK_ID() of the code's number */
	const char *file, *name;
	int first_line;
	int version; /* of the line table: 0x030b */
	const uint8_t *lines;
	size_t lines_len;
};
/* Known already: nothing happens, unless more of its lines are. */
int db_code(struct db *db, const struct db_code *c);

/* @id: STACK_ID(). @frames: preload/wire/frame.h. Code ids in it are those of the arena that @id is of. Known already: nothing happens. */
int db_stack(struct db *db, int64_t id, int64_t space, int64_t since, const uint64_t *frames,
	     size_t cnt);

/* Kinds of rows that name a stack: which callchain tables it is in. */
enum db_stack_kind {
	DB_STACK_OSRT,
	DB_STACK_CUDA, /* and libraries of it */
	DB_STACK_SYSCALL,
	DB_STACK_SAMPLE,
	DB_STACK_KIND_CNT
};

/* The number that rows of this report have for a stack, whose own row may come later. 0: @id is 0, or no memory. */
int64_t db_stack_number(struct db *db, int64_t id);

/* Is it in this report? Parents, modules and codes are the caller's to think of. */
bool db_has_stack(const struct db *db, int64_t id);
bool db_has_space(const struct db *db, int64_t space);

/* Callbacks for the rows of an unfinished report with ids from @first to @last. Texts and frames are valid during the call. */
struct db_stacks_reader {
	void *to;
	void (*space)(void *to, int64_t space, int64_t parent, int64_t global_pid);
	void (*module)(void *to, const struct db_module *m);
	void (*code)(void *to, const struct db_code *c);
	void (*stack)(void *to, int64_t id, int64_t space, int64_t since, const uint64_t *frames,
		      size_t cnt);
};
int db_stacks_read(struct db *db, int64_t first, int64_t last, const struct db_stacks_reader *r);

/* Writes the known stacks into the report (open transaction, nothing pending). 0 or -errno; the report is whole in any case. */
int db_stacks_finish(struct db *db);

/* For a terminal: called with the progress in per cent, from 2 s on; -1: done. NULL: not called. */
void db_stacks_progress(void (*tell)(int percent));
