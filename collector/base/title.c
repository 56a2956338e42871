/* title.c - where the kernel finds the command and the environment of a process. */
#include "collector/base/title.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ps shows a fork with its parent's command and environment: clear both. */
void title_set(const char *title)
{
	size_t len = strlen(title) + 1;
	unsigned long start = 0, end = 0;
	char line[1024], *p;
	FILE *f = fopen("/proc/self/stat", "re");

	if (!f)
		return;
	p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	/* Fields 48 and 51: where the arguments begin and the environment ends; p is at the end of 2. */
	for (int field = 3; p && field <= 51; field++) {
		p = strchr(p + 1, ' ');
		if (p && field == 48)
			start = strtoul(p, NULL, 10);
		if (p && field == 51)
			end = strtoul(p, NULL, 10);
	}
	if (!start || end < start + len)
		return;
	memset((void *)start, 0, end - start);
	memcpy((void *)start, title, len);
}
