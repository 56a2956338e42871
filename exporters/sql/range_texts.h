/* range_texts.h - texts of ranges, as numbers: few in memory, the rest in a file. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/sql/tables/hist_values.h"

struct texts {
	struct pool pool;
	size_t bytes;
	FILE *file;
	int64_t at; /* end of the file */
	char *buf;
	size_t room;
};

/* Bytes of texts that are kept in memory. Tests lower the limit. */
extern size_t texts_bytes_max;

/* 0 stands for NULL. SQLite's result codes. texts_get() finds a text of the file once the file was flushed. */
int texts_add(struct texts *t, const char *text, size_t len, int64_t *number);
int texts_get(struct texts *t, int64_t number, const char **text, size_t *len);
void texts_free(struct texts *t);
