/* function_table.h - writes SL_FUNCTIONS, the library of each function and its effect on files. */
#pragma once

struct db;

/* When the report ends: rows of all functions that can be recorded and whose names occur in it. */
void function_table_write(struct db *db);
