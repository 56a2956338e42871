/* utf8.h - where characters of UTF-8 begin and end. */
#pragma once

#include <stddef.h>

/* Bytes of the well-formed character at @s, of @left: 0 when there is none; NUL counts as none. */
static inline size_t utf8_len(const unsigned char *s, size_t left)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (!len || !s[0] || s[0] > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || /* overlong, surrogates */
	    (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f)) /* overlong, > U+10FFFF */
		return 0;
	return len;
}
