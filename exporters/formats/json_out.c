/* json_out.c - digits two at a time, text into the buffer of an export. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/base/json.h"
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

#define PIECE 8192 /* JSON_ESCAPED(PIECE) fits OUT_ROOM_MAX */

void json_out_inside(struct out *o, const char *text, size_t len)
{
	while (len > 0) {
		size_t piece = len < PIECE ? len : PIECE, taken;

		o->p = json_escape(out_room(o, JSON_ESCAPED(piece)), text, piece, len, &taken);
		text += taken;
		len -= taken;
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
