/*
 * host_cpu.c - processors: how long each was busy, and their clocks.
 *
 * The kernel counts ticks of 10 ms, for a whole processor's life; "guest" is in "user" already. Processors that go offline have
 * no line, so their curve has a gap.
 */
#include "collector/health/host_internal.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/grow.h"

#define CORES_MOST  8192u
#define CLOCKS_MOST 64u

enum {
	USER,
	NICE,
	SYSTEM,
	IDLE,
	IO_WAIT,
	IRQ,
	SOFT_IRQ,
	STEAL,
	MODES
};

static const struct host_scope of_host = {"host", -1, NULL};

struct cpu {
	struct host_file stat;
	double tick_ns;
	struct host_counter user, system, idle, io_wait, steal, switches, runnable, blocked;
	struct host_counter *core;
	uint32_t core_cnt;
};

static void *open_cpu(struct host *h)
{
	struct cpu *c = calloc(1, sizeof(*c));

	if (c && host_file_open(h, &c->stat, "/proc/stat")) {
		c->tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
		return c;
	}
	free(c);
	return NULL;
}

static void close_cpu(void *state)
{
	struct cpu *c = state;

	host_file_close(&c->stat);
	free(c->core);
	free(c);
}

/* False: too few numbers. Old kernels have no steal. */
static bool read_modes(char *line, uint64_t ticks[MODES])
{
	unsigned i = 0;

	memset(ticks, 0, MODES * sizeof(*ticks));
	while (i < MODES && host_number(&line, &ticks[i]))
		i++;
	return i >= STEAL;
}

static void read_all_cores(struct host *h, struct cpu *c, char *line)
{
	static const struct host_what user = {"CPU User", "ns", HOST_SUM},
				      system = {"CPU System", "ns", HOST_SUM},
				      idle = {"CPU Idle", "ns", HOST_SUM},
				      io_wait = {"CPU I/O Wait", "ns", HOST_SUM},
				      steal = {"CPU Steal", "ns", HOST_SUM};
	uint64_t t[MODES];

	if (!read_modes(line, t))
		return;
	host_sum_shaky(h, &c->user, &of_host, &user, t[USER] + t[NICE], c->tick_ns);
	host_sum_shaky(h, &c->system, &of_host, &system, t[SYSTEM] + t[IRQ] + t[SOFT_IRQ],
		       c->tick_ns);
	host_sum_shaky(h, &c->idle, &of_host, &idle, t[IDLE], c->tick_ns);
	host_sum_shaky(h, &c->io_wait, &of_host, &io_wait, t[IO_WAIT], c->tick_ns);
	host_sum_shaky(h, &c->steal, &of_host, &steal, t[STEAL], c->tick_ns);
}

static void read_core(struct host *h, struct cpu *c, uint64_t number, char *line)
{
	static const struct host_what busy = {"CPU Busy", "ns", HOST_SUM};
	const struct host_scope scope = {"core", (int64_t)number, NULL};
	uint64_t t[MODES];

	if (number >= CORES_MOST || !read_modes(line, t) ||
	    !grow_to(&c->core, number, &c->core_cnt, sizeof(*c->core)))
		return;
	host_sum_shaky(h, &c->core[number], &scope, &busy,
		       t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] + t[SOFT_IRQ], c->tick_ns);
}

static void read_cpu(struct host *h, void *state)
{
	static const struct host_what switches = {"Context Switches", "count", HOST_SUM},
				      runnable = {"Threads Running", "count", HOST_LEVEL},
				      blocked = {"Threads Blocked", "count", HOST_LEVEL};
	struct cpu *c = state;
	char *text = host_file_read(h, &c->stat), *line, *word;
	uint64_t n;

	while (text && (line = host_line(&text))) {
		word = host_word(&line);
		if (!word)
			continue;
		if (strcmp(word, "cpu") == 0)
			read_all_cores(h, c, line);
		else if (strncmp(word, "cpu", 3) == 0 && host_is_number(word + 3, &n))
			read_core(h, c, n, line);
		else if (strcmp(word, "ctxt") == 0 && host_number(&line, &n))
			host_sum(h, &c->switches, &of_host, &switches, n, 0, 1);
		else if (strcmp(word, "procs_running") == 0 && host_number(&line, &n))
			host_level(h, &c->runnable, &of_host, &runnable, (double)n);
		else if (strcmp(word, "procs_blocked") == 0 && host_number(&line, &n))
			host_level(h, &c->blocked, &of_host, &blocked, (double)n);
	}
}

const struct host_source host_cpu = {.name = "processors",
				     .period = HOST_SLOW_NS,
				     .open = open_cpu,
				     .read = read_cpu,
				     .close = close_cpu};

/* ---- clocks ---- */

/* Clocks of groups of processors that share one, at most CLOCKS_MOST groups: a reading may wake a processor. */
struct clocks {
	struct {
		struct host_file file;
		int64_t number;
		struct host_counter value;
	} one[CLOCKS_MOST];
	unsigned cnt;
};

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t list_policies(const struct host *h, int64_t **list)
{
	char path[PATH_MAX];
	size_t cnt = 0, cap = 0;
	struct dirent *e;
	uint64_t n;
	DIR *dir;

	*list = NULL;
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpufreq", h->root);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (strncmp(e->d_name, "policy", 6) == 0 && host_is_number(e->d_name + 6, &n) &&
		    n < CORES_MOST && cnt < CORES_MOST && grow(list, cnt, &cap, sizeof(**list)))
			(*list)[cnt++] = (int64_t)n;
	if (dir)
		closedir(dir);
	if (cnt)
		qsort(*list, cnt, sizeof(**list), by_number);
	return cnt;
}

static void *open_clocks(struct host *h)
{
	int64_t *list;
	size_t cnt = list_policies(h, &list), each = (cnt + CLOCKS_MOST - 1) / CLOCKS_MOST;
	struct clocks *c = cnt ? calloc(1, sizeof(*c)) : NULL;

	for (size_t i = 0; c && i < cnt; i += each) {
		if (!host_file_open(h, &c->one[c->cnt].file,
				    "/sys/devices/system/cpu/cpufreq/policy%lld/scaling_cur_freq",
				    (long long)list[i]))
			continue;
		c->one[c->cnt++].number = list[i];
	}
	free(list);
	return c;
}

static void read_clocks(struct host *h, void *state)
{
	static const struct host_key key = {NULL, 1000, {"CPU Clock", "Hz", HOST_LEVEL}};
	struct clocks *c = state;

	for (unsigned i = 0; i < c->cnt; i++) {
		const struct host_scope scope = {"core", c->one[i].number, NULL};

		host_one(h, &c->one[i].file, &key, &c->one[i].value, &scope);
	}
}

static void close_clocks(void *state)
{
	struct clocks *c = state;

	for (unsigned i = 0; i < c->cnt; i++)
		host_file_close(&c->one[i].file);
	free(c);
}

const struct host_source host_clock = {.name = "clocks",
				       .period = HOST_IDLE_NS,
				       .open = open_clocks,
				       .read = read_clocks,
				       .close = close_clocks};
