/*
 * demangle_rust_text.c - symbols of Rust, character by character: numbers and identifiers as they stand there, text as it is
 * written.
 */
#include "collector/symbols/demangle_rust.h"

#define NAME_MOST 1024u /* characters of an identifier that is not ASCII */

char rust_peek(const struct rust *r)
{
	return r->p < r->end && !r->is_bad ? *r->p : 0;
}

char rust_next(struct rust *r)
{
	char c = rust_peek(r);

	if (c)
		r->p++;
	else
		r->is_bad = true;
	return c;
}

bool rust_take(struct rust *r, char c)
{
	bool is = rust_peek(r) == c;

	r->p += is;
	return is;
}

void rust_put(struct rust *r, const char *text, size_t len)
{
	if (r->mute || r->is_bad)
		return;
	if (len > RUST_TEXT_MOST - r->len) {
		r->is_bad = true;
		return;
	}
	memcpy(r->out + r->len, text, len);
	r->len += len;
}

void rust_say(struct rust *r, const char *text)
{
	rust_put(r, text, strlen(text));
}

void rust_say_number(struct rust *r, uint64_t n)
{
	char text[24], *at = text + sizeof(text);

	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	rust_put(r, at, (size_t)(text + sizeof(text) - at));
}

void rust_say_character(struct rust *r, uint32_t c)
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
	rust_put(r, text, len);
}

bool rust_is_character(uint64_t c)
{
	return c < 0xd800 || (c >= 0xe000 && c < 0x110000);
}

/* "_" is 0, "0_" 1. */
uint64_t rust_base_62(struct rust *r)
{
	uint64_t n = 0;

	if (rust_take(r, '_'))
		return 0;
	while (!r->is_bad && !rust_take(r, '_')) {
		char c = rust_next(r);
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
uint64_t rust_tagged_62(struct rust *r, char tag)
{
	return rust_take(r, tag) ? rust_base_62(r) + 1 : 0;
}

bool rust_enter(struct rust *r)
{
	if (++r->depth > RUST_DEPTH_MOST)
		r->is_bad = true;
	return !r->is_bad;
}

/* Behind 'B': @what as it stands there. */
void rust_back(struct rust *r, void (*what)(struct rust *, bool), bool in_value)
{
	const char *at = r->p - 1, *behind;
	uint64_t to = rust_base_62(r);

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

struct rust_identifier rust_identifier(struct rust *r)
{
	struct rust_identifier id = {.is_puny = rust_take(r, 'u')};
	size_t len = 0;

	if (rust_peek(r) < '0' || rust_peek(r) > '9')
		r->is_bad = true;
	if (!rust_take(r, '0'))
		while (rust_peek(r) >= '0' && rust_peek(r) <= '9' && len < RUST_TEXT_MOST)
			len = len * 10 + (size_t)(rust_next(r) - '0');
	rust_take(r, '_');
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
static bool unpack(const struct rust_identifier *id, uint32_t *to, size_t *cnt)
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
		if (*cnt == NAME_MOST || !rust_is_character(code))
			return false;
		memmove(to + at + 1, to + at, (*cnt - at) * sizeof(*to));
		to[at] = code;
		++*cnt;
	}
	return true;
}

void rust_say_identifier(struct rust *r, const struct rust_identifier *id)
{
	uint32_t text[NAME_MOST];
	size_t cnt;

	if (r->is_bad || r->mute)
		return;
	if (!id->is_puny) {
		rust_put(r, id->text, id->len);
	} else if (unpack(id, text, &cnt)) {
		for (size_t i = 0; i < cnt; i++)
			rust_say_character(r, text[i]);
	} else {
		r->is_bad = true;
	}
}
