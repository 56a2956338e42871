/*
 * big_array.h - arrays whose pages leave the process: between big_arrays_begin() and big_arrays_end(), arrays of BIG_ARRAY_FROM
 * bytes and more lie in a file without a name (spill.h). A timer (ITIMER_REAL, SIGALRM) looks at the process every few
 * milliseconds and unmaps their pages when more than a budget of pages of files are resident: the content stays in the file,
 * and the next access maps it again. A thread for that would make each malloc() and mutex of the process slower.
 * Outside of that time, and where the disk has no room, arrays are memory as any other. Between the two, all functions are of
 * one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BIG_ARRAY_FROM (64u << 10)

/* @budget: bytes of resident pages of files. Connections of SQLite are opened after it. False: no file could be made. */
bool big_arrays_begin(size_t budget);
/* All arrays are freed by then. */
void big_arrays_end(void);
/* Unmaps the pages of all arrays. Returns the number of bytes of the arrays that lie in the file. */
size_t big_arrays_drop(void);

bool big_array_double(void *list, size_t *room, size_t size);

/* As grow(), calloc() and free(). The array is NULL, or of these functions. */
static inline bool big_grow(void *list, size_t taken, size_t *room, size_t size)
{
	return taken < *room || big_array_double(list, room, size);
}

void *big_calloc(size_t cnt, size_t size);
void big_free(void *list);

/* As qsort_r(), and stable; where arrays lie in the file, so does the copy that sorting needs. */
void big_sort(void *list, size_t cnt, size_t size,
	      int (*order)(const void *a, const void *b, void *ctx), void *ctx);
