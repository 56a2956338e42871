/* buf.c - bytes and JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "exporters/view/buf.h"

#define BYTES_MAX (512u << 20)
#define SAFE      (INT64_C(1) << 53)

static bool has_room(struct view_buf *b, size_t len)
{
	size_t want = b->room ? b->room : 4096;
	char *more;

	if (b->failed || b->room - b->len >= len)
		return !b->failed;
	while (want - b->len < len && want < BYTES_MAX)
		want *= 2;
	more = want - b->len >= len ? realloc(b->data, want) : NULL;
	if (!more) {
		b->failed = true;
		return false;
	}
	b->data = more;
	b->room = want;
	return true;
}

void view_buf_add(struct view_buf *b, const void *from, size_t len)
{
	if (len == 0 || !has_room(b, len))
		return;
	memcpy(b->data + b->len, from, len);
	b->len += len;
}

void view_buf_pad(struct view_buf *b, size_t to)
{
	static const char zeros[16];

	if (b->len % to)
		view_buf_add(b, zeros, to - b->len % to);
}

void view_buf_free(struct view_buf *b)
{
	free(b->data);
	*b = (struct view_buf){0};
}

/* ---- JSON ---- */

static void add_text(struct view_buf *b, const char *text)
{
	view_buf_add(b, text, strlen(text));
}

static void quoted(struct view_buf *b, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t plain = 0;
	char code[8];

	view_buf_add(b, "\"", 1);
	for (size_t i = 0; i < len;) {
		size_t n = s[i] ? utf8_len(s + i, len - i) : 0;

		if (n > 1 ||
		    (n == 1 && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' && s[i] != 0x7f)) {
			i += n;
			continue;
		}
		view_buf_add(b, text + plain, i - plain);
		if (n == 0 && s[i] != 0)
			add_text(b, "\xEF\xBF\xBD");
		else {
			snprintf(code, sizeof(code), "\\u%04x", s[i]);
			add_text(b, code);
		}
		plain = ++i;
	}
	view_buf_add(b, text + plain, len - plain);
	view_buf_add(b, "\"", 1);
}

static void begin(struct view_buf *b, const char *key)
{
	if (b->comma)
		view_buf_add(b, ",", 1);
	b->comma = true;
	if (!key)
		return;
	quoted(b, key, strlen(key));
	view_buf_add(b, ":", 1);
}

void js_open(struct view_buf *b, const char *key, char bracket)
{
	begin(b, key);
	view_buf_add(b, &bracket, 1);
	b->comma = false;
}

void js_close(struct view_buf *b, char bracket)
{
	view_buf_add(b, &bracket, 1);
	b->comma = true;
}

void js_int(struct view_buf *b, const char *key, int64_t value)
{
	char text[32];

	begin(b, key);
	snprintf(text, sizeof(text), value > SAFE || value < -SAFE ? "\"%lld\"" : "%lld",
		 (long long)value);
	add_text(b, text);
}

void js_real(struct view_buf *b, const char *key, double value)
{
	char text[40];

	begin(b, key);
	snprintf(text, sizeof(text), "%.17g", value);
	add_text(b, isfinite(value) ? text : "null");
}

void js_bool(struct view_buf *b, const char *key, bool value)
{
	begin(b, key);
	add_text(b, value ? "true" : "false");
}

void js_null(struct view_buf *b, const char *key)
{
	begin(b, key);
	add_text(b, "null");
}

void js_bytes(struct view_buf *b, const char *key, const char *text, size_t len)
{
	begin(b, key);
	quoted(b, text, len);
}

void js_text(struct view_buf *b, const char *key, const char *text)
{
	js_bytes(b, key, text ? text : "", text ? strlen(text) : 0);
}
