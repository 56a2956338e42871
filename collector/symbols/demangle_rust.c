/*
 * demangle_rust.c - names of Rust mangled by version 0 ("_R...", RFC 2603): recursive descent over forms. Back references
 * can make a short symbol an endless name: depth and output are bounded. Left out: hashes that distinguish crates of one name
 * and names of lifetimes. Identifiers beyond ASCII stay in Punycode; constants that no stable Rust has fail.
 */
#include "collector/symbols/demangle_internal.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 128u
#define NAME_MOST  16384u
#define DIGITS     "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct rust {
	const char *begin, *p, *end; /* begin: behind "_R" */
	char *out;
	size_t len;
	unsigned depth;
	unsigned mute;        /* reads, but appends nothing */
	bool is_bad, is_open; /* is_open: the path just read lacks its last '>' */
};

static void parse(struct rust *r, char what);

/* 0 at the end, which makes the symbol bad. */
static char next(struct rust *r)
{
	r->is_bad |= r->p == r->end;
	return r->is_bad ? 0 : *r->p++;
}

static bool take(struct rust *r, char c)
{
	bool is = !r->is_bad && r->p < r->end && *r->p == c;

	r->p += is;
	return is;
}

static void put(struct rust *r, const char *text, size_t len)
{
	r->is_bad |= len > NAME_MOST - r->len;
	if (r->is_bad || r->mute)
		return;
	memcpy(r->out + r->len, text, len);
	r->len += len;
}

/* Appends @form; "%x" is the output of parse(r, 'x'), "%[x" a list of such outputs. */
static void emit(struct rust *r, const char *form)
{
	for (; *form && !r->is_bad; form++) {
		if (*form != '%') {
			put(r, form, 1);
		} else if (*++form == '[') {
			form++;
			for (unsigned i = 0; !r->is_bad && !take(r, 'E'); i++) {
				put(r, ", ", i ? 2 : 0);
				parse(r, *form);
				/* A tuple of one. */
				if (!i && form[1] == ',' && r->p < r->end && *r->p == 'E')
					put(r, ",", 1);
			}
			form += form[1] == ',';
		} else {
			parse(r, *form);
		}
	}
}

static void put_number(struct rust *r, uint64_t n)
{
	char text[24];

	put(r, text, (size_t)snprintf(text, sizeof(text), "%ju", (uintmax_t)n));
}

/* "_" is 0, "0_" 1; with a tag one more, and 0 without it. */
static uint64_t base_62(struct rust *r)
{
	const char *digit;
	uint64_t n = 0;

	if (take(r, '_'))
		return 0;
	while (!r->is_bad && !take(r, '_')) {
		digit = strchr(DIGITS, next(r));
		r->is_bad |= !digit || !*digit || __builtin_mul_overflow(n, 62u, &n) ||
			     __builtin_add_overflow(n, digit - DIGITS, &n);
	}
	return n + 1;
}

static uint64_t tagged_62(struct rust *r, char tag)
{
	return take(r, tag) ? base_62(r) + 1 : 0;
}

/* Behind 'B': appends the form at that place. */
static void back(struct rust *r, char what)
{
	const char *at = r->p - 1, *behind;
	uint64_t to = base_62(r);

	r->is_bad |= to >= (uint64_t)(at - r->begin);
	behind = r->p;
	if (r->is_bad || r->mute)
		return;
	r->p = r->begin + to;
	parse(r, what);
	r->p = behind;
}

static void identifier(struct rust *r)
{
	uint64_t len = 0;

	take(r, 'u');
	r->is_bad |= r->p == r->end || *r->p < '0' || *r->p > '9';
	if (!take(r, '0'))
		while (!r->is_bad && r->p < r->end && *r->p >= '0' && *r->p <= '9')
			r->is_bad |= (len = len * 10 + (uint64_t)(*r->p++ - '0')) > NAME_MOST;
	take(r, '_');
	r->is_bad |= len > (uint64_t)(r->end - r->p);
	put(r, r->p, len);
	r->p += r->is_bad ? 0 : len;
}

static void nested(struct rust *r, char what)
{
	char space = next(r);
	bool has_name;
	uint64_t number;

	parse(r, what);
	number = tagged_62(r, 's');
	has_name = r->p < r->end && *r->p != '0';
	if (space >= 'a' && space <= 'z') {
		emit(r, has_name ? "::%i" : "%i");
		return;
	}
	r->is_bad |= space < 'A' || space > 'Z';
	emit(r, space == 'C' ? "::{closure" : space == 'S' ? "::{shim" : "::{");
	put(r, &space, space != 'C' && space != 'S');
	emit(r, has_name ? ":%i#" : "%i#");
	put_number(r, number);
	put(r, "}", 1);
}

/* @what: 'P' in a value: "::<" before arguments; 'o': without the '>' behind them. */
static void path(struct rust *r, char what)
{
	static const char tags[] = "CMXY";
	static const char *const forms[] = {"%s%i", "%m<%t>", "%m<%t as %p>", "<%t as %p>", ""};
	char tag = next(r), inner = what == 'P' ? 'P' : 'p';
	const char *at = strchr(tags, tag);

	if (tag == 'N') {
		nested(r, inner);
	} else if (tag == 'I') {
		parse(r, inner);
		emit(r, inner == 'P' ? "::<%[a" : "<%[a");
		emit(r, what == 'o' ? "" : ">");
	} else {
		r->is_bad |= !at;
		emit(r, forms[at ? at - tags : 0]);
	}
	r->is_open = tag == 'I' && what == 'o';
}

static void function(struct rust *r)
{
	tagged_62(r, 'G');
	emit(r, take(r, 'U') ? "unsafe " : "");
	if (take(r, 'K'))
		emit(r, take(r, 'C') ? "extern \"C\" " : "extern \"%i\" ");
	emit(r, "fn(%[t)");
	if (!take(r, 'u'))
		emit(r, " -> %t");
}

static void dynamic(struct rust *r)
{
	tagged_62(r, 'G');
	for (unsigned i = 0; !r->is_bad && !take(r, 'E'); i++) {
		emit(r, i ? " + %o" : "dyn %o");
		for (bool is_open = r->is_open; take(r, 'p'); r->is_open = is_open = true)
			emit(r, is_open ? ", %i = %t" : "<%i = %t");
		emit(r, r->is_open ? ">" : "");
	}
	r->is_bad |= !take(r, 'L');
	base_62(r);
}

static void type(struct rust *r)
{
	static const char tags[] = "ADFOPQRSTabcdefhijlmnopstuvxyz";
	static const char *const forms[] = {
		"[%t; %c]", "%D",    "%F",   "*mut %t", "*const %t", "&%Lmut %t", "&%L%t", "[%t]",
		"(%[t,)",   "i8",    "bool", "char",    "f64",       "str",       "f32",   "u8",
		"isize",    "usize", "i32",  "u32",     "i128",      "u128",      "_",     "i16",
		"u16",      "()",    "...",  "i64",     "u64",       "!",         "%p"};
	const char *at = strchr(tags, next(r));

	r->p -= !at; /* a path */
	emit(r, forms[at ? (size_t)(at - tags) : sizeof(tags) - 1]);
}

/* A number is hexadecimal digits up to '_'. */
static void constant(struct rust *r)
{
	char tag = next(r);
	const char *from;
	uint64_t value;
	size_t len;

	r->is_bad |= !tag || !strchr("bchjmotyailnsx", tag);
	if (strchr("ailnsx", tag) && take(r, 'n'))
		put(r, "-", 1);
	from = r->p;
	len = strspn(from, "0123456789abcdef");
	value = strtoull(from, NULL, 16);
	r->p += len;
	r->is_bad |= !take(r, '_') || (tag == 'b' && value > 1) ||
		     (tag == 'c' && (value >= 0x110000 || value >> 11 == 0xd800 >> 11));
	if (tag == 'b') {
		emit(r, value ? "true" : "false");
	} else if (tag != 'c' && len <= 16) {
		put_number(r, value);
	} else {
		emit(r, tag == 'c' ? "'\\u{" : "0x");
		put(r, from, len);
		emit(r, tag == 'c' ? "}'" : "");
	}
}

/* Appends the part that a form names by one letter. */
static void parse(struct rust *r, char what)
{
	r->is_bad |= ++r->depth > DEPTH_MOST;
	if (strchr("ctpPo", what) && take(r, 'B')) {
		back(r, what);
	} else if (what == 'a' && take(r, 'L')) { /* generic argument: a lifetime */
		base_62(r);
		put(r, "'_", 2);
	} else if (what == 'a') {
		parse(r, take(r, 'K') ? 'c' : 't');
	} else if (what == 'c' && take(r, 'p')) {
		put(r, "_", 1);
	} else if (what == 'c') {
		constant(r);
	} else if (what == 't') {
		type(r);
	} else if (what == 'D') {
		dynamic(r);
	} else if (what == 'F') {
		function(r);
	} else if (what == 'i') {
		identifier(r);
	} else if (what == 's' || what == 'L') { /* not shown: a hash, a reference's lifetime */
		tagged_62(r, what);
	} else if (what == 'm') { /* not shown: where an impl is */
		r->mute++;
		emit(r, "%s%p");
		r->mute--;
	} else {
		path(r, what);
	}
	r->depth--;
}

char *demangle_rust(const char *symbol)
{
	struct rust r = {.begin = symbol + 2, .p = symbol + 2};

	if (strncmp(symbol, "_R", 2) != 0 || symbol[2] < 'A' || symbol[2] > 'Z')
		return NULL;
	r.end = r.begin + strspn(r.begin, DIGITS "_");
	/* Suffixes of compilers begin with a dot. */
	r.out = *r.end && *r.end != '.' && *r.end != '$' ? NULL : malloc(NAME_MOST + 1);
	if (!r.out)
		return NULL;
	parse(&r, 'P');
	r.mute++;
	if (r.p < r.end) /* the crate that it was instantiated in */
		parse(&r, 'p');
	if (r.is_bad || r.p != r.end) {
		free(r.out);
		return NULL;
	}
	r.out[r.len] = 0;
	return r.out;
}
