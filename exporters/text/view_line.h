/* view_line.h - the command that opens a report's timeline at a place. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/*
 * "sightline view run.sqlite --at 60.388s --row 4711 --span 60.380s-60.400s": opens at @start, with as much time around as half of the
 * time up to @end. ns of the report's clock; an instant where they are equal. @row as --row takes it; NULL or "": none. No newline.
 */
void text_put_view(FILE *out, const char *report, const char *row, int64_t start, int64_t end);
