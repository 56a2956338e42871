/* json_out.c - digits two at a time, text eight bytes at a time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/base/utf8.h"
#include "exporters/text/cell.h"
#include "exporters/formats/json_out.h"

static const char pairs[201] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

static unsigned digit_count(uint64_t v)
{
	unsigned cnt = 1;

	for (; v >= 10000; v /= 10000)
		cnt += 4;
	return cnt + (v >= 10) + (v >= 100) + (v >= 1000);
}

char *digits_of(char *p, uint64_t value)
{
	unsigned cnt = digit_count(value);
	char *at = p + cnt;

	while (value >= 100) {
		at -= 2;
		memcpy(at, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10)
		memcpy(p, pairs + value * 2, 2);
	else
		*p = (char)('0' + value);
	return p + cnt;
}

char *us_at(char *p, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	unsigned rest = (unsigned)(size % 1000);

	if (ns < 0)
		*p++ = '-';
	p = digits_of(p, size / 1000);
	*p++ = '.';
	*p++ = (char)('0' + rest / 100);
	memcpy(p, pairs + rest % 100 * 2, 2);
	return p + 2;
}

/* ---- text ---- */

#define EACH(byte) (0x0101010101010101u * (byte))

/* True when all eight bytes stand for themselves: ASCII, no control character, no " and no backslash. */
static inline bool plain(uint64_t w)
{
	uint64_t quote = w ^ EACH('"'), back = w ^ EACH('\\'), del = w ^ EACH(0x7F);
	uint64_t odd =
		w | (w - EACH(0x20)) | (quote - EACH(1)) | (back - EACH(1)) | (del - EACH(1));

	return (odd & EACH(0x80)) == 0;
}

/* One character that needs thought; returns how many bytes it took. Room for 8 is there. */
static size_t escape(struct out *o, const char *text, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char c = (unsigned char)*text;
	int32_t cp;
	size_t bytes;

	if (c == '"' || c == '\\') {
		*o->p++ = '\\';
		*o->p++ = (char)c;
		return 1;
	}
	if (c < 0x20 || c == 0x7F) {
		o->p = literal_at(o->p, "\\u00");
		*o->p++ = hex[c >> 4];
		*o->p++ = hex[c & 15];
		return 1;
	}
	if (c < 0x80) {
		*o->p++ = (char)c;
		return 1;
	}
	bytes = utf8_next(text, len, &cp);
	if (cp < 0) {
		o->p = literal_at(o->p, "\\ufffd");
		return bytes;
	}
	if (cp >= 0xA0 && utf8_is_hidden((uint32_t)cp)) {
		char *to = o->p;

		o->p += cp > 0xFFFF ? sprintf(to, "\\u%04x\\u%04x", 0xD7C0u + ((unsigned)cp >> 10),
					      0xDC00u + ((unsigned)cp & 0x3FF))
				    : sprintf(to, "\\u%04x", (unsigned)cp);
		return bytes;
	}
	if (cp < 0xA0) { /* controls, like those below 0x20 */
		o->p = literal_at(o->p, "\\u00");
		*o->p++ = hex[cp >> 4];
		*o->p++ = hex[cp & 15];
		return bytes;
	}
	memcpy(o->p, text, bytes);
	o->p += bytes;
	return bytes;
}

/* A piece that fits the buffer even if all of it has to be escaped. */
static size_t piece(struct out *o, const char *text, size_t len, size_t all)
{
	size_t at = 0;

	out_room(o, len * 6 + 16);
	while (at < len) {
		while (at + 8 <= len) {
			uint64_t w;

			memcpy(&w, text + at, 8);
			memcpy(o->p, text + at, 8);
			if (!plain(w))
				break;
			o->p += 8;
			at += 8;
		}
		if (at >= len)
			break;
		at += escape(o, text + at, all - at);
	}
	return at;
}

void json_out_inside(struct out *o, const char *text, size_t len)
{
	while (len > 0) {
		size_t done = piece(o, text, len < 8192 ? len : 8192, len);

		text += done;
		len -= done;
	}
}

void json_out_text(struct out *o, const char *text, size_t len)
{
	*out_room(o, 1) = '"';
	o->p++;
	json_out_inside(o, text, len);
	*out_room(o, 1) = '"';
	o->p++;
}

char *json_quoted(const char *begin, const char *text, size_t len, const char *end)
{
	size_t room = strlen(begin) + len * 6 + strlen(end) + 65536;
	struct out small = {.buf = malloc(room), .size = room};
	char *quoted;

	if (!small.buf)
		return NULL;
	small.p = small.buf;
	small.end = small.buf + room;
	out_text(&small, begin);
	json_out_text(&small, text, len);
	out_text(&small, end);
	quoted = strndup(small.buf, (size_t)(small.p - small.buf));
	free(small.buf);
	return quoted;
}

void json_out_real(struct out *o, double value)
{
	struct cell c = {.kind = CELL_REAL, .real = value};
	char buf[CELL_NUMBER_MAX];
	size_t len;

	if (isnan(value)) {
		out_literal(o, "\"NaN\"");
		return;
	}
	if (isinf(value)) {
		out_text(o, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
		return;
	}
	len = cell_number(&c, buf);
	out_write(o, buf, len);
}
