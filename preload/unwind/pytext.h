/* pytext.h - text of a str object of CPython as UTF-8, from the process's memory or a copy of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SL_PYTEXT_COMPACT 8u /* not set: a subclass, with the characters elsewhere */
#define SL_PYTEXT_ASCII   16u

/* The state word, shifted so that the kind (bytes of a character: 1, 2 or 4) is in the lowest bits. */
static inline uint32_t sl_pytext_state(uint32_t state)
{
	/* Bits: interned (2 of 2; in 3.14 perhaps of 8 or 16), kind (3, never 0), compact, ascii. */
	return state >> (state >> 2 & 7 ? 2 : state >> 8 & 7 ? 8 : 16);
}

/* Writes up to four bytes. */
static inline char *sl_pytext_put(char *at, uint32_t ch)
{
	/* A lone surrogate: Python's encoding of a byte in a file name that is not UTF-8. */
	if (ch >= 0xd800 && ch < 0xe000)
		ch = 0xfffd;
	if (ch < 0x80) {
		*at++ = (char)ch;
	} else if (ch < 0x800) {
		*at++ = (char)(0xc0 | ch >> 6);
		*at++ = (char)(0x80 | (ch & 0x3f));
	} else if (ch < 0x10000) {
		*at++ = (char)(0xe0 | ch >> 12);
		*at++ = (char)(0x80 | (ch >> 6 & 0x3f));
		*at++ = (char)(0x80 | (ch & 0x3f));
	} else {
		*at++ = (char)(0xf0 | (ch >> 18 & 7));
		*at++ = (char)(0x80 | (ch >> 12 & 0x3f));
		*at++ = (char)(0x80 | (ch >> 6 & 0x3f));
		*at++ = (char)(0x80 | (ch & 0x3f));
	}
	return at;
}

static inline uint32_t sl_pytext_at(const char *data, uint32_t kind, size_t i)
{
	if (kind == 1)
		return ((const uint8_t *)data)[i];
	return kind == 2 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}
