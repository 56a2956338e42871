/* io_direction.h - which way bytes go in a function of the C library. */
#pragma once

#include <sqlite3.h>

enum io_direction {
	IO_NONE,
	IO_IN,
	IO_OUT
};

/*
 * The direction of the function whose name is in column @name, and whose library and io, as in SL_FUNCTIONS (LEFT JOIN), are
 * in column @library and the next one. Where the library is NULL the name decides: in reports of nsys, and while a report
 * grows.
 */
enum io_direction io_direction_of(sqlite3_stmt *stmt, int name, int library);
