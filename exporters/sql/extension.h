/* extension.h - included in front of each source of libsightline_sql.so: calls of SQLite go through the host's table. */
#pragma once

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;
