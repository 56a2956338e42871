/* modules.h - kinds of files that code comes from, by path. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/* A library below programs: libc, CUDA, PyTorch, an interpreter and its library, an installed package of Python. */
bool module_is_library(const char *path);

/* sl_is_library(PATH): 0 or 1; NULL for NULL. SQLite's result code. */
int modules_register(sqlite3 *db);
