/* fmt_html.c - formats hdoc (a whole page) and htable (a table to put into one). */
#include <stdlib.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "exporters/text/format.h"

static const char style[] = "body{font-family:sans-serif}table{border-collapse:collapse}"
			    "th,td{border:1px solid #bbb;padding:2px 8px}th{background:#eee}"
			    ".n{text-align:right;font-variant-numeric:tabular-nums}";

static void put_text(FILE *out, const char *text, size_t len)
{
	for (size_t pos = 0; pos < len;) {
		int32_t cp;
		size_t bytes = utf8_next(text + pos, len - pos, &cp);

		if (cp < 0 || (cp < 0x20 && cp != '\t' && cp != '\n') ||
		    utf8_is_hidden((uint32_t)cp))
			fputs("&#xFFFD;", out);
		else if (cp == '&' || cp == '<' || cp == '>' || cp == '"' || cp == '\'')
			fprintf(out, "&#%d;", (int)cp);
		else
			fwrite(text + pos, 1, bytes, out);
		pos += bytes;
	}
}

static void put_str(FILE *out, const char *text)
{
	put_text(out, text, strlen(text));
}

static int table_begin(struct sheet *s)
{
	fputs("<table>\n<thead><tr>", s->out);
	for (int i = 0; i < s->cols; i++) {
		fputs("<th>", s->out);
		put_str(s->out, s->heads[i]);
		fputs("</th>", s->out);
	}
	fputs("</tr></thead>\n<tbody>\n", s->out);
	return 0;
}

static int doc_begin(struct sheet *s)
{
	const char *title = *s->opt.title ? s->opt.title : s->title;

	fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", s->out);
	put_str(s->out, title);
	fputs("</title>\n", s->out);
	if (*s->opt.css) {
		fputs("<link rel=\"stylesheet\" href=\"", s->out);
		put_str(s->out, s->opt.css);
		fputs("\">\n", s->out);
	} else {
		fprintf(s->out, "<style>%s</style>\n", style);
	}
	fputs("</head><body>\n<h1>", s->out);
	put_str(s->out, title);
	fputs("</h1>\n", s->out);
	return table_begin(s);
}

static int row(struct sheet *s, const struct cell *cells)
{
	fputs("<tr>", s->out);
	for (int i = 0; i < s->cols; i++) {
		char number[CELL_NUMBER_MAX];

		if (cells[i].kind == CELL_TEXT) {
			fputs("<td>", s->out);
			put_text(s->out, cells[i].text, cells[i].len);
		} else {
			fputs("<td class=\"n\">", s->out);
			fwrite(number, 1, cell_number(&cells[i], number), s->out);
		}
		fputs("</td>", s->out);
	}
	fputs("</tr>\n", s->out);
	return 0;
}

static int table_end(struct sheet *s)
{
	fputs("</tbody>\n</table>\n", s->out);
	return 0;
}

static int doc_end(struct sheet *s)
{
	table_end(s);
	fputs("</body></html>\n", s->out);
	return 0;
}

const struct format format_hdoc = {
	.name = "hdoc",
	.extension = "html",
	.about = "a whole HTML page",
	.modifiers = "title=,css=",
	.begin = doc_begin,
	.row = row,
	.end = doc_end,
};

const struct format format_htable = {
	.name = "htable",
	.extension = "html",
	.about = "a bare HTML table",
	.modifiers = "",
	.begin = table_begin,
	.row = row,
	.end = table_end,
};
