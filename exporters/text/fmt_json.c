/*
 * fmt_json.c - format json: an array with one object per row, keys being the headings.
 *
 * Valid whatever a path contains: bytes that are no UTF-8 become U+FFFD, numbers stay numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "exporters/text/format.h"

void json_string(FILE *out, const char *text, size_t len)
{
	putc('"', out);
	for (size_t pos = 0; pos < len;) {
		int32_t cp;
		size_t bytes = utf8_next(text + pos, len - pos, &cp);

		if (cp < 0)
			fputs("\\ufffd", out);
		else if (cp == '"' || cp == '\\')
			fprintf(out, "\\%c", (char)cp);
		else if (cp > 0xFFFF && utf8_is_hidden((uint32_t)cp))
			fprintf(out, "\\u%04x\\u%04x", 0xD7C0 + ((unsigned)cp >> 10),
				0xDC00 + ((unsigned)cp & 0x3FF));
		else if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || utf8_is_hidden((uint32_t)cp))
			fprintf(out, "\\u%04x", (unsigned)cp);
		else
			fwrite(text + pos, 1, bytes, out);
		pos += bytes;
	}
	putc('"', out);
}

static int begin(struct sheet *s)
{
	bool *any = calloc(1, sizeof(*any));

	s->state = any;
	putc('[', s->out);
	return any ? 0 : -1;
}

static int row(struct sheet *s, const struct cell *cells)
{
	bool *any = s->state;

	fputs(*any ? ",\n  {" : "\n  {", s->out);
	*any = true;
	for (int i = 0; i < s->cols; i++) {
		char number[CELL_NUMBER_MAX];

		if (i > 0)
			fputs(", ", s->out);
		json_string(s->out, s->heads[i], strlen(s->heads[i]));
		fputs(": ", s->out);
		if (cells[i].kind == CELL_TEXT)
			json_string(s->out, cells[i].text, cells[i].len);
		else
			fputs(cell_number(&cells[i], number) ? number : "null", s->out);
	}
	putc('}', s->out);
	return 0;
}

static int end(struct sheet *s)
{
	bool *any = s->state;

	fputs(any && *any ? "\n]\n" : "]\n", s->out);
	free(any);
	s->state = NULL;
	return 0;
}

const struct format format_json = {
	.name = "json",
	.extension = "json",
	.about = "an array with one object per row",
	.modifiers = "",
	.begin = begin,
	.row = row,
	.end = end,
};
