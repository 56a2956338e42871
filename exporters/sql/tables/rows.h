/*
 * rows.h - records of whole numbers, written once and then read by their place: in memory while they are few, in a file when
 * they are many.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rows;

/* Bytes that stay in memory, approximately. Tests lower the limit. */
extern size_t rows_bytes_max;

/* Records of @words numbers. NULL without memory. */
struct rows *rows_new(unsigned words);
void rows_free(struct rows *r);

/* SQLite's result code. */
int rows_add(struct rows *r, const int64_t *record);
/* No more will be added. SQLite's result code. */
int rows_end(struct rows *r);
size_t rows_cnt(const struct rows *r);

/* State of one reader: zeroed before, rows_close() after. */
struct rows_reader {
	const struct rows *of;
	/* Blocks by their place: a reader at several places in turn finds them again. */
	struct rows_block {
		int64_t *data;
		size_t first, cnt; /* records in it */
	} block[8];
};

/* The record at place @i < rows_cnt(), which stays until the reader's next call; NULL: could not be read. */
const int64_t *rows_at(const struct rows *r, struct rows_reader *at, size_t i);
void rows_close(struct rows_reader *at);

/*
 * Finds, in the records from @first up to, not with, @last, which are in the order of their first word, the first one with at
 * least @value there; @last: none. SQLite's result code.
 */
int rows_find(const struct rows *r, struct rows_reader *at, size_t first, size_t last,
	      int64_t value, size_t *place);
