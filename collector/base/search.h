/* search.h - bisection. */
#pragma once

#include <stddef.h>

/*
 * The first of @i = @from ... @to - 1 for which @is_before is false, @to where there is none; those for which it is true come first.
 * @is_before is an expression with @i:  search_first(i, 0, cnt, list[i].start < time)
 */
#define search_first(i, from, to, is_before)                           \
	({                                                             \
		size_t low_##i = (from), high_##i = (to);              \
                                                                       \
		while (low_##i < high_##i) {                           \
			size_t i = low_##i + (high_##i - low_##i) / 2; \
                                                                       \
			if (is_before)                                 \
				low_##i = i + 1;                       \
			else                                           \
				high_##i = i;                          \
		}                                                      \
		low_##i;                                               \
	})
