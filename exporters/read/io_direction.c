/* io_direction.c - directions by SL_FUNCTIONS, else by the name of the function. */
#include "exporters/read/io_direction.h"

#include <string.h>

#include "exporters/read/functions.h"

enum io_direction io_direction_of(sqlite3_stmt *stmt, int name, int library)
{
	const char *function = (const char *)sqlite3_column_text(stmt, name);
	struct function_kind kind;
	bool is_known = function && function_kind(function, &kind);
	int io = is_known ? kind.io : 0;

	/* A write to the enumeration, but it moves no bytes that a call has not moved before. */
	if (!function || (is_known && kind.file && strcmp(kind.file, "flush") == 0))
		return IO_NONE;
	if (sqlite3_column_type(stmt, library) != SQLITE_NULL)
		io = sqlite3_column_int(stmt, library + 1);
	switch (io) {
	case 3: /* ENUM_OSRT_FILE_ACCESS_EVENT_TYPE: read */
		return IO_IN;
	case 4: /* write */
		return IO_OUT;
	default:
		return IO_NONE;
	}
}
