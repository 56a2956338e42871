/* percentiles.h - percentiles that reports of sums have in addition. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PERCENTILES_MAX 16

struct percentiles {
	struct percentile {
		char text[16];
		int64_t num, den;
	} each[PERCENTILES_MAX];
	size_t cnt;
};

/* Adds "90,99,99.9" (NULL: nothing). 0, or -1 after one sentence in @why. */
int percentiles_parse(struct percentiles *p, const char *text, char *why, size_t why_len);

/*
 * Replaces each comment of the C kind that begins with "percentiles:" by the text after the colon, once per percentile:
 * {i} is its place from 0 on, {p} its spelling (99.9), {num} / {den} the same as a fraction of one. @p NULL: none.
 * malloc'd, NULL without memory.
 */
char *percentiles_expand(const char *sql, const struct percentiles *p);
