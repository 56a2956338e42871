/*
 * scan_gpu.c - when each GPU was busy, the kinds of its work, and its memory in use.
 *
 * Time in which at least one kernel ran needs rows in the order of their start. The tables are read
 * side by side, always the one that is behind; rows slightly out of order are sorted in a buffer. A row that comes later than
 * that makes the pass begin again with sorted rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/events/gpu_work.h"
#include "exporters/read/db_read.h"
#include "exporters/html/scan.h"

#define BUFFER 131072

struct row {
	int64_t start, end;
	uint32_t gpu;
	enum gpu_work_kind work;
};

struct source {
	sqlite3_stmt *stmt;
	enum gpu_work_kind work;
	int64_t start;
	bool more;
};

struct pass {
	struct scan *scan;
	struct source source[GPU_WORK_KINDS];
	struct row *rows; /* the buffer */
	size_t row_cnt;
	int64_t done; /* rows that start before this have been counted */
	bool late;    /* one came after that */
	struct id_map *ordinals, *gpu_ids;
	int64_t *gpu_of; /* by the number of an ordinal */
};

/* ---- which GPU is it ---- */

#define ORDINAL(pid, device) ((int64_t)((uint64_t)(pid) << 32 | (uint32_t)(device)))

/* The device of one process may be another GPU than the same number of the next: where the report has that. */
static int read_ordinals(struct pass *p)
{
	sqlite3_stmt *stmt = scan_prepare(
		p->scan, "SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE "
			 "WHERE pid IS NOT NULL AND cudaId IS NOT NULL AND gpuId IS NOT NULL");
	int rc;

	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		long i = id_map_add(p->ordinals, ORDINAL(sqlite3_column_int64(stmt, 0),
							 sqlite3_column_int64(stmt, 1)));
		int64_t *more =
			i < 0 ? NULL
			      : reallocarray(p->gpu_of, p->ordinals->cnt, sizeof(*p->gpu_of));

		if (!more) {
			sqlite3_finalize(stmt);
			return scan_fail(p->scan, 0);
		}
		p->gpu_of = more;
		p->gpu_of[i] = sqlite3_column_int64(stmt, 2);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : scan_fail(p->scan, rc);
}

/* Index of the GPU in scan->gpus, made when it is new; -1: out of memory. */
static long gpu_index(struct pass *p, int64_t gpid, int64_t device)
{
	struct scan *s = p->scan;
	long known = id_map_find(p->ordinals, ORDINAL(gpid & 0xFFFFFF, device));
	int64_t id = known >= 0 ? p->gpu_of[known] : device;
	long i = id_map_add(p->gpu_ids, id);

	if (i >= 0 && (size_t)i == s->gpu_cnt) {
		struct gpu *more = reallocarray(s->gpus, s->gpu_cnt + 1, sizeof(*more));

		if (!more)
			return -1;
		s->gpus = more;
		s->gpus[i] = (struct gpu){.id = id,
					  .kernel_end = INT64_MIN,
					  .copy_end = INT64_MIN,
					  .busy_end = INT64_MIN};
		s->gpu_cnt++;
	}
	return i;
}

static void forget_gpus(struct scan *s)
{
	for (size_t i = 0; i < s->gpu_cnt; i++) {
		curve_free(&s->gpus[i].kernels);
		curve_free(&s->gpus[i].copies);
	}
	s->gpu_cnt = 0;
	for (size_t i = 0; i < s->process_cnt; i++)
		s->processes[i].kernel_ns = 0;
	s->kernel_time = (struct histogram){0};
	s->copy_cnt = s->graph_cnt = 0;
	s->copy_bytes = 0;
	s->kernel_sum_ns = 0;
}

/* ---- counting ---- */

/* Cuts [start, end] to the part after @upto, which moves on: rows come by start. Returns the length of the part. */
static int64_t fresh(int64_t *start, int64_t end, int64_t *upto)
{
	if (end <= *upto)
		return 0;
	if (*start < *upto)
		*start = *upto;
	*upto = end;
	return end - *start;
}

static int count_row(struct scan *s, const struct row *r)
{
	struct gpu *g = &s->gpus[r->gpu];
	bool kernel = r->work == GPU_WORK_KERNEL || r->work == GPU_WORK_GRAPH;
	int64_t from = r->start, ns;

	g->busy_ns += (double)fresh(&from, r->end, &g->busy_end);
	from = r->start;
	ns = fresh(&from, r->end, kernel ? &g->kernel_end : &g->copy_end);
	*(kernel ? &g->kernel_ns : &g->copy_ns) += (double)ns;
	if (ns > 0 &&
	    curve_spread(kernel ? &g->kernels : &g->copies, &s->axis, from, r->end, (double)ns) < 0)
		return scan_fail(s, 0);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Counts the first @cnt rows of the buffer, in order, and moves the others up. */
static int drain(struct pass *p, size_t cnt)
{
	bool sorted = true;

	for (size_t i = 1; i < p->row_cnt && sorted; i++)
		sorted = p->rows[i - 1].start <= p->rows[i].start;
	if (!sorted)
		qsort(p->rows, p->row_cnt, sizeof(*p->rows), by_start);
	for (size_t i = 0; i < cnt; i++) {
		if (p->rows[i].start < p->done) {
			p->late = true;
			return 0;
		}
		p->done = p->rows[i].start;
		if (count_row(p->scan, &p->rows[i]) < 0)
			return -1;
	}
	p->row_cnt -= cnt;
	memmove(p->rows, p->rows + cnt, p->row_cnt * sizeof(*p->rows));
	return 0;
}

static int take(struct pass *p, struct source *from)
{
	struct scan *s = p->scan;
	int64_t end = scan_time(from->stmt, 1);
	int64_t gpid = sqlite3_column_int64(from->stmt, 3);
	long gpu = gpu_index(p, gpid, sqlite3_column_int64(from->stmt, 2));
	struct process *process = scan_process(s, gpid);

	if (gpu < 0 || !process)
		return scan_fail(s, 0);
	if (from->work == GPU_WORK_KERNEL) {
		histogram_add_125(&s->kernel_time, end - from->start);
		s->kernel_sum_ns += (double)(end - from->start);
		process->kernel_ns += (double)(end - from->start);
		s->gpus[gpu].kernel_cnt++;
	} else if (from->work == GPU_WORK_MEMCPY) {
		s->copy_cnt++;
		s->copy_bytes += (double)sqlite3_column_int64(from->stmt, 4);
	} else if (from->work == GPU_WORK_GRAPH) {
		s->graph_cnt++;
	}
	p->rows[p->row_cnt++] = (struct row){from->start, end, (uint32_t)gpu, from->work};
	return p->row_cnt < BUFFER ? 0 : drain(p, BUFFER / 2);
}

static int step(struct scan *s, struct source *from)
{
	int rc = sqlite3_step(from->stmt);

	from->more = rc == SQLITE_ROW;
	if (from->more)
		from->start = scan_time(from->stmt, 0);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : scan_fail(s, rc);
}

static int open_sources(struct pass *p, bool sorted)
{
	for (unsigned i = 0; i < GPU_WORK_KINDS; i++) {
		struct source *from = &p->source[i];
		char *part = gpu_work_of(p->scan->db, i);
		char *sql = part ? sqlite3_mprintf("SELECT start, end, deviceId, globalPid >> 24, "
						   "bytes FROM %s WHERE end >= start%s",
						   part, sorted ? " ORDER BY start" : "")
				 : NULL;

		from->work = i;
		from->stmt = sql ? scan_prepare(p->scan, sql) : NULL;
		sqlite3_free(part);
		sqlite3_free(sql);
		if (!from->stmt || step(p->scan, from) < 0)
			return -1;
		p->scan->has_gpu_work |= from->more;
	}
	return 0;
}

static int run(struct pass *p, bool sorted)
{
	int rc = open_sources(p, sorted);

	p->done = INT64_MIN;
	while (rc == 0 && !p->late) {
		struct source *behind = NULL;

		for (size_t i = 0; i < GPU_WORK_KINDS; i++)
			if (p->source[i].more && (!behind || p->source[i].start < behind->start))
				behind = &p->source[i];
		if (!behind)
			break;
		rc = take(p, behind);
		if (rc == 0)
			rc = step(p->scan, behind);
	}
	if (rc == 0 && !p->late)
		rc = drain(p, p->row_cnt);
	for (size_t i = 0; i < GPU_WORK_KINDS; i++)
		sqlite3_finalize(p->source[i].stmt);
	memset(p->source, 0, sizeof(p->source));
	return rc;
}

/* ---- names, order ---- */

static int name_gpus(struct scan *s)
{
	sqlite3_stmt *stmt = scan_prepare(s, "SELECT name FROM TARGET_INFO_GPU WHERE id = ?1");

	for (size_t i = 0; stmt && i < s->gpu_cnt; i++) {
		const char *name;

		sqlite3_bind_int64(stmt, 1, s->gpus[i].id);
		if (sqlite3_step(stmt) == SQLITE_ROW &&
		    (name = (const char *)sqlite3_column_text(stmt, 0)) != NULL)
			snprintf(s->gpus[i].name, sizeof(s->gpus[i].name), "%s", name);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return stmt ? 0 : -1;
}

static int by_id(const void *a, const void *b)
{
	const struct gpu *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* ---- memory ---- */

static int take_memory(struct pass *p, sqlite3_stmt *stmt)
{
	struct scan *s = p->scan;
	long i = gpu_index(p, sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2));
	double bytes = sqlite3_column_double(stmt, 3);
	struct level *l;

	if (i < 0)
		return scan_fail(s, 0);
	if (!s->gpus[i].memory)
		s->gpus[i].memory = calloc(1, sizeof(*l));
	l = s->gpus[i].memory;
	if (!l)
		return scan_fail(s, 0);
	if (sqlite3_column_int(stmt, 4) ==
	    1) /* freed; the memory in use before the recording is not known */
		bytes = bytes > l->now ? -l->now : -bytes;
	level_set(l, &s->axis, scan_time(stmt, 0), l->now + bytes);
	s->has_memory = true;
	return 0;
}

/* Memory of the GPU: neither pageable (0) nor pinned (1) memory of the host. */
static int read_memory(struct pass *p)
{
	static const char sql[] =
		"SELECT start, globalPid >> 24, deviceId, bytes, memoryOperationType "
		"FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memKind NOT IN (0, 1) ORDER BY start";
	sqlite3_stmt *stmt;
	int rc, err = 0;

	if (!db_read_has(p->scan->db, "CUDA_GPU_MEMORY_USAGE_EVENTS"))
		return 0;
	stmt = scan_prepare(p->scan, sql);
	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && err == 0)
		err = take_memory(p, stmt);
	sqlite3_finalize(stmt);
	if (err == 0 && rc != SQLITE_DONE)
		err = scan_fail(p->scan, rc);
	for (size_t i = 0; i < p->scan->gpu_cnt; i++)
		if (p->scan->gpus[i].memory)
			level_end(p->scan->gpus[i].memory);
	return err;
}

int scan_gpu(struct scan *s)
{
	struct id_map ordinals = {0}, gpu_ids = {0};
	struct pass p = {.scan = s, .ordinals = &ordinals, .gpu_ids = &gpu_ids};
	int rc = read_ordinals(&p);

	p.rows = malloc(BUFFER * sizeof(*p.rows));
	if (rc == 0 && !p.rows)
		rc = scan_fail(s, 0);
	if (rc == 0)
		rc = run(&p, false);
	if (rc == 0 && p.late) {
		forget_gpus(s);
		id_map_free(&gpu_ids);
		p.row_cnt = 0;
		p.late = false;
		rc = run(&p, true);
	}
	if (rc == 0)
		rc = read_memory(&p);
	if (rc == 0)
		rc = name_gpus(s);
	if (rc == 0 && s->gpu_cnt > 1)
		qsort(s->gpus, s->gpu_cnt, sizeof(*s->gpus), by_id);
	free(p.rows);
	free(p.gpu_of);
	id_map_free(&ordinals);
	id_map_free(&gpu_ids);
	return rc;
}
