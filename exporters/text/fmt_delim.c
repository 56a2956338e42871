/* fmt_delim.c - formats csv (RFC 4180, lines end in LF) and tsv. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "exporters/text/format.h"

static void csv_text(FILE *out, const char *text, size_t len)
{
	bool quote = len == 0; /* "" is an empty text, nothing at all is NULL */

	for (size_t i = 0; i < len && !quote; i++)
		quote = strchr(",\"\r\n", text[i]) != NULL; /* a NUL byte is found, too */
	if (!quote) {
		fwrite(text, 1, len, out);
		return;
	}
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			putc('"', out);
		putc(text[i], out);
	}
	putc('"', out);
}

/* Without :esc a tab or line end inside a text becomes a space: a row stays a line of @cols fields. */
static void tsv_text(FILE *out, const char *text, size_t len, bool escape)
{
	for (size_t i = 0; i < len; i++) {
		const char *at = strchr("\t\n\r\\", text[i]);

		if (!text[i] || !at)
			putc(text[i], out);
		else if (escape)
			fprintf(out, "\\%c", "tnr\\"[at - "\t\n\r\\"]);
		else
			putc(text[i] == '\\' ? '\\' : ' ', out);
	}
}

static void put_text(struct sheet *s, const char *text, size_t len, char delimiter)
{
	/* Files keep the text unchanged. The console's tables may be made in memory first. */
	bool is_shown = (s->console || s->out == stdout) && isatty(STDOUT_FILENO);
	char *clean = is_shown ? malloc(len + 1) : NULL;

	if (clean) {
		memcpy(clean, text, len);
		sl_clean(clean, len);
		text = clean;
	}
	if (delimiter == ',')
		csv_text(s->out, text, len);
	else
		tsv_text(s->out, text, len, s->opt.escape);
	free(clean);
}

static void put_line(struct sheet *s, const struct cell *cells, char delimiter)
{
	for (int i = 0; i < s->cols; i++) {
		const char *text = cells ? cells[i].text : s->heads[i];
		size_t len = cells ? cells[i].len : strlen(s->heads[i]);
		char number[CELL_NUMBER_MAX];

		if (i > 0)
			putc(delimiter, s->out);
		if (cells && cells[i].kind != CELL_TEXT)
			fwrite(number, 1, cell_number(&cells[i], number), s->out);
		else
			put_text(s, text, len, delimiter);
	}
	putc('\n', s->out);
}

static int csv_begin(struct sheet *s)
{
	if (!s->opt.no_header)
		put_line(s, NULL, ',');
	return 0;
}

static int csv_row(struct sheet *s, const struct cell *cells)
{
	put_line(s, cells, ',');
	return 0;
}

static int tsv_begin(struct sheet *s)
{
	if (!s->opt.no_header)
		put_line(s, NULL, '\t');
	return 0;
}

static int tsv_row(struct sheet *s, const struct cell *cells)
{
	put_line(s, cells, '\t');
	return 0;
}

/* On the console an empty line separates tables. */
static int delim_end(struct sheet *s)
{
	if (s->console)
		putc('\n', s->out);
	return 0;
}

const struct format format_csv = {
	.name = "csv",
	.extension = "csv",
	.about = "comma-separated values (RFC 4180)",
	.modifiers = "nohdr",
	.begin = csv_begin,
	.row = csv_row,
	.end = delim_end,
};

const struct format format_tsv = {
	.name = "tsv",
	.extension = "tsv",
	.about = "tab-separated values",
	.modifiers = "nohdr,esc",
	.begin = tsv_begin,
	.row = tsv_row,
	.end = delim_end,
};
