/* place.h - the place of a stack: the line of the program in it; and flags of its frames. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/slots.h"
#include "exporters/read/db_read.h"
#include "exporters/read/id_map.h"
#include "exporters/why/model/frame.h"

#define PLACE_NONE 0u /* the number of the place of no stack */

struct place {
	char *text;     /* "train.py:88 in collate", "f in libx.so"; NULL: none */
	char *file;     /* path; NULL: not known */
	char *function; /* NULL: not known */
	int line;       /* 0: not known */
	bool is_own; /* in neither an interpreter's library nor an installed package nor the system's */
};

enum {                     /* properties of a stack */
	PLACE_IMPORT = 1,  /* Python's import */
	PLACE_KERNEL = 2,  /* the innermost frame is the kernel's */
	PLACE_GIL = 4,     /* inside CPython's take_gil() */
	PLACE_PYTHON = 8,  /* the innermost frame is the interpreter's */
	PLACE_TRACER = 16, /* the code of the tracer, not of the program */
	PLACE_SLEEP = 32,  /* inside CPython's time.sleep(), which is a select() before 3.11 */
	PLACE_ITSELF =
		64, /* the innermost frame is compiled code of the program: it calls nothing */
	PLACE_MONITOR = 512, /* a thread of Java wants a monitor */
	PLACE_NAP = 1024,    /* likewise, Thread.sleep() */
	PLACE_SCRIPT =
		256, /* the innermost frame is Python's own: the interpreter runs it, with the GIL */
	PLACE_TOUCH = 128, /* the kernel makes room for memory that is touched for the first time */
};

struct place_of_stack {
	uint32_t place;
	uint16_t flags;
	uint8_t runner; /* enum frame_runner: the innermost of its frames */
	bool is_known;
};

struct places {
	sqlite3 *db;
	struct frames frames;
	struct place *list; /* list[PLACE_NONE]: empty */
	size_t cnt, room;
	struct place_of_stack *of_stack; /* by number of the stack */
	size_t stack_room;
	bool are_all_read;
	bool has_failed;      /* a stack could not be read: no memory, or an error of the file */
	struct slots by_text; /* of list */
};

/* 0, or SQLite's result code. */
int places_open(struct places *p, sqlite3 *db);
void places_close(struct places *p);
/* Reads the places of all stacks of a report whose stacks cannot be found one by one: reports of nsys. SQLite's result code. */
int places_read(struct places *p, const struct id_map *stacks);
/* The place of an NVTX range; PLACE_NONE: no memory. */
uint32_t places_of_range(struct places *p, const char *name);
/* The place of a stack: @number in the caller's map, @id in the report. PLACE_NONE: none, or no memory. */
uint32_t places_of(struct places *p, uint32_t number, int64_t id, uint16_t *flags);
/* The event loop or the pool that calls the code of a stack, enum frame_runner. */
uint8_t places_runner(struct places *p, uint32_t number, int64_t id);
