/* report_lines.c - prints which reports are complete, and their default tables. */
#include "collector/run/report_lines.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"

void report_stats(const char *report)
{
	char stats[] = "stats";

	commands_run(stats, (char *[]){stats, (char *)(uintptr_t)report, NULL});
}

void report_lines(char *lines)
{
	char *report = NULL, *rest = NULL;

	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strcmp(line, "--stats") == 0) {
			report_stats(report);
			continue;
		}
		report = line;
		sl_warn("report: %s", report);
	}
}
