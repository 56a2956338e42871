/* symbols_texts.h - texts of a session, each of them once, and names of functions as C++ and Rust have them in their sources. */
#pragma once

#include <stddef.h>

/* Zeroed before; symbols_texts_free() after. */
struct symbols_texts {
	struct block *blocks;
	struct known *known;
	size_t known_cnt, known_cap;
};

/* The copy of @text, and that of the name @symbol stands for; they stay until symbols_texts_free(). NULL: no memory. */
const char *symbols_texts_keep(struct symbols_texts *s, const char *text);
const char *symbols_texts_demangled(struct symbols_texts *s, const char *symbol);
void symbols_texts_free(struct symbols_texts *s);
