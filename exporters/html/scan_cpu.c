/* scan_cpu.c - which process had how many processors when, from context switches. */
#include <stdlib.h>

#include "collector/base/grow.h"
#include "exporters/read/db_read.h"
#include "exporters/html/scan.h"

struct thread {
	int64_t since; /* got its CPU */
	int64_t last;
	long process;
	bool runs;
};

struct pass {
	struct scan *scan;
	struct id_map tids;
	struct thread *threads;
	size_t room;
	bool late; /* the rows of a thread are not in the order of time */
};

static int count_run(struct scan *s, struct process *p, int64_t start, int64_t end)
{
	p->cpu_ns += (double)(end - start);
	s->cpu_ns += (double)(end - start);
	return curve_spread(&p->cpu, &s->axis, start, end, (double)(end - start)) < 0
		       ? scan_fail(s, 0)
		       : 0;
}

static struct thread *find_thread(struct pass *p, int64_t gtid)
{
	size_t known = p->tids.cnt;
	long i = id_map_add(&p->tids, gtid);

	if (i < 0)
		return NULL;
	if (!grow(&p->threads, (size_t)i, &p->room, sizeof(*p->threads)))
		return NULL;
	if ((size_t)i == known) {
		struct process *process = scan_process(p->scan, gtid >> 24);

		if (!process)
			return NULL;
		p->threads[i] =
			(struct thread){.last = INT64_MIN, .process = process - p->scan->processes};
	}
	return &p->threads[i];
}

/* An interval counts when both its ends are there; cpu_sum.sql and thread_cpu_sum.sql say the same. */
static int take(struct pass *p, int64_t at, bool in, int64_t gtid)
{
	struct thread *t = find_thread(p, gtid);
	int rc = 0;

	if (!t)
		return scan_fail(p->scan, 0);
	if (at < t->last || (at == t->last && in && !t->runs))
		p->late = true;
	t->last = at;
	if (!in && t->runs)
		rc = count_run(p->scan, &p->scan->processes[t->process], t->since, at);
	t->runs = in;
	t->since = at;
	p->scan->switches++;
	return rc;
}

static void forget(struct pass *p)
{
	struct scan *s = p->scan;

	for (size_t i = 0; i < s->process_cnt; i++) {
		curve_free(&s->processes[i].cpu);
		s->processes[i].cpu_ns = 0;
	}
	s->cpu_ns = 0;
	s->switches = 0;
	p->late = false;
	for (size_t i = 0; i < p->tids.cnt; i++) {
		p->threads[i].runs = false;
		p->threads[i].last = INT64_MIN;
	}
}

static int run(struct pass *p, bool sorted)
{
	sqlite3_stmt *stmt =
		scan_prepare(p->scan, sorted ? "SELECT start, isSchedIn, globalTid FROM "
					       "SCHED_EVENTS WHERE globalTid IS NOT NULL "
					       "ORDER BY start, isSchedIn DESC"
					     : "SELECT start, isSchedIn, globalTid FROM "
					       "SCHED_EVENTS WHERE globalTid IS NOT NULL");
	int rc, err = 0;

	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && err == 0 && (sorted || !p->late))
		err = take(p, scan_time(stmt, 0), sqlite3_column_int(stmt, 1) != 0,
			   sqlite3_column_int64(stmt, 2));
	sqlite3_finalize(stmt);
	return err == 0 && rc != SQLITE_DONE && rc != SQLITE_ROW ? scan_fail(p->scan, rc) : err;
}

/* A thread that runs last runs until the end of the session. */
static int end_runs(struct pass *p)
{
	int64_t stop = p->scan->session_ns;
	int rc = 0;

	for (size_t i = 0; i < p->tids.cnt; i++)
		if (p->threads[i].last > stop)
			stop = p->threads[i].last;
	for (size_t i = 0; i < p->tids.cnt && rc == 0; i++)
		if (p->threads[i].runs)
			rc = count_run(p->scan, &p->scan->processes[p->threads[i].process],
				       p->threads[i].since, stop);
	return rc;
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
	struct pass p = {.scan = s};
	int rc = 0;

	s->has_cpu = db_read_has(s->db, "SCHED_EVENTS");
	if (s->has_cpu) {
		rc = run(&p, false);
		if (rc == 0 && p.late) {
			forget(&p);
			rc = run(&p, true);
		}
		if (rc == 0)
			rc = end_runs(&p);
	}
	if (rc == 0)
		rc = count_cpus(s);
	id_map_free(&p.tids);
	free(p.threads);
	return rc;
}
