/* file_locks.c - reads /proc/locks, in which a lock and those who wait for it have the same number. */
#include "collector/waits/file_locks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/proc.h"

#define LIST_MOST (1u << 20) /* bytes */

/* "12: -> POSIX  ADVISORY  WRITE 4711 fe:01:815 0 EOF" */
struct line {
	unsigned long long number, inode;
	long pid; /* -1: of an open file, not of a process */
	bool waits;
};

static bool parse(const char *text, struct line *l)
{
	char kind[16], mode[16], access[16];
	const char *at = strchr(text, ':');

	if (!at || sscanf(text, "%llu", &l->number) != 1)
		return false;
	at += strspn(at, ": ");
	l->waits = strncmp(at, "->", 2) == 0;
	at += l->waits ? 2 : 0;
	return sscanf(at, "%15s %15s %15s %ld %*x:%*x:%llu", kind, mode, access, &l->pid,
		      &l->inode) == 5;
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

uint32_t file_lock_owner_in(const char *list, uint32_t pid, uint64_t inode)
{
	unsigned long long number = 0;
	struct line l;

	for (const char *at = list; *at && !number; at = next_line(at))
		if (parse(at, &l) && l.waits && l.pid == (long)pid && l.inode == inode)
			number = l.number;
	for (const char *at = list; *at && number; at = next_line(at))
		if (parse(at, &l) && !l.waits && l.number == number)
			return l.pid > 0 ? (uint32_t)l.pid : 0;
	return 0;
}

uint64_t file_lock_inode(uint32_t pid, unsigned long long fd)
{
	unsigned long long inode = 0;
	char path[96], line[256];
	FILE *f;

	/* stat() would ask the file's server, which may not answer. */
	snprintf(path, sizeof(path), "%s/%u/fdinfo/%llu", proc_root(), pid, fd);
	f = fopen(path, "re");
	while (f && !inode && fgets(line, sizeof(line), f))
		if (sscanf(line, "ino: %llu", &inode) != 1)
			inode = 0;
	if (f)
		fclose(f);
	return inode;
}

uint32_t file_lock_owner(uint32_t pid, uint64_t inode)
{
	char path[64], *list = malloc(LIST_MOST + 1);
	uint32_t owner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/locks", proc_root());
	f = list ? fopen(path, "re") : NULL;
	if (f) {
		list[fread(list, 1, LIST_MOST, f)] = '\0';
		fclose(f);
		owner = file_lock_owner_in(list, pid, inode);
	}
	free(list);
	return owner;
}
