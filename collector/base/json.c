/* json.c - the writer of JSON. */
#include "collector/base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/utf8.h"

static bool has_room(struct writer *w, size_t len)
{
	size_t want = w->room ? w->room : 4096, max = w->max ? w->max : WRITER_MAX;
	char *more;

	if (w->failed || w->room - w->len >= len)
		return !w->failed;
	while (want - w->len < len && want < max)
		want *= 2;
	more = want - w->len >= len ? realloc(w->data, want) : NULL;
	if (!more) {
		w->failed = true;
		return false;
	}
	w->data = more;
	w->room = want;
	return true;
}

void writer_add(struct writer *w, const void *from, size_t len)
{
	if (len == 0)
		return;
	if (w->file) {
		fwrite(from, 1, len, w->file);
	} else if (has_room(w, len)) {
		memcpy(w->data + w->len, from, len);
		w->len += len;
	}
}

void writer_pad(struct writer *w, size_t to)
{
	static const char zeros[16];

	if (w->len % to)
		writer_add(w, zeros, to - w->len % to);
}

void writer_free(struct writer *w)
{
	free(w->data);
	*w = (struct writer){0};
}

/* ---- text ---- */

#define EACH(byte) (0x0101010101010101u * (byte))

/* True when all eight bytes stand for themselves: ASCII, no control character, no " and no backslash. */
static inline bool is_plain(uint64_t v)
{
	uint64_t quote = v ^ EACH('"'), back = v ^ EACH('\\'), del = v ^ EACH(0x7f);
	uint64_t odd =
		v | (v - EACH(0x20)) | (quote - EACH(1)) | (back - EACH(1)) | (del - EACH(1));

	return (odd & EACH(0x80)) == 0;
}

char *json_escape_code(char *to, uint32_t code)
{
	static const char hex[] = "0123456789abcdef";

	if (code > 0xffff) {
		to = json_escape_code(to, 0xd7c0 + (code >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	*to++ = '\\';
	*to++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*to++ = hex[code >> shift & 15];
	return to;
}

/* One character at @s that is not ASCII; returns the bytes of it. */
static size_t escape_wide(char **to, const unsigned char *s, size_t left)
{
	size_t len = utf8_len(s, left);
	uint32_t code = len ? utf8_code(s, len) : 0xfffd;

	if (!len || code < 0xa0 || utf8_is_hidden(code)) {
		*to = json_escape_code(*to, code);
		return len ? len : 1;
	}
	memcpy(*to, s, len);
	*to += len;
	return len;
}

char *json_escape(char *to, const char *text, size_t len, size_t all, size_t *taken)
{
	size_t at = 0;

	while (at < len) {
		unsigned char c = (unsigned char)text[at];
		uint64_t eight;

		if (at + 8 <= len) {
			memcpy(&eight, text + at, 8);
			memcpy(to, text + at, 8);
			if (is_plain(eight)) {
				to += 8;
				at += 8;
				continue;
			}
		}
		if (c >= 0x80) {
			at += escape_wide(&to, (const unsigned char *)text + at, all - at);
			continue;
		}
		at++;
		if (c < 0x20 || c == 0x7f) {
			to = json_escape_code(to, c);
			continue;
		}
		if (c == '"' || c == '\\')
			*to++ = '\\';
		*to++ = (char)c;
	}
	*taken = at;
	return to;
}

static void escaped(struct writer *w, const char *text, size_t len)
{
	char piece[JSON_ESCAPED(128)];
	size_t taken;

	for (; len; text += taken, len -= taken) {
		char *end = json_escape(piece, text, len < 128 ? len : 128, len, &taken);

		writer_add(w, piece, (size_t)(end - piece));
	}
}

/* Bytes of the character at @text; *seen: it can be seen, or is a space, tab or new line. */
static size_t look_at(const char *text, size_t len, bool *seen)
{
	size_t n = utf8_len((const unsigned char *)text, len);
	uint32_t code = n ? utf8_code((const unsigned char *)text, n) : 0;

	*seen = code == '\n' || code == '\t' ||
		(code >= 0x20 && (code < 0x7f || code >= 0xa0) && !utf8_is_hidden(code));
	return n ? n : 1;
}

/* @put: receives the visible pieces. */
static void marked(struct writer *w, const char *text, size_t len,
		   void (*put)(struct writer *w, const char *text, size_t len))
{
	size_t from = 0, n;
	bool seen;

	for (size_t at = 0; at < len; at += n) {
		n = look_at(text + at, len - at, &seen);
		if (seen)
			continue;
		put(w, text + from, at - from);
		writer_add(w, "\xEF\xBF\xBD", 3);
		from = at + n;
	}
	put(w, text + from, len - from);
}

static void as_it_is(struct writer *w, const char *text, size_t len)
{
	writer_add(w, text, len);
}

void writer_add_marked(struct writer *w, const char *text, size_t len)
{
	marked(w, text, len, as_it_is);
}

static void quoted(struct writer *w, const char *text, size_t len)
{
	bool is_cut = w->text_max && len > w->text_max;

	if (is_cut)
		for (len = w->text_max; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	writer_add(w, "\"", 1);
	if (w->is_marked)
		marked(w, text, len, escaped);
	else
		escaped(w, text, len);
	writer_add(w, "\xE2\x80\xA6\"" + (is_cut ? 0 : 3), is_cut ? 4 : 1);
}

/* ---- elements ---- */

static void new_line(struct writer *w)
{
	char text[256] = "\n";

	memset(text + 1, ' ', w->line);
	writer_add(w, text, w->line);
	w->line = 0;
}

static void begin(struct writer *w, const char *key)
{
	if (w->has_comma)
		writer_add(w, ",", 1);
	if (w->line)
		new_line(w);
	else if (w->has_comma && w->is_spaced)
		writer_add(w, " ", 1);
	w->has_comma = true;
	if (!key)
		return;
	quoted(w, key, strlen(key));
	writer_add(w, ": ", w->is_spaced ? 2 : 1);
}

void json_open(struct writer *w, const char *key, char bracket)
{
	begin(w, key);
	writer_add(w, &bracket, 1);
	w->has_comma = false;
}

void json_close(struct writer *w, char bracket)
{
	if (w->line)
		new_line(w);
	writer_add(w, &bracket, 1);
	w->has_comma = true;
}

void json_line(struct writer *w, unsigned indent)
{
	w->line = (uint8_t)(indent + 1);
}

void json_raw(struct writer *w, const char *key, const char *value, size_t len)
{
	begin(w, key);
	writer_add(w, value, len);
}

void json_format(struct writer *w, const char *key, const char *format, ...)
{
	char text[400]; /* %.0f has up to 310 digits */
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_raw(w, key, text,
		 len < 0                      ? 0
		 : (size_t)len < sizeof(text) ? (size_t)len
					      : sizeof(text) - 1);
}

void json_int(struct writer *w, const char *key, int64_t value)
{
	json_format(w, key, "%lld", (long long)value);
}

void json_real(struct writer *w, const char *key, double value)
{
	if (isfinite(value))
		json_format(w, key, "%.17g", value);
	else
		json_null(w, key);
}

void json_bool(struct writer *w, const char *key, bool value)
{
	json_raw(w, key, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct writer *w, const char *key)
{
	json_raw(w, key, "null", 4);
}

void json_bytes(struct writer *w, const char *key, const char *text, size_t len)
{
	begin(w, key);
	quoted(w, text, len);
}

void json_text(struct writer *w, const char *key, const char *text)
{
	if (text)
		json_bytes(w, key, text, strlen(text));
	else
		json_null(w, key);
}
