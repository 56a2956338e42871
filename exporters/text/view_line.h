/* view_line.h - the command that opens a report's timeline at a place. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* "sightline view run.sqlite --at 60.388s --row 4711 --span 60.380s-60.400s"; @tid -1: no row. ns of the report's clock. No newline. */
void text_put_view(FILE *out, const char *report, int64_t tid, int64_t start, int64_t end);
