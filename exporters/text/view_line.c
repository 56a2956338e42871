/* view_line.c - the command, with a path that a shell takes as it stands. */
#include <string.h>

#include "exporters/text/cell.h"
#include "exporters/text/view_line.h"

/* As one word of a shell. */
static void put_path(FILE *out, const char *path)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,@%:=";

	if (*path && path[strspn(path, plain)] == '\0') {
		fputs(path, out);
		return;
	}
	putc('\'', out);
	for (const char *p = path; *p; p++) {
		char c[2] = {*p, '\0'};

		if (*p == '\'')
			fputs("'\\''", out);
		else if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			text_put_people(out, c);
		else
			putc(*p, out);
	}
	putc('\'', out);
}

/* Seconds with as many decimals as @step ns need. */
static void put_time(FILE *out, int64_t ns, int64_t step)
{
	int decimals = 0;

	for (int64_t unit = 1000000000; unit > step && decimals < 9; unit /= 10)
		decimals++;
	fprintf(out, "%.*fs", decimals, (double)ns / 1e9);
}

void text_put_view(FILE *out, const char *report, int64_t tid, int64_t start, int64_t end)
{
	int64_t room = (end - start) / 2, step = (end - start) / 20;

	fputs("sightline view ", out);
	put_path(out, report);
	fputs(" --at ", out);
	put_time(out, start, step);
	if (tid >= 0)
		fprintf(out, " --row %lld", (long long)tid);
	fputs(" --span ", out);
	put_time(out, start > room || start < 0 ? start - room : 0, step);
	putc('-', out);
	put_time(out, end + room, step);
}
