/*
 * cell.h - one value of a result, and how it is written.
 *
 * Two spellings: for machines (shortest text that reads back as the same number) and for people
 * (columns of equal decimals, thousands separated, nothing that could upset a terminal).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cell_kind {
	CELL_NULL,
	CELL_INT,
	CELL_REAL,
	CELL_TEXT
};

struct cell {
	enum cell_kind kind;
	int scale; /* decimals: an INT stands for num / 10^scale, a REAL is printed with so many; 0: as it is */
	int64_t num;      /* INT */
	double real;      /* REAL */
	const char *text; /* TEXT: @len bytes, not always valid UTF-8 */
	size_t len;
};

#define CELL_NUMBER_MAX 512 /* a double has up to 309 digits before the point */

/* The number as machines read it; "" for NULL, infinities and NaN. Returns its length. */
size_t cell_number(const struct cell *c, char buf[CELL_NUMBER_MAX]);

/* Decimals that the shortest spelling of the number needs. */
int cell_decimals(const struct cell *c);

/* The number with exactly @decimals (more if its scale needs them), thousands separated if @group. */
size_t cell_number_people(const struct cell *c, int decimals, bool group,
			  char buf[CELL_NUMBER_MAX]);

/*
 * The text with control characters as \n, \t, \xNN and invalid UTF-8 as \xNN, cut to @width columns
 * (its last one then is an ellipsis; 0: never cut). malloc'd; *width_out = columns it takes.
 */
char *text_people(const char *text, size_t len, size_t width, size_t *width_out);

/* text_people() without a limit, printed. */
void text_put_people(FILE *out, const char *text);
/* A word for sh: quoted where it must be, with nothing in it that a terminal would not show. */
void text_put_shell(FILE *out, const char *word);

/* Next character of UTF-8 text: returns its bytes (>= 1), *cp = code point or -1 when the byte is invalid. */
size_t utf8_next(const char *text, size_t len, int32_t *cp);
