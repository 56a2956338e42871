/*
 * host_cgroup.c - the program's cgroup: its memory and how often that hit a limit, its processors' time and how long it was
 * throttled, its input and output, its pressure.
 *
 * A limit stands often further up (a pod's, a slice's): memory and processors are those of the nearest cgroup that has one.
 */
#include "collector/health/host_cgroup_find.h"

#include <stdio.h>
#include <stdlib.h>

#define NO_LIMIT (UINT64_C(1) << 60) /* version 1 has a huge number for it */

enum form {
	KEYS,
	ONE,
	QUOTA_V1,
	QUOTA_V2,
	IO_V1,
	IO_V2,
	PRESSURE
};

struct cgroup_file {
	enum cgroup_hierarchy hierarchy;
	const char *file,
		*limit; /* limit: the file by which the nearest cgroup that has one is found */
	enum form form;
	struct host_key keys[6];
};

static const struct cgroup_file files[] = {
	{CGROUP_MEMORY,
	 "memory.usage_in_bytes",
	 "memory.limit_in_bytes",
	 ONE,
	 {{"", 1, {"Memory Used", "B", HOST_LEVEL}}}},
	{CGROUP_MEMORY,
	 "memory.limit_in_bytes",
	 "memory.limit_in_bytes",
	 ONE,
	 {{"", 1, {"Memory Limit", "B", HOST_RARE}}}},
	{CGROUP_MEMORY,
	 "memory.failcnt",
	 "memory.limit_in_bytes",
	 ONE,
	 {{"", 1, {"Memory Limit Hits", "count", HOST_SUM}}}},
	{CGROUP_MEMORY,
	 "memory.oom_control",
	 "memory.limit_in_bytes",
	 KEYS,
	 {{"oom_kill", 1, {"OOM Kills", "count", HOST_SUM}}}},
	{CGROUP_UNIFIED,
	 "memory.current",
	 "memory.max",
	 ONE,
	 {{"", 1, {"Memory Used", "B", HOST_LEVEL}}}},
	{CGROUP_UNIFIED,
	 "memory.max",
	 "memory.max",
	 ONE,
	 {{"", 1, {"Memory Limit", "B", HOST_RARE}}}},
	{CGROUP_UNIFIED,
	 "memory.events",
	 "memory.max",
	 KEYS,
	 {{"high", 1, {"Memory High Hits", "count", HOST_SUM}},
	  {"max", 1, {"Memory Limit Hits", "count", HOST_SUM}},
	  {"oom_kill", 1, {"OOM Kills", "count", HOST_SUM}}}},
	{CGROUP_CPUACCT, "cpuacct.usage", NULL, ONE, {{"", 1, {"CPU Used", "ns", HOST_SUM}}}},
	{CGROUP_CPU,
	 "cpu.stat",
	 "cpu.cfs_quota_us",
	 KEYS,
	 {{"nr_periods", 1, {"CPU Periods", "count", HOST_SUM}},
	  {"nr_throttled", 1, {"CPU Throttled Periods", "count", HOST_SUM}},
	  {"throttled_time", 1, {"CPU Throttled", "ns", HOST_SUM}}}},
	{CGROUP_CPU,
	 "cpu.cfs_quota_us",
	 "cpu.cfs_quota_us",
	 QUOTA_V1,
	 {{"", 1, {"CPU Limit", "count", HOST_RARE}}}},
	{CGROUP_UNIFIED,
	 "cpu.stat",
	 "cpu.max",
	 KEYS,
	 {{"usage_usec", 1000, {"CPU Used", "ns", HOST_SUM}},
	  {"nr_periods", 1, {"CPU Periods", "count", HOST_SUM}},
	  {"nr_throttled", 1, {"CPU Throttled Periods", "count", HOST_SUM}},
	  {"throttled_usec", 1000, {"CPU Throttled", "ns", HOST_SUM}}}},
	{CGROUP_UNIFIED,
	 "cpu.max",
	 "cpu.max",
	 QUOTA_V2,
	 {{"", 1, {"CPU Limit", "count", HOST_RARE}}}},
	{CGROUP_BLKIO,
	 "blkio.throttle.io_service_bytes_recursive",
	 NULL,
	 IO_V1,
	 {{"", 1, {"Disk Read", "B", HOST_SUM}}, {"", 1, {"Disk Written", "B", HOST_SUM}}}},
	{CGROUP_UNIFIED,
	 "io.stat",
	 NULL,
	 IO_V2,
	 {{"", 1, {"Disk Read", "B", HOST_SUM}}, {"", 1, {"Disk Written", "B", HOST_SUM}}}},
	{CGROUP_UNIFIED,
	 "memory.pressure",
	 NULL,
	 PRESSURE,
	 {{"", 1, {"Memory Pressure Some", "ns", HOST_SUM}},
	  {"", 1, {"Memory Pressure Full", "ns", HOST_SUM}}}},
	{CGROUP_UNIFIED,
	 "cpu.pressure",
	 NULL,
	 PRESSURE,
	 {{"", 1, {"CPU Pressure Some", "ns", HOST_SUM}},
	  {"", 1, {"CPU Pressure Full", "ns", HOST_SUM}}}},
	{CGROUP_UNIFIED,
	 "io.pressure",
	 NULL,
	 PRESSURE,
	 {{"", 1, {"I/O Pressure Some", "ns", HOST_SUM}},
	  {"", 1, {"I/O Pressure Full", "ns", HOST_SUM}}}},
};
#define FILE_CNT (sizeof(files) / sizeof(files[0]))

struct cgroup {
	struct open_file {
		struct host_file file;
		char *name;      /* path of the cgroup */
		uint64_t period; /* of a limit of version 1, us */
		struct host_counter counters[6];
	} one[FILE_CNT];
	pid_t pid;
	char *where;     /* /proc/PID/cgroup, when it was looked at last */
	uint64_t looked; /* CLOCK_MONOTONIC */
};

static void *open_cgroup(struct host *h)
{
	struct cgroup *g = calloc(1, sizeof(*g));

	(void)h;
	for (size_t i = 0; g && i < FILE_CNT; i++)
		g->one[i].file.fd = -1;
	return g;
}

static void clear(struct cgroup *g)
{
	for (size_t i = 0; i < FILE_CNT; i++) {
		host_file_close(&g->one[i].file);
		free(g->one[i].name);
		g->one[i] = (struct open_file){.file.fd = -1};
	}
}

static void close_cgroup(void *state)
{
	struct cgroup *g = state;

	clear(g);
	free(g->where);
	free(g);
}

static bool is_limited(const struct host *h, const struct cgroup_place *at, const char *limit)
{
	char word[32];
	uint64_t n;

	return host_file_word(h, word, sizeof(word), "%s%s/%s", at->mount, at->path, limit) &&
	       host_is_number(word, &n) && n < NO_LIMIT;
}

/* Moves up to the nearest cgroup that has a limit; none: stays. */
static void find_limit(const struct host *h, struct cgroup_place *at, const char *limit)
{
	char path[PATH_MAX];

	memcpy(path, at->path, sizeof(path));
	do
		if (is_limited(h, at, limit))
			return;
	while (cgroup_up(at));
	memcpy(at->path, path, sizeof(path));
}

static void open_one(struct host *h, struct open_file *one, const struct cgroup_file *what,
		     const struct cgroup_places *all)
{
	struct cgroup_place at = all->at[what->hierarchy];
	char period[32];

	if (!*at.mount)
		return;
	/* Beside version 1, version 2 has the files that need no controller. */
	if (what->hierarchy == CGROUP_UNIFIED && strcmp(what->file, "cpu.stat") == 0 &&
	    *all->at[CGROUP_CPUACCT].mount)
		return;
	if (what->limit)
		find_limit(h, &at, what->limit);
	if (!host_file_open(h, &one->file, "%s%s/%s", at.mount, at.path, what->file))
		return;
	one->name = strdup(*at.path ? at.path : "/");
	if (what->form == QUOTA_V1 &&
	    !(host_file_word(h, period, sizeof(period), "%s%s/cpu.cfs_period_us", at.mount,
			     at.path) &&
	      host_is_number(period, &one->period)))
		one->period = 0;
	if (!one->name)
		host_file_close(&one->file);
}

static void follow_cgroup(struct host *h, void *state, pid_t pid)
{
	struct cgroup_places *all = cgroup_find(h, pid);
	struct cgroup *g = state;

	g->pid = pid;
	if (!all)
		return;
	clear(g);
	for (size_t i = 0; i < FILE_CNT; i++)
		open_one(h, &g->one[i], &files[i], all);
	free(all);
}

/* ---- reading ---- */

/* "200000 100000" of a period; "max 100000": no limit. Version 1: "200000", or -1. */
static void read_quota(struct host *h, struct open_file *one, const struct host_what *what,
		       const struct host_scope *scope)
{
	char *text = host_file_read(h, &one->file), *line = text ? host_line(&text) : NULL;
	uint64_t quota, period = one->period;

	if (line && host_number(&line, &quota) && (period || host_number(&line, &period)) && period)
		host_level(h, &one->counters[0], scope, what, (double)quota / (double)period);
}

/* The number behind @key in "rbytes=1 wbytes=2". */
static void add_field(const char *word, const char *key, uint64_t *sum)
{
	size_t len = strlen(key);
	uint64_t n;

	if (strncmp(word, key, len) == 0 && host_is_number(word + len, &n))
		figure_count(sum, n);
}

/* Adds the sums of all disks; a disk that goes away takes its sums along, so the total may fall. */
static void read_io(struct host *h, struct open_file *one, const struct cgroup_file *what,
		    const struct host_scope *scope)
{
	char *text = host_file_read(h, &one->file), *line, *word;
	uint64_t sum[2] = {0}, n;

	if (!text)
		return;
	while ((line = host_line(&text))) {
		if (!host_word(&line)) /* of the disk */
			continue;
		while ((word = host_word(&line))) {
			add_field(word, "rbytes=", &sum[0]);
			add_field(word, "wbytes=", &sum[1]);
			if (what->form == IO_V1 && strcmp(word, "Read") == 0 &&
			    host_number(&line, &n))
				figure_count(&sum[0], n);
			else if (what->form == IO_V1 && strcmp(word, "Write") == 0 &&
				 host_number(&line, &n))
				figure_count(&sum[1], n);
		}
	}
	for (int i = 0; i < 2; i++)
		host_sum_shaky(h, &one->counters[i], scope, &what->keys[i].what, sum[i], 1);
}

static void read_one(struct host *h, struct open_file *one, const struct cgroup_file *what)
{
	const struct host_scope scope = {"cgroup", -1, one->name};
	const struct host_what pressure[2] = {what->keys[0].what, what->keys[1].what};
	char *text, *line;
	uint64_t n;

	switch (what->form) {
	case KEYS:
		text = host_file_read(h, &one->file);
		if (text)
			host_keys(h, text, what->keys, one->counters, &scope);
		break;
	case ONE:
		text = host_file_read(h, &one->file);
		line = text ? host_line(&text) : NULL;
		if (line && host_number(&line, &n) && n < NO_LIMIT)
			host_value(h, &what->keys[0], &one->counters[0], &scope, n);
		break;
	case QUOTA_V1:
	case QUOTA_V2:
		read_quota(h, one, &what->keys[0].what, &scope);
		break;
	case IO_V1:
	case IO_V2:
		read_io(h, one, what, &scope);
		break;
	case PRESSURE:
		host_pressure(h, &one->file, pressure, one->counters, &scope);
		break;
	}
}

/* A program that starts in one cgroup and moves to another, as launchers make it, is followed; the counters of the new one begin there. */
static void look_for_move(struct host *h, struct cgroup *g)
{
	struct host_file file;
	char *text;

	if (!g->pid || h->at < g->looked + HOST_SLOW_NS)
		return;
	g->looked = h->at;
	if (!host_file_open(h, &file, "/proc/%d/cgroup", (int)g->pid))
		return;
	text = host_file_read(h, &file);
	host_file_close(&file);
	if (!text || (g->where && strcmp(g->where, text) == 0))
		return;
	text = strdup(text);
	if (g->where)
		follow_cgroup(h, g, g->pid);
	free(g->where);
	g->where = text;
}

static void read_cgroup(struct host *h, void *state)
{
	struct cgroup *g = state;

	look_for_move(h, g);
	for (size_t i = 0; i < FILE_CNT; i++)
		if (g->one[i].file.fd >= 0)
			read_one(h, &g->one[i], &files[i]);
}

const struct host_source host_cgroup = {.name = "cgroup",
					.open = open_cgroup,
					.follow = follow_cgroup,
					.read = read_cgroup,
					.close = close_cgroup};
