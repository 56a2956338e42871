/* proc_numbers.c - lists folders of /proc, and leaves out what is no number. */
#include "collector/base/proc_numbers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/base/proc.h"

struct proc_numbers proc_numbers_open(uint32_t pid, const char *folder)
{
	char path[96];

	if (!folder)
		return (struct proc_numbers){opendir(proc_root())};
	snprintf(path, sizeof(path), "%s/%u/%s", proc_root(), pid, folder);
	return (struct proc_numbers){opendir(path)};
}

bool proc_numbers_next(struct proc_numbers *n, uint32_t *number)
{
	struct dirent *e;

	while (n->dir && (e = readdir(n->dir))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		*number = (uint32_t)strtoul(e->d_name, NULL, 10);
		return true;
	}
	return false;
}

void proc_numbers_close(struct proc_numbers *n)
{
	if (n->dir)
		closedir(n->dir);
	n->dir = NULL;
}
