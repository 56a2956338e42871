/* sums.h - sums that no report can make fail. */
#pragma once

#include <sqlite3.h>

/*
 * sum() and abs() of this connection stop at the largest or smallest integer, where SQLite's own fail with "integer
 * overflow": one forged total must not cost a table or a page. SQLite's result code.
 */
int sums_register(sqlite3 *db);
