/* report_lines.h - output of a command about complete reports: a line each on stderr, and the default tables. */
#pragma once

/* Prints the default tables, as 'sightline stats' does. */
void report_stats(const char *report);
/* The answer of a collector, which is cut up: a line for each complete report; "--stats" after one prints its tables. */
void report_lines(char *lines);
