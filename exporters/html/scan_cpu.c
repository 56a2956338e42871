/* scan_cpu.c - which process had how many processors when, from context switches. */
#include "exporters/events/thread_states.h"
#include "exporters/html/scan.h"
#include "exporters/read/db_read.h"
#include "exporters/read/wall.h"

static int take(struct scan *s, const struct thread_state *t)
{
	struct process *p = scan_process(s, t->tid >> 24);
	int64_t start = wall_time(t->start), end = wall_time(t->end);
	double ns = (double)(end - start);

	if (!p)
		return scan_fail(s, 0);
	if (t->state != THREAD_RUNNING || t->end == THREAD_NONE)
		return 0;
	p->cpu_ns += ns;
	s->cpu_ns += ns;
	return curve_spread(&p->cpu, &s->axis, start, end, ns) < 0 ? scan_fail(s, 0) : 0;
}

static int read_runs(struct scan *s)
{
	struct thread_states_options opt = {.until = THREAD_NONE};
	struct thread_states *states;
	struct thread_state t;
	int rc = thread_states_open(s->db, &opt, &states), err = 0;

	if (rc == SQLITE_OK)
		while (err == 0 && (rc = thread_states_next(states, &t)) == SQLITE_ROW)
			err = take(s, &t);
	thread_states_free(states);
	return err == 0 && rc != SQLITE_DONE ? scan_fail(s, rc) : err;
}

/* How many there are; else how many were seen. */
static int count_cpus(struct scan *s)
{
	int64_t cnt;

	if (scan_number(s,
			"SELECT CAST(value AS INTEGER) FROM TARGET_INFO_SYSTEM_ENV "
			"WHERE name = 'CpuCores' AND CAST(value AS INTEGER) > 0",
			0, &cnt) < 0)
		return -1;
	if (cnt == 0 && s->has_cpu &&
	    scan_number(s, "SELECT max(cpu) + 1 FROM SCHED_EVENTS", 0, &cnt) < 0)
		return -1;
	s->cpu_cnt = cnt > 0 && cnt < 100000 ? (int)cnt : 0;
	return 0;
}

int scan_cpu(struct scan *s)
{
	s->has_cpu = db_read_has(s->db, "SCHED_EVENTS");
	if (s->has_cpu && read_runs(s) < 0)
		return -1;
	return count_cpus(s);
}
