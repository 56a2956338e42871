/*
 * demangle_rust.c - version 0 of Rust's mangling ("_R...", RFC 2603).
 *
 * One pass that reads and writes at the same time. What a symbol says again is a reference to where it was said, so that
 * a short one may be a very long text, or read itself: depth and length have an end, and then it is no name. Without what
 * tells crates and impls of one name apart.
 */
#include "collector/symbols/demangle_rust.h"

#include "collector/symbols/demangle_internal.h"

#define CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* ---- lifetimes ---- */

static void lifetime(struct rust *r, uint64_t index)
{
	uint64_t n = r->bound - index;

	if (index > r->bound && !r->mute)
		r->is_bad = true;
	rust_say(r, "'");
	if (!index) {
		rust_say(r, "_");
	} else if (n < 26) {
		rust_put(r, &"abcdefghijklmnopqrstuvwxyz"[n], 1);
	} else {
		rust_say(r, "_");
		rust_say_number(r, n);
	}
}

/* "for<'a, 'b> ". How many. */
static unsigned binder(struct rust *r)
{
	uint64_t cnt = rust_tagged_62(r, 'G');

	if (cnt > RUST_DEPTH_MOST)
		r->is_bad = true;
	if (r->is_bad || !cnt)
		return 0;
	rust_say(r, "for<");
	for (uint64_t i = 0; i < cnt; i++) {
		if (i)
			rust_say(r, ", ");
		r->bound++;
		lifetime(r, 1);
	}
	rust_say(r, "> ");
	return (unsigned)cnt;
}

/* ---- paths ---- */

static void generic_arguments(struct rust *r)
{
	for (unsigned i = 0; !r->is_bad && !rust_take(r, 'E'); i++) {
		if (i)
			rust_say(r, ", ");
		if (rust_take(r, 'L'))
			lifetime(r, rust_base_62(r));
		else if (rust_take(r, 'K'))
			rust_constant(r, false);
		else
			rust_type(r);
	}
}

static void nested(struct rust *r, bool in_value)
{
	char space = rust_next(r);
	struct rust_identifier id;
	uint64_t number;

	rust_path(r, in_value);
	number = rust_tagged_62(r, 's');
	id = rust_identifier(r);
	if (space >= 'A' && space <= 'Z') {
		rust_say(r, "::{");
		if (space == 'C')
			rust_say(r, "closure");
		else if (space == 'S')
			rust_say(r, "shim");
		else
			rust_put(r, &space, 1);
		if (id.len) {
			rust_say(r, ":");
			rust_say_identifier(r, &id);
		}
		rust_say(r, "#");
		rust_say_number(r, number);
		rust_say(r, "}");
	} else if (space < 'a' || space > 'z') {
		r->is_bad = true;
	} else if (id.len) {
		rust_say(r, "::");
		rust_say_identifier(r, &id);
	}
}

static void impl_path(struct rust *r)
{
	r->mute++;
	rust_tagged_62(r, 's');
	rust_path(r, false);
	r->mute--;
}

void rust_path(struct rust *r, bool in_value)
{
	struct rust_identifier id;
	char tag = rust_next(r);

	if (!rust_enter(r))
		return;
	switch (tag) {
	case 'C':
		rust_tagged_62(r, 's');
		id = rust_identifier(r);
		rust_say_identifier(r, &id);
		break;
	case 'N':
		nested(r, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		if (tag != 'Y')
			impl_path(r);
		rust_say(r, "<");
		rust_type(r);
		if (tag != 'M') {
			rust_say(r, " as ");
			rust_path(r, false);
		}
		rust_say(r, ">");
		break;
	case 'I':
		rust_path(r, in_value);
		rust_say(r, in_value ? "::<" : "<");
		generic_arguments(r);
		rust_say(r, ">");
		break;
	case 'B':
		rust_back(r, rust_path, in_value);
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
unsigned rust_list(struct rust *r, void (*one)(struct rust *, bool))
{
	unsigned cnt = 0;

	for (; !r->is_bad && !rust_take(r, 'E'); cnt++) {
		if (cnt)
			rust_say(r, ", ");
		one(r, true);
	}
	return cnt;
}

static void any_type(struct rust *r, bool unused)
{
	(void)unused;
	rust_type(r);
}

static void function_type(struct rust *r)
{
	unsigned bound = binder(r);
	struct rust_identifier abi;

	if (rust_take(r, 'U'))
		rust_say(r, "unsafe ");
	if (rust_take(r, 'K')) {
		abi = rust_take(r, 'C') ? (struct rust_identifier){.text = "C", .len = 1}
					: rust_identifier(r);
		rust_say(r, "extern \"");
		for (size_t i = 0; !r->is_bad && i < abi.len; i++)
			rust_put(r, abi.text[i] == '_' ? "-" : abi.text + i, 1);
		rust_say(r, "\" ");
	}
	rust_say(r, "fn(");
	rust_list(r, any_type);
	rust_say(r, ")");
	if (!rust_take(r, 'u')) {
		rust_say(r, " -> ");
		rust_type(r);
	}
	r->bound -= bound;
}

/* A path whose list of arguments may go on. */
static bool open_path(struct rust *r)
{
	bool is_open = false;

	if (!rust_enter(r))
		return false;
	if (rust_take(r, 'B')) {
		const char *at = r->p - 1, *behind;
		uint64_t to = rust_base_62(r);

		if (r->is_bad || to >= (uint64_t)(at - r->begin)) {
			r->is_bad = true;
		} else if (!r->mute) {
			behind = r->p;
			r->p = r->begin + to;
			is_open = open_path(r);
			r->p = behind;
		}
	} else if (rust_take(r, 'I')) {
		rust_path(r, false);
		rust_say(r, "<");
		generic_arguments(r);
		is_open = true;
	} else {
		rust_path(r, false);
	}
	r->depth--;
	return is_open;
}

static void dynamic_type(struct rust *r)
{
	unsigned bound;

	rust_say(r, "dyn ");
	bound = binder(r);
	for (unsigned i = 0; !r->is_bad && !rust_take(r, 'E'); i++) {
		bool is_open;

		if (i)
			rust_say(r, " + ");
		is_open = open_path(r);
		while (rust_take(r, 'p')) {
			struct rust_identifier id = rust_identifier(r);

			rust_say(r, is_open ? ", " : "<");
			is_open = true;
			rust_say_identifier(r, &id);
			rust_say(r, " = ");
			rust_type(r);
		}
		if (is_open)
			rust_say(r, ">");
	}
	r->bound -= bound;
	if (!rust_take(r, 'L')) {
		r->is_bad = true;
		return;
	}
	/* Without a name, it is left out. */
	if (rust_peek(r) == '_') {
		rust_next(r);
	} else {
		rust_say(r, " + ");
		lifetime(r, rust_base_62(r));
	}
}

static void reference(struct rust *r, bool is_mutable)
{
	uint64_t index;

	rust_say(r, "&");
	if (rust_take(r, 'L') && (index = rust_base_62(r))) {
		lifetime(r, index);
		rust_say(r, " ");
	}
	if (is_mutable)
		rust_say(r, "mut ");
	rust_type(r);
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
		rust_say(r, tag == 'P' ? "*const " : "*mut ");
		rust_type(r);
		break;
	case 'A':
	case 'S':
		rust_say(r, "[");
		rust_type(r);
		if (tag == 'A') {
			rust_say(r, "; ");
			rust_constant(r, true);
		}
		rust_say(r, "]");
		break;
	case 'T':
		rust_say(r, "(");
		if (rust_list(r, any_type) == 1)
			rust_say(r, ",");
		rust_say(r, ")");
		break;
	case 'F':
		function_type(r);
		break;
	case 'D':
		dynamic_type(r);
		break;
	case 'B':
		rust_back(r, any_type, false);
		break;
	default:
		r->p--;
		rust_path(r, false);
	}
}

void rust_type(struct rust *r)
{
	char tag = rust_next(r);

	if (!rust_enter(r))
		return;
	if (basic_type(tag))
		rust_say(r, basic_type(tag));
	else
		other_type(r, tag);
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
	r.out = malloc(RUST_TEXT_MOST + 1);
	if (!r.out)
		return NULL;
	rust_path(&r, true);
	if (r.p < r.end && !r.is_bad) { /* the crate that it was made for */
		r.mute++;
		rust_path(&r, false);
	}
	if (r.is_bad || r.p != r.end) {
		free(r.out);
		return NULL;
	}
	r.out[r.len] = 0;
	return r.out;
}
