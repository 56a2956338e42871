/*
 * ranks_name.c - torchrun's --rdzv-id is "none" unless given, and MPICH's mpirun has no number of its job in the environment of
 * ranks. Their ranks have the launcher in common.
 */
#include "collector/options/ranks_name.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/proc.h"

#define ANCESTORS 64
#define HOUR_S    3600
#define LATE_S    120 /* the launchers of nodes begin within */

/* Launchers that start ranks on each node, and say how many; those of SLURM and Kubernetes start launchers, too. */
static const struct launcher {
	const char *rank, *size, *local;
} launchers[] = {
	{"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
};

static long number(const char *variable)
{
	const char *value = getenv(variable);

	return value ? strtol(value, NULL, 10) : 0;
}

static const struct launcher *own_launcher(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].rank))
			return &launchers[i];
	return NULL;
}

/* 0: not in this PID namespace. */
static uint32_t launcher_process(const char *rank)
{
	uint32_t pid = proc_parent((uint32_t)getpid());

	for (int i = 0; pid && i < ANCESTORS && proc_has_variable(pid, rank); i++)
		pid = proc_parent(pid);
	return pid;
}

static void make_word(char *text)
{
	for (; *text; text++)
		if (!strchr("-_.+", *text) && !(*text >= '0' && *text <= '9') &&
		    !(*text >= 'A' && *text <= 'Z') && !(*text >= 'a' && *text <= 'z'))
			*text = '-';
}

static void put_hour(const char *where, int64_t start, char *name, size_t room)
{
	time_t at = (time_t)start;
	char hour[32] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		strftime(hour, sizeof(hour), "%Y%m%d-%H", &tm);
	snprintf(name, room, "%s-%s", where, hour);
}

void ranks_name_by(const char *line, int64_t start, const char *dataset, char *name, size_t room)
{
	static const char option[] = "--control-port ";
	const char *at = strstr(line, option);
	char where[100], before[160], path[PATH_MAX];

	name[0] = 0;
	if (!at || at == line || at[-1] != ' ')
		return;
	at += sizeof(option) - 1;
	snprintf(where, sizeof(where), "%.*s", (int)strcspn(at, " "), at);
	make_word(where);
	if (!where[0] || strchr(".-_", where[0]))
		return;
	put_hour(where, start, name, room);
	if (start % HOUR_S >= LATE_S)
		return;
	put_hour(where, start - HOUR_S, before, sizeof(before));
	snprintf(path, sizeof(path), "%s/_jobs/%s", dataset, before);
	if (access(path, F_OK) == 0)
		snprintf(name, room, "%s", before);
}

/* CLOCK_REALTIME, s; exact to a second or so. */
static int64_t began_at(uint64_t ticks)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (int64_t)time(NULL) - boot.tv_sec +
	       (int64_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK));
}

enum ranks_named ranks_name(const char *dataset, char *name, size_t room)
{
	const struct launcher *l = own_launcher();
	char host[HOST_NAME_MAX + 1] = "", *line;
	struct proc_origin origin;
	uint32_t pid;

	if (!l || number(l->size) < 2)
		return RANKS_ALONE;
	pid = launcher_process(l->rank);
	if (!pid || !proc_origin(pid, &origin))
		return RANKS_NAMELESS;
	if (number(l->local) == number(l->size)) {
		gethostname(host, sizeof(host) - 1);
		make_word(host);
		snprintf(name, room, "%s%s-%u-%llu", strchr(".-_", host[0]) ? "host" : "", host,
			 pid, (unsigned long long)origin.start);
		return RANKS_NAMED;
	}
	line = proc_command_line(pid);
	ranks_name_by(line ? line : "", began_at(origin.start), dataset, name, room);
	free(line);
	return name[0] ? RANKS_NAMED : RANKS_NAMELESS;
}
