/*
 * demangle_rust.c - version 0 of Rust's mangling ("_R...", RFC 2603).
 *
 * One pass that reads and writes at the same time. What a symbol says again is a reference to where it was said, so that
 * a short one may be a very long text, or read itself: depth and length have an end, and then it is no name. Without what
 * tells crates and impls of one name apart.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/demangle_internal.h"

#define DEPTH_MOST 128u
#define TEXT_MOST  16384u
#define CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define NAME_MOST  1024u /* characters of an identifier that is not ASCII */

struct rust {
	const char *begin, *p, *end; /* begin: behind "_R" */
	char *out;
	size_t len;
	unsigned depth, bound; /* bound: lifetimes that have been named so far */
	unsigned mute;         /* read only */
	bool is_bad;
};

static void path(struct rust *r, bool in_value);
static void type(struct rust *r);
static void constant(struct rust *r, bool in_value);

/* ---- reading and writing ---- */

static char peek(const struct rust *r)
{
	return r->p < r->end && !r->is_bad ? *r->p : 0;
}

static char next(struct rust *r)
{
	char c = peek(r);

	if (c)
		r->p++;
	else
		r->is_bad = true;
	return c;
}

static bool take(struct rust *r, char c)
{
	bool is = peek(r) == c;

	r->p += is;
	return is;
}

static void put(struct rust *r, const char *text, size_t len)
{
	if (r->mute || r->is_bad)
		return;
	if (len > TEXT_MOST - r->len) {
		r->is_bad = true;
		return;
	}
	memcpy(r->out + r->len, text, len);
	r->len += len;
}

static void say(struct rust *r, const char *text)
{
	put(r, text, strlen(text));
}

static void say_number(struct rust *r, uint64_t n)
{
	char text[24], *at = text + sizeof(text);

	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	put(r, at, (size_t)(text + sizeof(text) - at));
}

static void say_character(struct rust *r, uint32_t c)
{
	char text[4];
	size_t len = 0;

	if (c < 0x80) {
		text[len++] = (char)c;
	} else if (c < 0x800) {
		text[len++] = (char)(0xc0 | c >> 6);
		text[len++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		text[len++] = (char)(0xe0 | c >> 12);
		text[len++] = (char)(0x80 | (c >> 6 & 0x3f));
		text[len++] = (char)(0x80 | (c & 0x3f));
	} else {
		text[len++] = (char)(0xf0 | c >> 18);
		text[len++] = (char)(0x80 | (c >> 12 & 0x3f));
		text[len++] = (char)(0x80 | (c >> 6 & 0x3f));
		text[len++] = (char)(0x80 | (c & 0x3f));
	}
	put(r, text, len);
}

static bool is_character(uint64_t c)
{
	return c < 0xd800 || (c >= 0xe000 && c < 0x110000);
}

/* "_" is 0, "0_" 1. */
static uint64_t base_62(struct rust *r)
{
	uint64_t n = 0;

	if (take(r, '_'))
		return 0;
	while (!r->is_bad && !take(r, '_')) {
		char c = next(r);
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
							: 62;

		if (digit == 62 || __builtin_mul_overflow(n, 62u, &n) ||
		    __builtin_add_overflow(n, digit, &n))
			r->is_bad = true;
	}
	return n + 1;
}

/* 0 where @tag does not stand here. */
static uint64_t tagged_62(struct rust *r, char tag)
{
	return take(r, tag) ? base_62(r) + 1 : 0;
}

static bool enter(struct rust *r)
{
	if (++r->depth > DEPTH_MOST)
		r->is_bad = true;
	return !r->is_bad;
}

/* Behind 'B': @what as it stands there. */
static void back(struct rust *r, void (*what)(struct rust *, bool), bool in_value)
{
	const char *at = r->p - 1, *behind;
	uint64_t to = base_62(r);

	if (r->is_bad || to >= (uint64_t)(at - r->begin)) {
		r->is_bad = true;
		return;
	}
	if (r->mute)
		return;
	behind = r->p;
	r->p = r->begin + to;
	what(r, in_value);
	r->p = behind;
}

/* ---- identifiers ---- */

struct identifier {
	const char *text;
	size_t len;
	bool is_puny;
};

static struct identifier identifier(struct rust *r)
{
	struct identifier id = {.is_puny = take(r, 'u')};
	size_t len = 0;

	if (peek(r) < '0' || peek(r) > '9')
		r->is_bad = true;
	if (!take(r, '0'))
		while (peek(r) >= '0' && peek(r) <= '9' && len < TEXT_MOST)
			len = len * 10 + (size_t)(next(r) - '0');
	take(r, '_');
	if (r->is_bad || len > (size_t)(r->end - r->p)) {
		r->is_bad = true;
		return id;
	}
	id.text = r->p;
	id.len = len;
	r->p += len;
	return id;
}

/* RFC 3492, with '_' between the two parts. */
static bool unpack(const struct identifier *id, uint32_t *to, size_t *cnt)
{
	const char *p = id->text, *end = p + id->len, *split = end;
	uint32_t code = 128, bias = 72, at = 0, damp = 700;

	while (split > p && split[-1] != '_')
		split--;
	for (*cnt = 0; p + 1 < split; p++) {
		if (*cnt == NAME_MOST)
			return false;
		to[(*cnt)++] = (unsigned char)*p;
	}
	for (p = split; p < end; at++) {
		uint32_t was = at, weight = 1, delta, k = 36, digit, least;

		for (;; k += 36) {
			digit = p == end                 ? 36
				: *p >= 'a' && *p <= 'z' ? (uint32_t)(*p - 'a')
				: *p >= '0' && *p <= '9' ? (uint32_t)(*p - '0') + 26
							 : 36;
			p += p < end;
			if (digit == 36 || digit > (INT32_MAX - at) / weight)
				return false;
			at += digit * weight;
			least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
			if (digit < least)
				break;
			if (weight > INT32_MAX / (36 - least))
				return false;
			weight *= 36 - least;
		}
		delta = (at - was) / damp;
		damp = 2;
		delta += delta / (uint32_t)(*cnt + 1);
		for (bias = 0; delta > 455; bias += 36)
			delta /= 35;
		bias += 36 * delta / (delta + 38);
		code += at / (uint32_t)(*cnt + 1);
		at %= (uint32_t)(*cnt + 1);
		if (*cnt == NAME_MOST || !is_character(code))
			return false;
		memmove(to + at + 1, to + at, (*cnt - at) * sizeof(*to));
		to[at] = code;
		++*cnt;
	}
	return true;
}

static void say_identifier(struct rust *r, const struct identifier *id)
{
	uint32_t text[NAME_MOST];
	size_t cnt;

	if (r->is_bad || r->mute)
		return;
	if (!id->is_puny) {
		put(r, id->text, id->len);
	} else if (unpack(id, text, &cnt)) {
		for (size_t i = 0; i < cnt; i++)
			say_character(r, text[i]);
	} else {
		r->is_bad = true;
	}
}

/* ---- lifetimes ---- */

static void lifetime(struct rust *r, uint64_t index)
{
	uint64_t n = r->bound - index;

	if (index > r->bound && !r->mute)
		r->is_bad = true;
	say(r, "'");
	if (!index) {
		say(r, "_");
	} else if (n < 26) {
		put(r, &"abcdefghijklmnopqrstuvwxyz"[n], 1);
	} else {
		say(r, "_");
		say_number(r, n);
	}
}

/* "for<'a, 'b> ". How many. */
static unsigned binder(struct rust *r)
{
	uint64_t cnt = tagged_62(r, 'G');

	if (cnt > DEPTH_MOST)
		r->is_bad = true;
	if (r->is_bad || !cnt)
		return 0;
	say(r, "for<");
	for (uint64_t i = 0; i < cnt; i++) {
		if (i)
			say(r, ", ");
		r->bound++;
		lifetime(r, 1);
	}
	say(r, "> ");
	return (unsigned)cnt;
}

/* ---- paths ---- */

static void generic_arguments(struct rust *r)
{
	for (unsigned i = 0; !r->is_bad && !take(r, 'E'); i++) {
		if (i)
			say(r, ", ");
		if (take(r, 'L'))
			lifetime(r, base_62(r));
		else if (take(r, 'K'))
			constant(r, false);
		else
			type(r);
	}
}

static void nested(struct rust *r, bool in_value)
{
	char space = next(r);
	struct identifier id;
	uint64_t number;

	path(r, in_value);
	number = tagged_62(r, 's');
	id = identifier(r);
	if (space >= 'A' && space <= 'Z') {
		say(r, "::{");
		if (space == 'C')
			say(r, "closure");
		else if (space == 'S')
			say(r, "shim");
		else
			put(r, &space, 1);
		if (id.len) {
			say(r, ":");
			say_identifier(r, &id);
		}
		say(r, "#");
		say_number(r, number);
		say(r, "}");
	} else if (space < 'a' || space > 'z') {
		r->is_bad = true;
	} else if (id.len) {
		say(r, "::");
		say_identifier(r, &id);
	}
}

static void impl_path(struct rust *r)
{
	r->mute++;
	tagged_62(r, 's');
	path(r, false);
	r->mute--;
}

static void path(struct rust *r, bool in_value)
{
	struct identifier id;
	char tag = next(r);

	if (!enter(r))
		return;
	switch (tag) {
	case 'C':
		tagged_62(r, 's');
		id = identifier(r);
		say_identifier(r, &id);
		break;
	case 'N':
		nested(r, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		if (tag != 'Y')
			impl_path(r);
		say(r, "<");
		type(r);
		if (tag != 'M') {
			say(r, " as ");
			path(r, false);
		}
		say(r, ">");
		break;
	case 'I':
		path(r, in_value);
		say(r, in_value ? "::<" : "<");
		generic_arguments(r);
		say(r, ">");
		break;
	case 'B':
		back(r, path, in_value);
		break;
	default:
		r->is_bad = true;
	}
	r->depth--;
}

/* ---- types ---- */

static const char *basic_type(char tag)
{
	static const char *const names['z' - 'a' + 1] = {
		"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
		"usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* "A", "B" up to 'E'. How many. */
static unsigned list(struct rust *r, void (*one)(struct rust *, bool))
{
	unsigned cnt = 0;

	for (; !r->is_bad && !take(r, 'E'); cnt++) {
		if (cnt)
			say(r, ", ");
		one(r, true);
	}
	return cnt;
}

static void any_type(struct rust *r, bool unused)
{
	(void)unused;
	type(r);
}

static void function_type(struct rust *r)
{
	unsigned bound = binder(r);
	struct identifier abi;

	if (take(r, 'U'))
		say(r, "unsafe ");
	if (take(r, 'K')) {
		abi = take(r, 'C') ? (struct identifier){.text = "C", .len = 1} : identifier(r);
		say(r, "extern \"");
		for (size_t i = 0; !r->is_bad && i < abi.len; i++)
			put(r, abi.text[i] == '_' ? "-" : abi.text + i, 1);
		say(r, "\" ");
	}
	say(r, "fn(");
	list(r, any_type);
	say(r, ")");
	if (!take(r, 'u')) {
		say(r, " -> ");
		type(r);
	}
	r->bound -= bound;
}

/* A path whose list of arguments may go on. */
static bool open_path(struct rust *r)
{
	bool is_open = false;

	if (!enter(r))
		return false;
	if (take(r, 'B')) {
		const char *at = r->p - 1, *behind;
		uint64_t to = base_62(r);

		if (r->is_bad || to >= (uint64_t)(at - r->begin)) {
			r->is_bad = true;
		} else if (!r->mute) {
			behind = r->p;
			r->p = r->begin + to;
			is_open = open_path(r);
			r->p = behind;
		}
	} else if (take(r, 'I')) {
		path(r, false);
		say(r, "<");
		generic_arguments(r);
		is_open = true;
	} else {
		path(r, false);
	}
	r->depth--;
	return is_open;
}

static void dynamic_type(struct rust *r)
{
	unsigned bound;

	say(r, "dyn ");
	bound = binder(r);
	for (unsigned i = 0; !r->is_bad && !take(r, 'E'); i++) {
		bool is_open;

		if (i)
			say(r, " + ");
		is_open = open_path(r);
		while (take(r, 'p')) {
			struct identifier id = identifier(r);

			say(r, is_open ? ", " : "<");
			is_open = true;
			say_identifier(r, &id);
			say(r, " = ");
			type(r);
		}
		if (is_open)
			say(r, ">");
	}
	r->bound -= bound;
	if (!take(r, 'L')) {
		r->is_bad = true;
		return;
	}
	/* Without a name, it is left out. */
	if (peek(r) == '_') {
		next(r);
	} else {
		say(r, " + ");
		lifetime(r, base_62(r));
	}
}

static void reference(struct rust *r, bool is_mutable)
{
	uint64_t index;

	say(r, "&");
	if (take(r, 'L') && (index = base_62(r))) {
		lifetime(r, index);
		say(r, " ");
	}
	if (is_mutable)
		say(r, "mut ");
	type(r);
}

static void other_type(struct rust *r, char tag)
{
	switch (tag) {
	case 'R':
	case 'Q':
		reference(r, tag == 'Q');
		break;
	case 'P':
	case 'O':
		say(r, tag == 'P' ? "*const " : "*mut ");
		type(r);
		break;
	case 'A':
	case 'S':
		say(r, "[");
		type(r);
		if (tag == 'A') {
			say(r, "; ");
			constant(r, true);
		}
		say(r, "]");
		break;
	case 'T':
		say(r, "(");
		if (list(r, any_type) == 1)
			say(r, ",");
		say(r, ")");
		break;
	case 'F':
		function_type(r);
		break;
	case 'D':
		dynamic_type(r);
		break;
	case 'B':
		back(r, any_type, false);
		break;
	default:
		r->p--;
		path(r, false);
	}
}

static void type(struct rust *r)
{
	char tag = next(r);

	if (!enter(r))
		return;
	if (basic_type(tag))
		say(r, basic_type(tag));
	else
		other_type(r, tag);
	r->depth--;
}

/* ---- constants ---- */

/* Digits up to '_'. */
static struct identifier digits(struct rust *r)
{
	struct identifier hex = {.text = r->p};

	while ((peek(r) >= '0' && peek(r) <= '9') || (peek(r) >= 'a' && peek(r) <= 'f'))
		r->p++;
	hex.len = (size_t)(r->p - hex.text);
	if (!take(r, '_'))
		r->is_bad = true;
	return hex;
}

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* False: more than 64 bits. */
static bool value_of(struct identifier hex, uint64_t *value)
{
	*value = 0;
	for (; hex.len && *hex.text == '0'; hex.len--)
		hex.text++;
	for (size_t i = 0; i < hex.len; i++)
		*value = *value << 4 | digit(hex.text[i]);
	return hex.len <= 16;
}

static void say_escaped(struct rust *r, uint32_t c, char quote)
{
	static const char hex[] = "0123456789abcdef";
	char text[16];
	size_t len = 0;

	if (c == '\n' || c == '\t' || c == '\r' || c == 0 || c == '\\' || c == (uint32_t)quote) {
		text[len++] = '\\';
		text[len++] = c == '\n'   ? 'n'
			      : c == '\t' ? 't'
			      : c == '\r' ? 'r'
			      : c == 0    ? '0'
					  : (char)c;
	} else if (c < 32 || c == 127) {
		memcpy(text, "\\u{", 3);
		len = 3;
		if (c >> 4)
			text[len++] = hex[c >> 4];
		text[len++] = hex[c & 15];
		text[len++] = '}';
	} else {
		say_character(r, c);
		return;
	}
	put(r, text, len);
}

static void number(struct rust *r, bool is_signed)
{
	bool is_negative = is_signed && take(r, 'n');
	struct identifier hex = digits(r);
	uint64_t value;

	if (is_negative)
		say(r, "-");
	if (value_of(hex, &value)) {
		say_number(r, value);
	} else {
		say(r, "0x");
		put(r, hex.text, hex.len);
	}
}

/* The character whose UTF-8 begins at @hex, two digits a byte, and the digits it takes; none: UINT32_MAX. */
static uint32_t character(struct identifier hex, size_t *took)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	unsigned first = digit(hex.text[0]) << 4 | digit(hex.text[1]);
	unsigned more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	uint32_t c = more ? first & (0x3fu >> more) : first;

	*took = 2 + 2 * more;
	if (*took > hex.len || (first >= 0x80 && first < 0xc0) || first >= 0xf8)
		return UINT32_MAX;
	for (unsigned i = 1; i <= more; i++) {
		unsigned byte = digit(hex.text[2 * i]) << 4 | digit(hex.text[2 * i + 1]);

		if (byte >> 6 != 2)
			return UINT32_MAX;
		c = c << 6 | (byte & 0x3f);
	}
	return c >= least[more] && is_character(c) ? c : UINT32_MAX;
}

static void string(struct rust *r)
{
	struct identifier hex = digits(r);

	if (hex.len % 2)
		r->is_bad = true;
	say(r, "\"");
	while (!r->is_bad && hex.len) {
		size_t took;
		uint32_t c = character(hex, &took);

		if (c == UINT32_MAX) {
			r->is_bad = true;
			return;
		}
		say_escaped(r, c, '"');
		hex.text += took;
		hex.len -= took;
	}
	say(r, "\"");
}

static void simple_constant(struct rust *r, char tag)
{
	struct identifier hex;
	uint64_t value;

	if (tag == 'p') {
		say(r, "_");
		return;
	}
	if (strchr("hjmoty", tag) || strchr("ailnsx", tag)) {
		number(r, strchr("ailnsx", tag) != NULL);
		return;
	}
	hex = digits(r);
	if (!value_of(hex, &value) || (tag == 'b' ? value > 1 : !is_character(value))) {
		r->is_bad = true;
	} else if (tag == 'b') {
		say(r, value ? "true" : "false");
	} else {
		say(r, "'");
		say_escaped(r, (uint32_t)value, '\'');
		say(r, "'");
	}
}

static void field(struct rust *r, bool unused)
{
	struct identifier id;

	(void)unused;
	tagged_62(r, 's');
	id = identifier(r);
	say_identifier(r, &id);
	say(r, ": ");
	constant(r, true);
}

static void variant(struct rust *r)
{
	char kind;

	path(r, true);
	kind = next(r);
	if (kind == 'T') {
		say(r, "(");
		list(r, constant);
		say(r, ")");
	} else if (kind == 'S') {
		say(r, " { ");
		list(r, field);
		say(r, " }");
	} else if (kind != 'U') {
		r->is_bad = true;
	}
}

static void compound(struct rust *r, char tag)
{
	switch (tag) {
	case 'e':
		say(r, "*");
		string(r);
		break;
	case 'R':
	case 'Q':
		if (tag == 'R' && take(r, 'e')) {
			string(r);
			break;
		}
		say(r, tag == 'R' ? "&" : "&mut ");
		constant(r, true);
		break;
	case 'A':
		say(r, "[");
		list(r, constant);
		say(r, "]");
		break;
	case 'T':
		say(r, "(");
		if (list(r, constant) == 1)
			say(r, ",");
		say(r, ")");
		break;
	case 'V':
		variant(r);
		break;
	default:
		r->is_bad = true;
	}
}

/* @in_value: within another, or where no braces are needed. */
static void constant(struct rust *r, bool in_value)
{
	char tag = next(r);
	bool is_string = tag == 'R' && peek(r) == 'e';

	if (!enter(r))
		return;
	if (tag == 'B') {
		back(r, constant, in_value);
	} else if (strchr("pbchjmotyailnsx", tag)) {
		simple_constant(r, tag);
	} else {
		if (!in_value && !is_string)
			say(r, "{");
		compound(r, tag);
		if (!in_value && !is_string)
			say(r, "}");
	}
	r->depth--;
}

/* ---- symbols ---- */

char *demangle_rust(const char *symbol)
{
	struct rust r = {.begin = symbol + 2, .p = symbol + 2};

	/* A number would be that of another version. */
	if (strncmp(symbol, "_R", 2) != 0 || symbol[2] < 'A' || symbol[2] > 'Z')
		return NULL;
	r.end = r.begin + strspn(r.begin, CHARACTERS);
	/* What compilers add stands behind a dot. */
	if (*r.end && *r.end != '.' && *r.end != '$')
		return NULL;
	r.out = malloc(TEXT_MOST + 1);
	if (!r.out)
		return NULL;
	path(&r, true);
	if (r.p < r.end && !r.is_bad) { /* the crate that it was made for */
		r.mute++;
		path(&r, false);
	}
	if (r.is_bad || r.p != r.end) {
		free(r.out);
		return NULL;
	}
	r.out[r.len] = 0;
	return r.out;
}
