/*
 * frame.h - frames of stacks, each distinct one once: how good it is as a place, and what it gives away about the stack. A report
 * has many more stacks than distinct frames, so names are compared once for each frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/slots.h"
#include "exporters/read/db_read.h"

enum frame_kind { /* of SL_FRAMES */
	FRAME_OF_CODE,
	FRAME_OF_PYTHON,
	FRAME_OF_KERNEL,
	FRAME_OF_JIT,
	FRAME_IS_REMARK,
};

enum frame_rank { /* how good a frame is as a place */
	RANK_NONE,
	RANK_MODULE,         /* native, without a name */
	RANK_SYSTEM,         /* native, of a library that the system has */
	RANK_HEADER,         /* native, of a header that is not the program's */
	RANK_NATIVE,         /* native, of the program */
	RANK_PYTHON_LIBRARY, /* Python's or made at run time, of a library or an installed package */
	RANK_PYTHON,         /* likewise, of the program */
};

/* What calls the frames below it: an event loop, or a pool of workers. */
enum frame_runner {
	RUNNER_NONE,
#define RUNNER(id, is_pool, text, module, symbol, remedy) RUNNER_##id,
#include "exporters/why/model/runners.def"
	RUNNER_CNT
};

/* Whose code it is. */
enum frame_owner {
	OWNER_KERNEL,
	OWNER_CUPTI,
	OWNER_TRACER,
	OWNER_LIBC,
	OWNER_PROGRAM, /* and its libraries */
};

/* A row of SL_CHAIN_FRAMES; ids are those of StringIds, 0: none. */
struct frame_row {
	int64_t kind, symbol, module, file, line;
};

struct frame {
	struct frame_row row;
	uint8_t rank, owner;
	uint8_t runner;              /* enum frame_runner */
	uint16_t flags, first_flags; /* PLACE_...; more, where it is the innermost frame */
	bool is_fault;               /* of the kernel, in a page fault */
	bool is_of_file; /* likewise, for a page of a file, or one that was swapped out */
	uint32_t place;  /* number + 1; 0: not asked for yet */
};

struct frame_texts {
	char *symbol, *module, *file; /* NULL: none, or empty */
};

struct frames {
	sqlite3_stmt *text;
	struct frame *list;
	size_t cnt, room;
	struct slots by_row;
};

/* 0, or SQLite's result code. */
int frames_open(struct frames *f, sqlite3 *db);
void frames_close(struct frames *f);
/* The columns of a frame for frames_row(), of SL_CHAIN_FRAMES. */
extern const char frame_columns[];
/* From the values of these columns. */
struct frame_row frames_row(sqlite3_value **v);
/* The number of a frame; UINT32_MAX: no memory. */
uint32_t frames_number(struct frames *f, const struct frame_row *row);
/* Texts of a frame, malloc'd. */
struct frame_texts frames_texts(struct frames *f, const struct frame_row *row);
void frame_texts_free(struct frame_texts *t);
const char *frame_base_of(const char *path);
