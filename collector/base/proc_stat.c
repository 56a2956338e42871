/* proc_stat.c - fields by their numbers in proc(5), which begin with 1. */
#include "collector/base/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/proc.h"

#define LINE_MAX_BYTES 1024
enum {
	STATE = 3,
	PARENT,
	TERMINAL = 7,
	FLAGS = 9,
	USER = 14,
	SYSTEM,
	START = 22,
	EXIT_CODE = 52,
};

bool proc_stat_parse(const char *line, struct proc_stat *s)
{
	const char *at = strrchr(line, ')');
	unsigned long long field[EXIT_CODE + 1] = {0};
	unsigned cnt = STATE;
	char *end;

	if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
		return false;
	s->state = at[2];
	for (at += 3; cnt < EXIT_CODE; at = end) {
		unsigned long long value = strtoull(at, &end, 10);

		if (end == at)
			break;
		field[++cnt] = value;
	}
	if (cnt < START)
		return false;
	s->parent = (uint32_t)field[PARENT];
	s->terminal = (int)field[TERMINAL];
	s->flags = (uint32_t)field[FLAGS];
	s->user = field[USER];
	s->system = field[SYSTEM];
	s->start = field[START];
	s->exit_code = cnt == EXIT_CODE ? (int)field[EXIT_CODE] : -1;
	return true;
}

bool proc_stat_read(uint32_t pid, uint32_t tid, struct proc_stat *s)
{
	char path[96], line[LINE_MAX_BYTES];
	ssize_t got;
	int fd, err;

	if (tid)
		snprintf(path, sizeof(path), "%s/%u/task/%u/stat", proc_root(), pid, tid);
	else
		snprintf(path, sizeof(path), "%s/%u/stat", proc_root(), pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, line, sizeof(line) - 1);
	err = got < 0 ? errno : ENODATA;
	close(fd);
	line[got > 0 ? got : 0] = '\0';
	if (proc_stat_parse(line, s))
		return true;
	errno = err;
	return false;
}
