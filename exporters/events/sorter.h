/* sorter.h - sorts records of whole numbers: in memory while they are few, in runs in a file when they are many. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sorter;

/* Bytes of memory per sorter, approximately. Tests lower the limit. */
extern size_t sorter_bytes_max;

/*
 * Records of @words numbers, of which the first @keys give the order; equal ones stay in the order they came.
 * NULL without memory.
 */
struct sorter *sorter_new(unsigned words, unsigned keys);
void sorter_free(struct sorter *s);

/* The functions below return SQLite's result codes. */
int sorter_add(struct sorter *s, const int64_t *record);
/* No more will be added: the next to be read is the first. May be called again. */
int sorter_rewind(struct sorter *s);
/* SQLITE_ROW, and a record that stays until the next call, or SQLITE_DONE. */
int sorter_next(struct sorter *s, const int64_t **record);
