/* extension.h - included in front of each source of libsightline_sql.so: calls of SQLite go through the host's table. */
#ifndef SL_EXTENSION_H
#define SL_EXTENSION_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

#endif
