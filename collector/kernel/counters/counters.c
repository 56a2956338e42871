/* counters.c - counts events per CPU in groups, scales them, delivers samples at an interval. */
#include "collector/kernel/counters/counters.h"
#include "collector/base/grow.h"
#include "collector/kernel/perf/perf_rings.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/report/db.h"
#include "collector/base/limits.h"
#include "collector/report/db_ids.h"
#include "collector/base/capture_window.h"
#include "collector/base/proc.h"

#define INTERVALS_MOST 65536u /* that wait to be written */
/*
 * Events of a group. The kernel accepts as many as the CPU has counters, also when another user (the NMI watchdog) holds
 * one of them for good: then such a group is never scheduled.
 */
#define GROUP_MOST 4u

struct counter {
	int fd;
	uint16_t event, cpu;
	uint64_t last[3]; /* value, enabled, running */
};

/* One CPU between two readings, if anything was counted; @event: its values. */
struct interval {
	uint64_t start, end; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	struct counted event[];
};

struct counters {
	struct event_choice choice;
	enum sched_mode scope;
	bool no_kernel;
	bool is_on;
	bool has_told; /* this report has the names of the events */
	unsigned cpu_cnt;
	struct counter *list;
	size_t cnt, cap;
	uint64_t from;         /* of the interval that goes on */
	struct counted *cells; /* [cpu][event], of one reading */
	struct {
		char *bytes; /* struct interval, one after another */
		size_t cnt, cap;
	} waiting;
	struct {
		bool turn[EVENT_MOST]; /* was counted at all, */
		bool time[EVENT_MOST]; /* or should have been */
	} had;
	int64_t rows; /* last PMU_EVENTS.counter_id */
	uint64_t lost;
};

/* ---- open ---- */

static int open_one(const struct counters *cs, unsigned event, struct event_how *how)
{
	int fd = event_open(&cs->choice.event[event], how);

	if (fd == -EMFILE && limits_raise_descriptors())
		fd = event_open(&cs->choice.event[event], how);
	return fd;
}

static int keep(struct counters *cs, unsigned event, unsigned cpu, int fd)
{
	if (!grow(&cs->list, cs->cnt, &cs->cap, sizeof(*cs->list)))
		return -ENOMEM;
	cs->list[cs->cnt++] =
		(struct counter){.fd = fd, .event = (uint16_t)event, .cpu = (uint16_t)cpu};
	return 0;
}

/*
 * The kernel takes no more into a group than the CPU can count at once: the rest begins another
 * one. Events without a counter on this CPU (there are machines with two sorts of cores) are left
 * out on it.
 */
static int open_on(struct counters *cs, struct event_how *how, unsigned *opened)
{
	unsigned members = 0;
	int leader = -1, fd, err = 0;

	for (unsigned i = 0; i < cs->choice.cnt && !err; i++) {
		bool is_core = cs->choice.event[i].kind == EVENT_CORE;

		how->group = is_core && members < GROUP_MOST ? leader : -1;
		fd = open_one(cs, i, how);
		if (fd < 0 && how->group >= 0 && fd != -ESRCH && fd != -EMFILE) {
			how->group = -1;
			fd = open_one(cs, i, how);
		}
		if (fd == -ENOENT || fd == -EOPNOTSUPP || fd == -EINVAL)
			continue;
		err = fd < 0 ? fd : keep(cs, i, (unsigned)how->cpu, fd);
		if (err && fd >= 0)
			close(fd);
		if (err)
			break;
		if (is_core && how->group < 0) {
			leader = fd;
			members = 0;
		}
		members += is_core;
		++*opened;
	}
	return err;
}

/* On every CPU, since that is where a value is wanted of. */
static int open_all(struct counters *cs, pid_t tid, bool at_exec)
{
	struct event_how how = {.tid = tid,
				.no_kernel = cs->no_kernel,
				.inherit = tid != -1,
				.disabled = at_exec || !cs->is_on,
				.at_exec = at_exec && cs->is_on};
	unsigned opened = 0;
	int err = 0;

	for (unsigned cpu = 0; cpu < cs->cpu_cnt && !err; cpu++) {
		how.cpu = (int)cpu;
		err = open_on(cs, &how, &opened);
		if (err == -ENODEV) /* CPU is offline */
			err = 0;
	}
	return err ? err : opened ? 0 : -ENOENT;
}

static void explain(const struct counters *cs, int err, char *why, size_t why_len)
{
	bool is_system = cs->scope == SCHED_MODE_SYSTEM;

	if (err != -EACCES && err != -EPERM)
		snprintf(why, why_len, "no event counters: perf_event_open: %s", strerror(-err));
	else if (is_system)
		snprintf(why, why_len,
			 "no event counters: those of the whole system need CAP_PERFMON, or "
			 "kernel.perf_event_paranoid 0 or lower (it is %d); "
			 "--event-sample=process-tree "
			 "needs less",
			 event_paranoid());
	else
		snprintf(why, why_len,
			 "no event counters: perf_event_open is refused "
			 "(kernel.perf_event_paranoid is "
			 "%d; 2 or lower, or CAP_PERFMON, allows them)",
			 event_paranoid());
}

/* Drops events that only the kernel has; @names: names of the dropped events. */
static void drop_kernel_events(struct counters *cs, char *names, size_t len)
{
	struct event_choice *c = &cs->choice;
	unsigned left = 0;

	*names = 0;
	for (unsigned i = 0; i < c->cnt; i++) {
		size_t used = strlen(names);

		if (!c->event[i].in_kernel)
			c->event[left++] = c->event[i];
		else
			snprintf(names + used, len - used, "%s%s", used ? ", " : "",
				 c->event[i].name);
	}
	c->cnt = left;
}

/* With the kernel's part, or without, or not at all? */
static int settle_rights(struct counters *cs, char *why, size_t why_len)
{
	struct event_how how = {.tid = cs->scope == SCHED_MODE_SYSTEM ? -1 : 0,
				.cpu = cs->scope == SCHED_MODE_SYSTEM ? 0 : -1,
				.group = -1,
				.disabled = true};
	int fd = event_open(&cs->choice.event[0], &how);
	char names[200];

	if (fd >= 0)
		close(fd);
	if (fd != -EACCES && fd != -EPERM)
		return fd < 0 ? fd : 0;
	cs->no_kernel = how.no_kernel = true;
	drop_kernel_events(cs, names, sizeof(names));
	if (!cs->choice.cnt) {
		snprintf(why, why_len,
			 "no event counters: %s happen in the kernel, which "
			 "kernel.perf_event_paranoid %d hides (1 or lower, or CAP_PERFMON, shows "
			 "it)",
			 names, event_paranoid());
		return -EACCES;
	}
	fd = event_open(&cs->choice.event[0], &how);
	if (fd < 0)
		return fd;
	close(fd);
	snprintf(why, why_len,
		 "event counters lack what the kernel does%s%s: kernel.perf_event_paranoid is %d "
		 "(1 or lower, or CAP_PERFMON, shows it)",
		 *names ? ", and so " : "", names, event_paranoid());
	return 0;
}

struct counters *counters_open(const struct event_choice *choice, enum sched_mode scope, char *why,
			       size_t why_len)
{
	struct counters *cs = calloc(1, sizeof(*cs));
	int err;

	*why = 0;
	if (!cs)
		return NULL;
	cs->choice = *choice;
	cs->scope = scope;
	cs->cpu_cnt = perf_cpu_cnt();
	err = settle_rights(cs, why, why_len);
	cs->cells = calloc((size_t)cs->cpu_cnt * cs->choice.cnt + 1, sizeof(*cs->cells));
	if (!cs->cells)
		err = -ENOMEM;
	if (!err && scope == SCHED_MODE_SYSTEM)
		err = open_all(cs, -1, false);
	if (!err)
		return cs;
	if (!*why)
		explain(cs, err, why, why_len);
	counters_close(cs);
	return NULL;
}

void counters_close(struct counters *cs)
{
	if (!cs)
		return;
	for (size_t i = 0; i < cs->cnt; i++)
		close(cs->list[i].fd);
	free(cs->list);
	free(cs->cells);
	free(cs->waiting.bytes);
	free(cs);
}

/* One pass: whatever one of these threads starts from here on inherits its counters. */
int counters_follow(struct counters *cs, pid_t pid, bool at_exec)
{
	char path[64];
	struct dirent *e;
	int err = 0;
	DIR *dir;

	if (cs->scope == SCHED_MODE_SYSTEM)
		return 0;
	snprintf(path, sizeof(path), "%s/%d/task", proc_root(), pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (e = readdir(dir))) {
		pid_t tid = (pid_t)strtoul(e->d_name, NULL, 10);

		if (!tid)
			continue;
		err = open_all(cs, tid, at_exec);
		if (err == -ESRCH)
			err = 0;
	}
	closedir(dir);
	return err;
}

/* ---- reading ---- */

static void scale(struct counted *c, uint64_t enabled_ns, uint64_t running_ns)
{
	c->per_cent = 100;
	if (!enabled_ns || running_ns >= enabled_ns - enabled_ns / 32)
		return;
	c->per_cent = (unsigned)(running_ns * 100 / enabled_ns);
	if (running_ns)
		c->value = (uint64_t)((unsigned __int128)c->value * enabled_ns / running_ns);
}

void counted_scale(struct counted *cell, unsigned cpus, unsigned stride, bool by_thread)
{
	uint64_t enabled_ns = 0, running_ns = 0;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		const struct counted *c = &cell[(size_t)cpu * stride];

		enabled_ns = c->enabled_ns > enabled_ns ? c->enabled_ns : enabled_ns;
		running_ns += c->running_ns;
	}
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		struct counted *c = &cell[(size_t)cpu * stride];

		scale(c, by_thread ? enabled_ns : c->enabled_ns,
		      by_thread ? running_ns : c->running_ns);
	}
}

static void read_all(struct counters *cs)
{
	memset(cs->cells, 0, (size_t)cs->cpu_cnt * cs->choice.cnt * sizeof(*cs->cells));
	for (size_t i = 0; i < cs->cnt; i++) {
		struct counter *one = &cs->list[i];
		struct counted *cell = &cs->cells[one->cpu * cs->choice.cnt + one->event];
		uint64_t now[3];

		if (read(one->fd, now, sizeof(now)) != sizeof(now))
			continue;
		cell->value += now[0] - one->last[0];
		cell->enabled_ns += now[1] - one->last[1];
		cell->running_ns += now[2] - one->last[2];
		cs->had.time[one->event] |= now[1] > one->last[1];
		cs->had.turn[one->event] |= now[2] > one->last[2];
		memcpy(one->last, now, sizeof(now));
	}
	/* The kernel's own never take turns. */
	for (unsigned i = 0; i < cs->choice.cnt; i++)
		if (cs->choice.event[i].kind == EVENT_CORE)
			counted_scale(&cs->cells[i], cs->cpu_cnt, cs->choice.cnt,
				      cs->scope == SCHED_MODE_TREE);
}

static size_t interval_bytes(const struct counters *cs)
{
	return sizeof(struct interval) + cs->choice.cnt * sizeof(struct counted);
}

static struct interval *interval_at(const struct counters *cs, size_t i)
{
	return (void *)(cs->waiting.bytes + i * interval_bytes(cs));
}

/* NULL: no memory, or no writer. */
static struct interval *interval_new(struct counters *cs)
{
	if (cs->waiting.cnt == INTERVALS_MOST)
		return NULL;
	if (!grow(&cs->waiting.bytes, cs->waiting.cnt, &cs->waiting.cap, interval_bytes(cs)))
		return NULL;
	return interval_at(cs, cs->waiting.cnt++);
}

void counters_read(struct counters *cs, uint64_t ns)
{
	unsigned cnt = cs->choice.cnt;

	if (!cs->is_on || ns <= cs->from)
		return;
	read_all(cs);
	for (unsigned cpu = 0; cpu < cs->cpu_cnt; cpu++) {
		const struct counted *cells = &cs->cells[(size_t)cpu * cnt];
		struct interval *row;
		bool any = false;

		for (unsigned i = 0; i < cnt; i++)
			any |= cells[i].value != 0;
		if (!any)
			continue;
		row = interval_new(cs);
		if (!row) {
			cs->lost++;
			continue;
		}
		*row = (struct interval){.start = cs->from, .end = ns, .cpu = cpu};
		memcpy(row->event, cells, cnt * sizeof(*cells));
	}
	cs->from = ns;
}

/* All, whether leaders or not: their groups go along, and so does who inherited them. */
static void set(struct counters *cs, unsigned long request)
{
	for (size_t i = 0; i < cs->cnt; i++)
		ioctl(cs->list[i].fd, request, 0);
}

void counters_begin(struct counters *cs, uint64_t ns)
{
	if (cs->is_on)
		return;
	cs->is_on = true;
	set(cs, PERF_EVENT_IOC_ENABLE);
	read_all(cs);
	cs->from = ns;
}

void counters_end(struct counters *cs, uint64_t ns)
{
	if (!cs->is_on)
		return;
	counters_read(cs, ns);
	set(cs, PERF_EVENT_IOC_DISABLE);
	cs->is_on = false;
}

/* ---- rows ---- */

static void tell(struct counters *cs, struct db *db)
{
	for (unsigned i = 0; i < cs->choice.cnt; i++) {
		const struct event_def *e = &cs->choice.event[i];
		db_put_PMU_EVENT_REQUESTS(
			db,
			&(struct db_row_PMU_EVENT_REQUESTS){
				.id = i,
				.eventid = e->id,
				.source = e->kind == EVENT_CORE ? DB_EVENTS_CPU : DB_EVENTS_KERNEL,
				.unit_type = 1,
				.event_name = e->name,
				.description = e->about,
				.systemWide = cs->scope == SCHED_MODE_SYSTEM,
				.userOnly = cs->no_kernel});
	}
	cs->has_told = true;
}

static void write_values(struct counters *cs, struct db *db, const struct interval *row)
{
	for (unsigned i = 0; i < cs->choice.cnt; i++) {
		const struct counted *c = &row->event[i];
		bool is_core = cs->choice.event[i].kind == EVENT_CORE;
		int64_t *r;

		/* The event's turn did not come: its count is unknown. */
		if (is_core && !c->per_cent)
			continue;
		r = db_row(db, DB_PMU_EVENT_COUNTERS);
		r[PMUC_ID] = cs->rows;
		r[PMUC_IDX] = i;
		r[PMUC_VALUE] = (int64_t)c->value;
		r[PMUC_COUNTED] = is_core ? c->per_cent : 100;
	}
}

static void write_row(struct counters *cs, struct db *db, const struct interval *row, int64_t zero)
{
	int64_t *r = db_row(db, DB_PMU_EVENTS);

	r[PMU_START] = (int64_t)row->start - zero;
	r[PMU_END] = (int64_t)row->end - zero;
	r[PMU_GLOBAL_VM] = GLOBAL_PID(0);
	r[PMU_CPU] = row->cpu;
	r[PMU_COUNTER_ID] = ++cs->rows;
	write_values(cs, db, row);
}

struct event_rows counters_write(struct counters *cs, struct db *db, const struct windows *windows,
				 int64_t zero, int64_t hold)
{
	struct event_rows rows = {0};
	size_t kept = 0;

	if (!cs->has_told && windows->cnt)
		tell(cs, db);
	for (size_t i = 0; i < cs->waiting.cnt; i++) {
		struct interval *row = interval_at(cs, i);
		int64_t start = (int64_t)row->start - zero;

		if ((int64_t)row->start >= hold) {
			memmove(interval_at(cs, kept++), row, interval_bytes(cs));
			continue;
		}
		if (!windows_have_ns(windows, zero, start))
			continue;
		write_row(cs, db, row, zero);
		if (!rows.cnt++)
			rows.first = start;
		rows.last = start;
	}
	cs->waiting.cnt = kept;
	return rows;
}

bool counters_never(const struct counters *cs, char *names, size_t len)
{
	*names = 0;
	for (unsigned i = 0; i < cs->choice.cnt; i++) {
		size_t used = strlen(names);

		if (cs->had.time[i] && !cs->had.turn[i] && cs->choice.event[i].kind == EVENT_CORE)
			snprintf(names + used, len - used, "%s%s", used ? ", " : "",
				 cs->choice.event[i].name);
	}
	return *names != 0;
}

void counters_renew(struct counters *cs)
{
	memset(cs->had.time, 0, sizeof(cs->had.time));
	memset(cs->had.turn, 0, sizeof(cs->had.turn));
	cs->has_told = false;
	cs->rows = 0;
}

uint64_t counters_lost(const struct counters *cs)
{
	return cs->lost;
}
