/*
 * functions.h - what a function of the C library does and waits for: the hook tables of preload/libc, for reports that do not
 * say so themselves.
 *
 *   SL_FUNCTION_KINDS(nameId, library, io, isStdio, file, waits, sends, returnsBytes, copies)
 *
 * is the one relation that readers ask: SL_FUNCTIONS, and its columns by the name of the function where the report has
 * none, as those of nsys and of older versions. It reads all of StringIds where the report has no such columns: a reader
 * takes the rows once.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct function_kind {
	const char *file, *waits; /* as in SL_FUNCTIONS; @file NULL: none */
	uint8_t io;               /* ENUM_OSRT_FILE_ACCESS_EVENT_TYPE, 0: none */
	bool is_stdio, sends, returns_bytes, copies;
};

/* False: the tables have no such function. A twin without a hook counts as its plain function: __write as write. */
bool function_kind(const char *name, struct function_kind *kind);

/*
 * Adds the view, and sl_function(NAME, COLUMN), by which it reads the tables: a column of the view for a function of that name;
 * NULL: not known. SQLite's result code.
 */
int functions_register(sqlite3 *db);
