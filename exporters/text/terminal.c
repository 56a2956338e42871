/* terminal.c - the size of the terminal that a table is read on. */
#include "exporters/text/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "exporters/text/cell.h"

static struct winsize size_of(FILE *out)
{
	struct winsize size = {0};

	if (isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) < 0)
		size = (struct winsize){0};
	return size;
}

size_t terminal_columns(FILE *out)
{
	return size_of(out).ws_col;
}

size_t terminal_lines(FILE *out)
{
	return size_of(out).ws_row;
}

/* ---- lines that fit ---- */

#define HANG 4u /* columns, of what goes on below a line of text */

static size_t width_of(const char *text, size_t len)
{
	size_t width = 0;
	char *shown = text_people(text, len, 0, &width);

	free(shown);
	return width;
}

/* Bytes of the words at @text that take @columns at most; one word at least. */
static size_t words_within(const char *text, size_t len, size_t columns)
{
	size_t taken = 0;

	for (size_t end = 0; end < len; end++) {
		end += strcspn(text + end, " \n");
		if (end > len)
			end = len;
		if (taken && width_of(text, end) > columns)
			break;
		taken = end;
	}
	return taken;
}

static void put_line(FILE *out, const char *line, size_t len, size_t columns)
{
	size_t indent = strspn(line, " "), hang = indent + HANG;
	const char *command = memmem(line, len, "sightline ", strlen("sightline "));

	if (width_of(line, len) <= columns || indent >= len) {
		fwrite(line, 1, len, out);
	} else if (command && indent) {
		fprintf(out, "  %.*s", (int)(len - indent), line + indent);
	} else {
		size_t first = indent + words_within(line + indent, len - indent, columns - indent);

		hang = hang < columns / 2 ? hang : columns / 2;
		fwrite(line, 1, first, out);
		for (size_t at = first + strspn(line + first, " "); at < len;) {
			size_t more = words_within(line + at, len - at, columns - hang);

			fprintf(out, "\n%*s%.*s", (int)hang, "", (int)more, line + at);
			at += more;
			at += strspn(line + at, " ");
		}
	}
	putc('\n', out);
}

void text_put_fitted(FILE *out, const char *text, size_t columns)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		put_line(out, text, len, columns);
		text += len + (text[len] == '\n');
	}
}
