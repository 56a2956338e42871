/*
 * demangle_rust_value.c - symbols of Rust: constants, the values of generic parameters.
 */
#include "collector/symbols/demangle_rust.h"

/* Digits up to '_'. */
static struct rust_identifier digits(struct rust *r)
{
	struct rust_identifier hex = {.text = r->p};

	while ((rust_peek(r) >= '0' && rust_peek(r) <= '9') ||
	       (rust_peek(r) >= 'a' && rust_peek(r) <= 'f'))
		r->p++;
	hex.len = (size_t)(r->p - hex.text);
	if (!rust_take(r, '_'))
		r->is_bad = true;
	return hex;
}

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* False: more than 64 bits. */
static bool value_of(struct rust_identifier hex, uint64_t *value)
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
			text[len++] = (char)('0' + (c >> 4));
		text[len++] = "0123456789abcdef"[c & 15];
		text[len++] = '}';
	} else {
		rust_say_character(r, c);
		return;
	}
	rust_put(r, text, len);
}

static void number(struct rust *r, bool is_signed)
{
	bool is_negative = is_signed && rust_take(r, 'n');
	struct rust_identifier hex = digits(r);
	uint64_t value;

	if (is_negative)
		rust_say(r, "-");
	if (value_of(hex, &value)) {
		rust_say_number(r, value);
	} else {
		rust_say(r, "0x");
		rust_put(r, hex.text, hex.len);
	}
}

/* The character whose UTF-8 begins at @hex, two digits a byte, and the digits it takes; none: UINT32_MAX. */
static uint32_t character(struct rust_identifier hex, size_t *took)
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
	return c >= least[more] && rust_is_character(c) ? c : UINT32_MAX;
}

static void string(struct rust *r)
{
	struct rust_identifier hex = digits(r);

	if (hex.len % 2)
		r->is_bad = true;
	rust_say(r, "\"");
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
	rust_say(r, "\"");
}

static void simple_constant(struct rust *r, char tag)
{
	struct rust_identifier hex;
	uint64_t value;

	if (tag == 'p') {
		rust_say(r, "_");
		return;
	}
	if (strchr("hjmoty", tag) || strchr("ailnsx", tag)) {
		number(r, strchr("ailnsx", tag) != NULL);
		return;
	}
	hex = digits(r);
	if (!value_of(hex, &value) || (tag == 'b' ? value > 1 : !rust_is_character(value))) {
		r->is_bad = true;
	} else if (tag == 'b') {
		rust_say(r, value ? "true" : "false");
	} else {
		rust_say(r, "'");
		say_escaped(r, (uint32_t)value, '\'');
		rust_say(r, "'");
	}
}

static void field(struct rust *r, bool unused)
{
	struct rust_identifier id;

	(void)unused;
	rust_tagged_62(r, 's');
	id = rust_identifier(r);
	rust_say_identifier(r, &id);
	rust_say(r, ": ");
	rust_constant(r, true);
}

static void variant(struct rust *r)
{
	char kind;

	rust_path(r, true);
	kind = rust_next(r);
	if (kind == 'T') {
		rust_say(r, "(");
		rust_list(r, rust_constant);
		rust_say(r, ")");
	} else if (kind == 'S') {
		rust_say(r, " { ");
		rust_list(r, field);
		rust_say(r, " }");
	} else if (kind != 'U') {
		r->is_bad = true;
	}
}

static void compound(struct rust *r, char tag)
{
	switch (tag) {
	case 'e':
		rust_say(r, "*");
		string(r);
		break;
	case 'R':
	case 'Q':
		if (tag == 'R' && rust_take(r, 'e')) {
			string(r);
			break;
		}
		rust_say(r, tag == 'R' ? "&" : "&mut ");
		rust_constant(r, true);
		break;
	case 'A':
		rust_say(r, "[");
		rust_list(r, rust_constant);
		rust_say(r, "]");
		break;
	case 'T':
		rust_say(r, "(");
		if (rust_list(r, rust_constant) == 1)
			rust_say(r, ",");
		rust_say(r, ")");
		break;
	case 'V':
		variant(r);
		break;
	default:
		r->is_bad = true;
	}
}

/* @in_value: within another, or where no braces are needed. */
void rust_constant(struct rust *r, bool in_value)
{
	char tag = rust_next(r);
	bool is_string = tag == 'R' && rust_peek(r) == 'e';

	if (!rust_enter(r))
		return;
	if (tag == 'B') {
		rust_back(r, rust_constant, in_value);
	} else if (strchr("pbchjmotyailnsx", tag)) {
		simple_constant(r, tag);
	} else {
		if (!in_value && !is_string)
			rust_say(r, "{");
		compound(r, tag);
		if (!in_value && !is_string)
			rust_say(r, "}");
	}
	r->depth--;
}
