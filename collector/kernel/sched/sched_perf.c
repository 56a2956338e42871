/*
 * sched_perf.c - context switches from perf_event_open, for users without the right to load eBPF.
 *
 * Each thread that is followed gets one software event per CPU, which its children inherit; all events
 * of a CPU write into one ring. (One event for all CPUs would do, but the kernel refuses to map the
 * ring of an inherited event that is not bound to a CPU.) Unavailable this way: the waking thread,
 * the reason of a wait, exit statuses. A thread that ends is cut off before its last switch; its EXIT
 * record stands for that.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/privilege.h"
#include "collector/base/grow.h"
#include "collector/base/limits.h"
#include "collector/base/now.h"
#include "collector/kernel/perf/perf_rings.h"
#include "collector/kernel/sched/sched_internal.h"
#include "collector/base/proc.h"

#define PAGES_MOST  128u /* grant of perf_event_mlock_kb (516) per CPU without privileges */
#define PAGES_LEAST 4u
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

/* Fields that sample_id_all puts at the end of every record for our sample_type. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t ns;
	uint32_t cpu, reserved;
};
#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct task_record { /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t ns;
};
struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};
/* A CPU's last switch: its thread, and whether that was an out. */
struct last {
	uint32_t tid;
	bool is_out;
};

/* A thread that was there when its process was followed. */
struct known {
	uint32_t pid, tid;
	uint64_t ns;
	bool is_told;
	char comm[16];
};

struct perf {
	struct perf_rings rings;
	struct last *last; /* of each CPU */
	uint64_t *next_ns;
	int *fds;
	size_t fd_cnt, fd_max;
	struct known *known;
	size_t known_cnt;
	uint64_t lost_records; /* by PERF_RECORD_LOST */
	uint64_t lost_counted; /* by the events' own counters, after the end */
	bool counts_lost;      /* the kernel has those */
};

static int event_open(const struct perf *p, pid_t tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SAMPLE_TYPE,
		.read_format = p->counts_lost ? PERF_RINGS_FORMAT_LOST : 0,
		.sample_id_all = 1,
		.context_switch = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.inherit = tid != -1,
		.exclude_kernel = 1, /* without it paranoid level 2 refuses; switches come anyway */
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = INT32_MAX, /* we poll: never wake */
	};

	return perf_rings_event(&attr, tid, cpu);
}

static void explain(const struct sched *s, int err, char *why, size_t why_len, char *fix,
		    size_t fix_len)
{
	int level = (int)perf_rings_setting("perf_event_paranoid", 99),
	    enough = s->mode == SCHED_MODE_SYSTEM ? 0 : 2;

	if (err == -ENOSYS || err == -ENOENT || level == 99) {
		snprintf(why, why_len, "the kernel has no perf_event_open");
		snprintf(fix, fix_len, "boot a kernel built with CONFIG_PERF_EVENTS=y");
	} else if ((err == -EACCES || err == -EPERM) && level > enough &&
		   !privilege_has(CAP_PERFMON) && !privilege_has(CAP_SYS_ADMIN)) {
		snprintf(why, why_len,
			 "perf_event_open needs kernel.perf_event_paranoid at %d or lower%s, it is "
			 "%d",
			 enough, enough ? "" : " to see the whole system", level);
		snprintf(fix, fix_len, "sudo sysctl kernel.perf_event_paranoid=%d", enough);
	} else if (err == -EACCES || err == -EPERM) {
		snprintf(why, why_len,
			 "perf_event_open is refused (a container's seccomp profile?)");
		snprintf(fix, fix_len,
			 "run the container with --cap-add=PERFMON or "
			 "--security-opt seccomp=unconfined");
	} else {
		snprintf(why, why_len, "perf_event_open: %s", strerror(-err));
		snprintf(fix, fix_len, "%s", err == -EMFILE ? "ulimit -n 65536" : "");
	}
}

static int keep_fd(struct perf *p, int fd)
{
	if (!grow(&p->fds, p->fd_cnt, &p->fd_max, sizeof(*p->fds)))
		return -ENOMEM;
	p->fds[p->fd_cnt++] = fd;
	return 0;
}

/* Events for thread @tid (-1: all) on every CPU. 0 also when the thread is gone. */
static int watch(struct sched *s, pid_t tid)
{
	struct perf *p = s->data;
	int fd, err, opened = 0;

	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++) {
		fd = event_open(p, tid, (int)cpu);
		if (fd == -EINVAL && p->counts_lost && !opened) {
			p->counts_lost = false; /* before Linux 6.0 */
			fd = event_open(p, tid, (int)cpu);
		}
		if (fd == -EMFILE && limits_raise_descriptors())
			fd = event_open(p, tid, (int)cpu);
		if (fd == -ENODEV) /* CPU is offline */
			continue;
		if (fd == -ESRCH)
			return 0;
		if (fd < 0)
			return fd;
		err = perf_rings_join(&p->rings, cpu, fd);
		if (err >= 0)
			err = keep_fd(p, fd);
		if (err) {
			close(fd);
			return err;
		}
		opened++;
	}
	return opened ? 0 : -ENODEV;
}

static int perf_open(struct sched *s, char *why, size_t why_len, char *fix, size_t fix_len)
{
	struct perf *p = s->data = calloc(1, sizeof(*p));
	unsigned pages = sched_tuning.pages_per_cpu ? sched_tuning.pages_per_cpu : PAGES_MOST;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int err = -ENOMEM, fd;

	if (!p)
		goto failed;
	p->counts_lost = true;
	p->next_ns = calloc(s->cpu.cnt, sizeof(*p->next_ns));
	p->last = calloc(s->cpu.cnt, sizeof(*p->last));
	if (perf_rings_init(&p->rings, s->cpu.cnt, pages * page, PAGES_LEAST * page) ||
	    !p->next_ns || !p->last)
		goto failed;
	if (s->mode == SCHED_MODE_SYSTEM) {
		err = watch(s, -1);
	} else { /* nothing to watch yet, but say now whether it will work */
		fd = event_open(p, 0, -1);
		if (fd == -EINVAL) {
			p->counts_lost = false;
			fd = event_open(p, 0, -1);
		}
		err = fd < 0 ? fd : 0;
		if (fd >= 0)
			close(fd);
	}
	if (!err)
		return 0;
failed:
	explain(s, err, why, why_len, fix, fix_len);
	return err;
}

/* Remembers thread @tid; its name is delivered at the next poll. 1 when it was new. */
static int know(struct perf *p, uint32_t pid, uint32_t tid)
{
	struct known *grown, *k;
	char path[64];
	FILE *f;

	for (size_t i = 0; i < p->known_cnt; i++) {
		if (p->known[i].tid == tid && p->known[i].pid == pid)
			return 0;
	}
	grown = realloc(p->known, (p->known_cnt + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->known = grown;
	k = &p->known[p->known_cnt++];
	*k = (struct known){.pid = pid, .tid = tid, .ns = (uint64_t)mono_ns()};
	snprintf(path, sizeof(path), "%s/%u/task/%u/comm", proc_root(), pid, tid);
	f = fopen(path, "re");
	if (f && fgets(k->comm, sizeof(k->comm), f))
		k->comm[strcspn(k->comm, "\n")] = 0;
	if (f)
		fclose(f);
	return 1;
}

static int follow_thread(void *ctx, pid_t pid, uint32_t tid)
{
	struct sched *s = ctx;
	int err = know(s->data, (uint32_t)pid, tid);

	if (err != 1)
		return err;
	err = watch(s, (pid_t)tid);
	return err < 0 ? err : 1;
}

/* A thread started by a watched one may be watched twice: take_switch() leaves the second record of each switch out. */
static int perf_follow(struct sched *s, pid_t pid)
{
	return perf_follow_threads(pid, follow_thread, s);
}

/* ---- records ---- */

static const struct sample_id *id_of(const struct perf_event_header *record)
{
	return (const void *)((const char *)record + record->size - sizeof(struct sample_id));
}

static void take_switch(struct sched *s, struct last *last, const struct perf_event_header *record,
			const struct sample_id *id)
{
	bool is_out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool is_preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

	/* 0: the idle thread or one outside our PID namespace; ~0: a thread after its EXIT */
	if (!id->tid || id->tid >= SCHED_KEY_LIMIT)
		return;
	if (last->tid == id->tid && last->is_out == is_out)
		return;
	last->tid = id->tid;
	last->is_out = is_out;
	if (is_out) {
		struct track_out out = {
			.key = id->tid,
			.pid = id->pid,
			.tid = id->tid,
			.state = is_preempted ? SCHED_STATE_RUNNING : SCHED_STATE_UNKNOWN,
			.preempted = is_preempted,
			.priority = -1,
		};

		track_out(s, id->ns, id->cpu, &out);
	} else {
		struct track_in in = {
			.key = id->tid, .pid = id->pid, .tid = id->tid, .priority = -1};

		track_in(s, id->ns, id->cpu, &in);
	}
}

static void take_comm(struct sched *s, const struct comm_record *c, const struct sample_id *id)
{
	if (c->tid >= SCHED_KEY_LIMIT)
		return;
	if (c->header.misc & PERF_RECORD_MISC_COMM_EXEC)
		track_exec(s, id->ns, id->cpu, c->tid, 0, c->pid, c->tid, c->comm,
			   &(struct sched_exec){0});
	else
		track_rename(s, id->ns, c->tid, c->pid, c->tid, c->comm);
}

static void take_task(struct sched *s, const struct task_record *t, const struct sample_id *id)
{
	struct track_task task = {
		.key = t->tid,
		.pid = t->pid,
		.tid = t->tid,
		.parent_key = t->parent_tid,
		.parent_pid = t->parent_pid,
		.parent_tid = t->parent_tid,
		.is_born = true,
	};

	if (!t->tid || t->tid >= SCHED_KEY_LIMIT)
		return;
	if (t->header.type == PERF_RECORD_FORK)
		track_task(s, id->ns, &task);
	else
		track_exit(s, id->ns, t->tid, t->pid, t->tid, -1, true);
}

/* Time of @cpu's first record that is not taken yet. */
static uint64_t next_of(struct perf *p, unsigned cpu)
{
	const struct perf_event_header *record = perf_rings_first(&p->rings, cpu);

	return record ? id_of(record)->ns : SCHED_DRAINED;
}

static uint64_t take(struct sched *s, unsigned stream)
{
	struct perf *p = s->data;
	const struct perf_event_header *record = perf_rings_first(&p->rings, stream);
	const struct sample_id *id = id_of(record);

	switch (record->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		take_switch(s, &p->last[stream], record, id);
		break;
	case PERF_RECORD_COMM:
		take_comm(s, (const void *)record, id);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(s, (const void *)record, id);
		break;
	case PERF_RECORD_LOST:
		p->lost_records += ((const struct perf_lost_record *)record)->lost;
		p->last[stream].tid = 0;
		break;
	default:
		break;
	}
	perf_rings_take(&p->rings, stream);
	return next_of(p, stream);
}

static void tell_known(struct sched *s)
{
	struct perf *p = s->data;

	for (size_t i = p->known_cnt; i-- > 0 && !p->known[i].is_told;) {
		struct known *k = &p->known[i];
		struct track_task task = {
			.key = k->tid, .pid = k->pid, .tid = k->tid, .comm = k->comm};

		k->is_told = true;
		if (k->tid < SCHED_KEY_LIMIT)
			track_task(s, k->ns, &task);
	}
}

static int perf_poll(struct sched *s, uint64_t horizon_ns)
{
	struct perf *p = s->data;

	tell_known(s);
	perf_rings_look(&p->rings);
	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++)
		p->next_ns[cpu] = next_of(p, cpu);
	sched_merge(s, p->next_ns, s->cpu.cnt, horizon_ns, take);
	perf_rings_done(&p->rings);
	return 0;
}

static unsigned perf_fill(const struct sched *s)
{
	const struct perf *p = s->data;

	return perf_rings_fill(&p->rings);
}

static uint64_t perf_lost(const struct sched *s)
{
	const struct perf *p = s->data;

	return p->lost_counted > p->lost_records ? p->lost_counted : p->lost_records;
}

static void perf_stop(struct sched *s)
{
	struct perf *p = s->data;

	for (size_t i = 0; i < p->fd_cnt; i++)
		ioctl(p->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	/* A LOST record needs room in the ring and a later event: the last ones may never come. */
	for (size_t i = 0; p->counts_lost && i < p->fd_cnt; i++)
		p->lost_counted += perf_rings_event_lost(p->fds[i]);
}

static void perf_close(struct sched *s)
{
	struct perf *p = s->data;

	if (!p)
		return;
	perf_rings_release(&p->rings);
	for (size_t i = 0; i < p->fd_cnt; i++)
		close(p->fds[i]);
	free(p->fds);
	free(p->known);
	free(p->next_ns);
	free(p->last);
	free(p);
	s->data = NULL;
}

const struct sched_driver sched_driver_perf = {
	.id = SCHED_BACKEND_PERF,
	.open = perf_open,
	.follow = perf_follow,
	.poll = perf_poll,
	.fill = perf_fill,
	.lost = perf_lost,
	.stop = perf_stop,
	.close = perf_close,
};
