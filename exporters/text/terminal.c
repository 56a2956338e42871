/* terminal.c - the size of the terminal that a table is read on. */
#include "exporters/text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

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
