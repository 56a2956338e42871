/* model_gpu.c - GPU work, and the calls that started it. */
#include "exporters/why/model/model_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/search.h"
#include "exporters/events/gpu_work.h"
#include "exporters/sql/sweeps.h"

#define REACH_OPS 16 /* operations of a block */
#define NEXT      8  /* launches that are looked at before they are searched */

/* pid, cudaId, gpuId */
static bool device_row(struct why_model *m, sqlite3_stmt *stmt)
{
	if (!grow(&m->devices, m->devices_cnt, &m->devices_room, sizeof(*m->devices)))
		return false;
	m->devices[m->devices_cnt++] =
		(struct why_device){.pid = sqlite3_column_int64(stmt, 0),
				    .ordinal = (uint32_t)sqlite3_column_int(stmt, 1),
				    .gpu = (uint32_t)sqlite3_column_int(stmt, 2)};
	return true;
}

/* Rows of the same process and GPU mostly follow each other: the device found last stands first. */
static uint32_t gpu_of(struct why_model *m, uint32_t process, uint32_t ordinal)
{
	int64_t pid = m->processes[process].pid & 0xffffff;

	for (size_t i = 0; i < m->devices_cnt; i++) {
		struct why_device d = m->devices[i];

		if (d.pid != pid || d.ordinal != ordinal)
			continue;
		m->devices[i] = m->devices[0];
		m->devices[0] = d;
		return d.gpu;
	}
	return ordinal;
}

/* ---- operations ---- */

/* start, end, deviceId, streamId, correlationId, process, name, work */
static int op_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	struct why_op o = {.start = why_time(v[0]), .end = why_time(v[1])};
	struct why_kind k;

	/* An end that is not known is 0. */
	if (o.end <= o.start || sqlite3_value_type(v[0]) == SQLITE_NULL ||
	    sqlite3_value_type(v[1]) == SQLITE_NULL)
		return SQLITE_OK;
	k = (struct why_kind){
		.name = why_number(&m->names, v[6]),
		.stream = (uint32_t)sqlite3_value_int(v[3]),
		.process = why_model_process(m, sqlite3_value_int64(v[5])),
		.work = (uint32_t)sqlite3_value_int(v[7]),
	};
	if (k.process == WHY_NONE)
		return SQLITE_NOMEM;
	k.device = gpu_of(m, k.process, (uint32_t)sqlite3_value_int(v[2]));
	o.kind = tuples_add(&m->kinds, &k.name);
	o.launch = (uint32_t)sqlite3_value_int64(v[4]);
	if (o.kind == WHY_NONE || !big_grow(&m->ops, m->ops_cnt, &m->ops_room, sizeof(o)))
		return SQLITE_NOMEM;
	m->ops[m->ops_cnt++] = o;
	return SQLITE_OK;
}

static int by_start(const void *a, const void *b)
{
	const struct why_op *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Merges two ordered parts of the operations, the first @cnt and the rest, into one. */
static int merge(struct why_model *m, size_t cnt)
{
	size_t a = cnt, b = m->ops_cnt - cnt, to = m->ops_cnt;
	struct why_op *later;

	if (!a || !b || by_start(&m->ops[a - 1], &m->ops[a]) <= 0)
		return SQLITE_OK;
	later = big_calloc(b, sizeof(*later));
	if (!later)
		return SQLITE_NOMEM;
	memcpy(later, m->ops + cnt, b * sizeof(*later));
	while (b)
		m->ops[--to] =
			a && by_start(&m->ops[a - 1], &later[b - 1]) > 0 ? m->ops[--a] : later[--b];
	big_free(later);
	return SQLITE_OK;
}

/* Tables are in order of time, mostly: merged, so are all operations. */
static int read_ops(struct why_model *m)
{
	/* enum why_work; copies from a device or an array to the host: 2, 4 */
	static const char *const work[GPU_WORK_KINDS] = {
		[GPU_WORK_KERNEL] = "0",
		[GPU_WORK_MEMCPY] = "CASE WHEN copyKind IN (2, 4) THEN 3 ELSE 2 END",
		[GPU_WORK_MEMSET] = "4",
		[GPU_WORK_GRAPH] = "1",
	};
	int rc = SQLITE_OK;

	for (unsigned kind = 0; kind < GPU_WORK_KINDS && rc == SQLITE_OK; kind++) {
		char columns[160], *part = gpu_work_of(m->db, kind);
		char *from = part ? sqlite3_mprintf("%s WHERE true", part) : NULL;
		size_t before = m->ops_cnt;

		snprintf(columns, sizeof(columns),
			 "start, end, deviceId, streamId, correlationId, process, shortName, %s",
			 work[kind]);
		rc = from ? why_near_rows(m, columns, from, "globalPid", op_row) : SQLITE_NOMEM;
		sqlite3_free(part);
		sqlite3_free(from);
		if (rc != SQLITE_OK || m->ops_cnt == before)
			continue;
		why_sort(m->ops + before, m->ops_cnt - before, sizeof(*m->ops), by_start);
		rc = merge(m, before);
	}
	return rc;
}

/* ---- launches ---- */

static int by_id(const void *a, const void *b, void *model)
{
	const struct why_thread *t = ((const struct why_model *)model)->threads;
	const struct why_launch *x = a, *y = b;
	uint32_t p = t[x->thread].process, q = t[y->thread].process;

	return p != q ? (p > q) - (p < q)
		      : (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static bool add_launch(struct why_model *m, const struct why_launch *l)
{
	if (!big_grow(&m->launches, m->launches_cnt, &m->launches_room, sizeof(*l)))
		return false;
	m->launches[m->launches_cnt++] = *l;
	return true;
}

static bool add_inner(struct why_model *m, const struct why_call *c)
{
	if (m->inner_cnt >= WHY_OUTERMOST ||
	    !big_grow(&m->inner, m->inner_cnt, &m->inner_room, sizeof(*c)))
		return false;
	m->inner[m->inner_cnt++] = *c;
	return true;
}

/* Keeps the outermost calls. A call of a library includes the nested calls that start GPU work. */
static bool note_launches(struct why_model *m, uint32_t thread)
{
	struct why_thread *t = &m->threads[thread];
	struct why_call *list = t->gpu;
	size_t kept = 0;

	for (size_t i = 0; i < t->gpu_cnt; i++) {
		bool is_outermost = why_is_outermost(list, i, kept);
		/* The last call, if it never returned, has the rest of the time; as a launch it has no length. */
		bool is_inner = !is_outermost || list[i].end == list[i].start;
		struct why_launch l = {.correlation = list[i].correlation,
				       .thread = thread,
				       .call = (uint32_t)(is_outermost ? kept : kept - 1),
				       .inner = is_inner ? m->inner_cnt & WHY_OUTERMOST
							 : WHY_OUTERMOST};

		if (l.correlation && ((is_inner && !add_inner(m, &list[i])) || !add_launch(m, &l)))
			return false;
		if (is_outermost)
			list[kept++] = list[i];
	}
	why_end_calls(list, kept);
	t->gpu_cnt = kept;
	return true;
}

static bool is_launch(const struct why_model *m, size_t i, uint32_t process, uint32_t correlation)
{
	return i < m->launches_cnt && m->launches[i].correlation == correlation &&
	       m->threads[m->launches[i].thread].process == process;
}

static bool is_launch_before(const struct why_model *m, const struct why_launch *l,
			     uint32_t process, uint32_t correlation)
{
	uint32_t of = m->threads[l->thread].process;

	return of < process || (of == process && l->correlation < correlation);
}

uint32_t why_find_launch(const struct why_model *m, uint32_t process, uint32_t correlation)
{
	size_t low = search_first(i, 0, m->launches_cnt,
				  is_launch_before(m, &m->launches[i], process, correlation));

	return is_launch(m, low, process, correlation) ? (uint32_t)low : WHY_NONE;
}

static void note_end(struct why_model *m, struct why_launch *l, int64_t end)
{
	const struct why_call *c = &m->threads[l->thread].gpu[l->call];

	if (l->over != LAUNCH_GOES_ON)
		l->over = c->correlation == l->correlation && end <= c->end ? LAUNCH_IS_OVER
									    : LAUNCH_GOES_ON;
}

/* Finds the call that started each operation: mostly a call soon after the call of the operation before. */
static void join_ops(struct why_model *m)
{
	size_t next = 0;

	for (size_t i = 0; i < m->ops_cnt; i++) {
		struct why_op *o = &m->ops[i];
		uint32_t process = why_kind(m, o)->process, correlation = o->launch;
		size_t k = next;

		while (k < next + NEXT && !is_launch(m, k, process, correlation))
			k++;
		o->launch =
			k < next + NEXT ? (uint32_t)k : why_find_launch(m, process, correlation);
		if (o->launch == WHY_NONE)
			continue;
		note_end(m, &m->launches[o->launch], o->end);
		next = o->launch + 1;
	}
}

/* ---- all GPU work ---- */

static int find_reach(struct why_model *m)
{
	int64_t reach = INT64_MIN;

	m->reach = big_calloc(m->ops_cnt / REACH_OPS + 1, sizeof(*m->reach));
	if (!m->reach)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < m->ops_cnt; i++) {
		reach = reach > m->ops[i].end ? reach : m->ops[i].end;
		m->reach[i / REACH_OPS] = reach;
	}
	return SQLITE_OK;
}

size_t why_reach(const struct why_model *m, int64_t time)
{
	size_t low = search_first(i, 0, m->ops_cnt / REACH_OPS, m->reach[i] <= time);

	low *= REACH_OPS;
	while (low < m->ops_cnt && m->ops[low].end <= time)
		low++;
	return low;
}

int why_read_gpu(struct why_model *m)
{
	int rc = why_rows(m->db,
			  "SELECT DISTINCT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE "
			  "WHERE gpuId IS NOT NULL LIMIT 65536",
			  device_row, m);

	if (rc == SQLITE_OK)
		rc = read_ops(m);
	for (uint32_t i = 0; rc == SQLITE_OK && i < m->threads_cnt; i++)
		rc = note_launches(m, i) ? SQLITE_OK : SQLITE_NOMEM;
	if (rc != SQLITE_OK)
		return rc;
	why_sort_with(m->launches, m->launches_cnt, sizeof(*m->launches), by_id, m);
	join_ops(m);
	return find_reach(m);
}
