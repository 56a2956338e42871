/* host_memory.c - memory of the machine, paging, and pressure: how long threads stood still for want of something. */
#include "collector/health/host_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const struct host_scope of_host = {"host", -1, NULL};

/* A file of lines "key number". */
struct lines {
	struct host_file file;
	struct host_key keys[HOST_KEYS];
	struct host_counter counters[HOST_KEYS];
};

static void *open_lines(struct host *h, const char *path, const struct host_key *keys, size_t bytes)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (l && host_file_open(h, &l->file, "%s", path)) {
		memcpy(l->keys, keys, bytes);
		return l;
	}
	free(l);
	return NULL;
}

static void read_lines(struct host *h, void *state)
{
	struct lines *l = state;
	char *text = host_file_read(h, &l->file);

	if (text)
		host_keys(h, text, l->keys, l->counters, &of_host);
}

static void close_lines(void *state)
{
	struct lines *l = state;

	host_file_close(&l->file);
	free(l);
}

static void *open_memory(struct host *h)
{
	static const struct host_key keys[] = {
		{"MemTotal", 1024, {"Memory Total", "B", HOST_RARE}},
		{"MemFree", 1024, {"Memory Free", "B", HOST_LEVEL}},
		{"MemAvailable", 1024, {"Memory Available", "B", HOST_LEVEL}},
		{"Cached", 1024, {"Memory Cached", "B", HOST_LEVEL}},
		{"AnonPages", 1024, {"Memory Anonymous", "B", HOST_LEVEL}},
		{"Dirty", 1024, {"Memory Dirty", "B", HOST_LEVEL}},
		{"Writeback", 1024, {"Memory Writeback", "B", HOST_LEVEL}},
		{"SwapTotal", 1024, {"Swap Total", "B", HOST_RARE}},
		{"SwapFree", 1024, {"Swap Free", "B", HOST_RARE}},
		{0},
	};

	return open_lines(h, "/proc/meminfo", keys, sizeof(keys));
}

const struct host_source host_memory = {
	.name = "memory", .open = open_memory, .read = read_lines, .close = close_lines};

static void *open_vmstat(struct host *h)
{
	const double page = (double)sysconf(_SC_PAGESIZE);
	const struct host_key keys[] = {
		{"pswpin", page, {"Swapped In", "B", HOST_SUM}},
		{"pswpout", page, {"Swapped Out", "B", HOST_SUM}},
		{"pgmajfault", 1, {"Major Page Faults", "count", HOST_SUM}},
		{"pgscan_direct", page, {"Reclaim Scanned", "B", HOST_SUM}},
		{"compact_stall", 1, {"Compaction Stalls", "count", HOST_SUM}},
		{"oom_kill", 1, {"OOM Kills", "count", HOST_SUM}},
		{0},
	};

	return open_lines(h, "/proc/vmstat", keys, sizeof(keys));
}

const struct host_source host_vmstat = {.name = "paging",
					.period = HOST_SLOW_NS,
					.open = open_vmstat,
					.read = read_lines,
					.close = close_lines};

/* ---- pressure ---- */

#define PRESSURES 3
struct pressures {
	struct host_file file[PRESSURES];
	struct host_counter counters[PRESSURES][2];
};

static void *open_pressure(struct host *h)
{
	static const char *const path[PRESSURES] = {"/proc/pressure/cpu", "/proc/pressure/memory",
						    "/proc/pressure/io"};
	struct pressures *p = calloc(1, sizeof(*p));
	bool any = false;
	int err = 0;

	for (unsigned i = 0; p && i < PRESSURES; i++) {
		bool is_there = host_file_open(h, &p->file[i], "%s", path[i]);

		/* Where it is switched off at boot the files are there, and cannot be read. */
		if (is_there && !host_file_read(h, &p->file[i])) {
			host_file_close(&p->file[i]);
			is_there = false;
		}
		err = is_there ? err : p->file[i].err;
		any |= is_there;
	}
	if (any)
		return p;
	host_say(h, "no pressure of memory, processors and disks: %s",
		 err == ENOENT ? "this kernel is built without PSI"
			       : "PSI is switched off (boot with psi=1)");
	free(p);
	return NULL;
}

static void read_pressure(struct host *h, void *state)
{
	static const struct host_what what[PRESSURES][2] = {
		/* "full" of processors has no meaning for the machine as a whole. */
		{{"CPU Pressure Some", "ns", HOST_SUM}, {0}},
		{{"Memory Pressure Some", "ns", HOST_SUM},
		 {"Memory Pressure Full", "ns", HOST_SUM}},
		{{"I/O Pressure Some", "ns", HOST_SUM}, {"I/O Pressure Full", "ns", HOST_SUM}},
	};
	struct pressures *p = state;

	for (unsigned i = 0; i < PRESSURES; i++)
		host_pressure(h, &p->file[i], what[i], p->counters[i], &of_host);
}

static void close_pressure(void *state)
{
	struct pressures *p = state;

	for (unsigned i = 0; i < PRESSURES; i++)
		host_file_close(&p->file[i]);
	free(p);
}

const struct host_source host_psi = {
	.name = "pressure", .open = open_pressure, .read = read_pressure, .close = close_pressure};
