/* terminal.h - the size of the terminal that a table is read on. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal that @out is; 0: it is none, or does not say. */
size_t terminal_columns(FILE *out);
/* Lines of the same; 0 likewise. */
size_t terminal_lines(FILE *out);

/*
 * Prints lines of which none is wider than @columns, as far as words allow: the rest of a line goes below its text. A line that ends
 * with a command of this program stays whole, to be copied, and moves to the left.
 */
void text_put_fitted(FILE *out, const char *text, size_t columns);
