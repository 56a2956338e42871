/*
 * demangle_rust.h - within demangle_rust*.c: where in a symbol reading is, and what has been written.
 */
#ifndef SL_DEMANGLE_RUST_H
#define SL_DEMANGLE_RUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RUST_DEPTH_MOST 128u
#define RUST_TEXT_MOST  16384u

struct rust {
	const char *begin, *p, *end; /* begin: behind "_R" */
	char *out;
	size_t len;
	unsigned depth, bound; /* bound: lifetimes that have been named so far */
	unsigned mute;         /* read only */
	bool is_bad;
};

struct rust_identifier {
	const char *text;
	size_t len;
	bool is_puny;
};

/* ---- demangle_rust_text.c ---- */

/* 0 at the end, and once the symbol is bad. */
char rust_peek(const struct rust *r);
/* The end is bad. */
char rust_next(struct rust *r);
bool rust_take(struct rust *r, char c);
void rust_put(struct rust *r, const char *text, size_t len);
void rust_say(struct rust *r, const char *text);
void rust_say_number(struct rust *r, uint64_t n);
/* As UTF-8. */
void rust_say_character(struct rust *r, uint32_t c);
bool rust_is_character(uint64_t c);
/* "_" is 0, "0_" 1. */
uint64_t rust_base_62(struct rust *r);
/* 0 where @tag does not stand here. */
uint64_t rust_tagged_62(struct rust *r, char tag);
/* One level deeper; who goes back takes it off r->depth. */
bool rust_enter(struct rust *r);
/* Behind 'B': @what as it stands there. */
void rust_back(struct rust *r, void (*what)(struct rust *, bool), bool in_value);
struct rust_identifier rust_identifier(struct rust *r);
void rust_say_identifier(struct rust *r, const struct rust_identifier *id);

/* ---- demangle_rust.c ---- */

void rust_path(struct rust *r, bool in_value);
void rust_type(struct rust *r);
/* Each up to 'E', with commas; how many. */
unsigned rust_list(struct rust *r, void (*one)(struct rust *, bool));

/* ---- demangle_rust_value.c ---- */

/* @in_value: within another, or where no braces are needed. */
void rust_constant(struct rust *r, bool in_value);

#endif
