/*
 * fmt_json.c - format json: an array with one object per row, keys being the headings.
 *
 * Valid whatever a path contains: bytes that are no UTF-8 become U+FFFD, numbers stay numbers.
 */
#include <stdlib.h>

#include "collector/base/json.h"
#include "exporters/text/format.h"

static int begin(struct sheet *s)
{
	struct writer *w = calloc(1, sizeof(*w));

	s->state = w;
	putc('[', s->out);
	if (!w)
		return -1;
	w->file = s->out;
	w->is_spaced = true;
	return 0;
}

static int row(struct sheet *s, const struct cell *cells)
{
	struct writer *w = s->state;

	json_line(w, 2);
	json_open(w, NULL, '{');
	for (int i = 0; i < s->cols; i++) {
		char number[CELL_NUMBER_MAX];
		size_t len;

		if (cells[i].kind == CELL_TEXT)
			json_bytes(w, s->heads[i], cells[i].text, cells[i].len);
		else if ((len = cell_number(&cells[i], number)))
			json_raw(w, s->heads[i], number, len);
		else
			json_null(w, s->heads[i]);
	}
	json_close(w, '}');
	return 0;
}

static int end(struct sheet *s)
{
	struct writer *w = s->state;

	fputs(w && w->has_comma ? "\n]\n" : "]\n", s->out);
	free(w);
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
