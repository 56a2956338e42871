/* view_line.c - the command, with times as exact as the length asks for. */
#include "exporters/text/cell.h"
#include "exporters/text/view_line.h"

#define INSTANT_ROOM 1000000 /* ns on both sides of an instant */
#define INSTANT_STEP 1000

/* Seconds with as many decimals as @step ns need. */
static void put_time(FILE *out, int64_t ns, int64_t step)
{
	int decimals = 0;

	for (int64_t unit = 1000000000; unit > step && decimals < 9; unit /= 10)
		decimals++;
	fprintf(out, "%.*fs", decimals, (double)ns / 1e9);
}

void text_put_view(FILE *out, const char *report, const char *row, int64_t start, int64_t end)
{
	int64_t room = end > start ? (end - start) / 2 : INSTANT_ROOM;
	int64_t step = end > start ? (end - start) / 20 : INSTANT_STEP;

	fputs("sightline view ", out);
	text_put_shell(out, report);
	fputs(" --at ", out);
	put_time(out, start, step);
	if (row && *row) {
		fputs(" --row ", out);
		text_put_shell(out, row);
	}
	fputs(" --span ", out);
	put_time(out, start > room || start < 0 ? start - room : 0, step);
	putc('-', out);
	put_time(out, end + room, step);
}
