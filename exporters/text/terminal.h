/* terminal.h - the size of the terminal that a table is read on. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal that @out is; 0: it is none, or does not say. */
size_t terminal_columns(FILE *out);
/* Lines of the same; 0 likewise. */
size_t terminal_lines(FILE *out);
