/* model_gpu.c - what GPUs did, and which calls started it. */
#include "exporters/why/model_internal.h"

#include <stdlib.h>
#include <string.h>

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

/* start, end, deviceId, streamId, correlationId, globalPid, name, work */
static bool op_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_op o = {.start = why_time(stmt, 0), .end = why_time(stmt, 1)};

	/* An end that is not known is 0. */
	if (o.end <= o.start || sqlite3_column_type(stmt, 0) == SQLITE_NULL ||
	    sqlite3_column_type(stmt, 1) == SQLITE_NULL)
		return true;
	o = (struct why_op){
		.start = o.start,
		.end = o.end,
		.stream = (uint32_t)sqlite3_column_int(stmt, 3),
		.launch = (uint32_t)sqlite3_column_int64(stmt, 4),
		.process = why_model_process(m, sqlite3_column_int64(stmt, 5) >> 24),
		.name = why_number(&m->names, stmt, 6),
		.work = (uint32_t)sqlite3_column_int(stmt, 7),
	};

	if (o.process == WHY_NONE || !grow(&m->ops, m->ops_cnt, &m->ops_room, sizeof(o)))
		return false;
	o.device = gpu_of(m, o.process, (uint32_t)sqlite3_column_int(stmt, 2));
	m->ops[m->ops_cnt++] = o;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct why_op *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int by_launch(const void *a, const void *b)
{
	const struct why_launch *x = a, *y = b;

	return x->process != y->process
		       ? (x->process > y->process) - (x->process < y->process)
		       : (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

bool why_add_launch(struct why_model *m, uint32_t thread, const struct why_call *c)
{
	if (!grow(&m->launches, m->launches_cnt, &m->launches_room, sizeof(*m->launches)))
		return false;
	m->launches[m->launches_cnt++] = (struct why_launch){.correlation = c->correlation,
							     .process = m->threads[thread].process,
							     .thread = thread,
							     .name = c->name,
							     .stack = c->stack,
							     .start = c->start,
							     .end = c->end,
							     .done = WHY_NO_TIME};
	return true;
}

/* Which call started an operation: a table by process and correlation id. */
static void find_launches(struct why_model *m)
{
	for (size_t i = 0; i < m->launches_cnt; i++) {
		struct why_launch *l = &m->launches[i];
		const struct why_thread *t = &m->threads[l->thread];

		l->call = (uint32_t)why_last(t->gpu, t->gpu_cnt, sizeof(*t->gpu), l->start);
	}
	why_sort(m->launches, m->launches_cnt, sizeof(*m->launches), by_launch);
	for (size_t i = 0; i < m->ops_cnt; i++) {
		struct why_launch key = {.correlation = m->ops[i].launch,
					 .process = m->ops[i].process};
		struct why_launch *found = m->launches_cnt
						   ? bsearch(&key, m->launches, m->launches_cnt,
							     sizeof(key), by_launch)
						   : NULL;

		m->ops[i].launch = found ? (uint32_t)(found - m->launches) : WHY_NONE;
		if (found && found->done < m->ops[i].end)
			found->done = m->ops[i].end;
	}
}

#define OPS(name, work, table)                                                             \
	"SELECT start, end, deviceId, streamId, correlationId, globalPid, " name ", " work \
	" FROM CUPTI_ACTIVITY_KIND_" table " WHERE true"

/* work: enum why_work. Copies from a device or an array to the host: 2, 4. */
static const char *const ops_sql[] = {
	OPS("shortName", "0", "KERNEL"), OPS("NULL", "1", "GRAPH_TRACE"),
	OPS("NULL", "CASE WHEN copyKind IN (2, 4) THEN 3 ELSE 2 END", "MEMCPY"),
	OPS("NULL", "4", "MEMSET")};
#define TABLES (sizeof(ops_sql) / sizeof(*ops_sql))

struct merge {
	sqlite3_stmt *stmt[TABLES];
	int64_t start[TABLES]; /* of the row that comes next */
	bool has[TABLES];
};

static int step(struct merge *g, size_t i)
{
	int rc = sqlite3_step(g->stmt[i]);

	g->has[i] = rc == SQLITE_ROW;
	if (g->has[i])
		g->start[i] = sqlite3_column_int64(g->stmt[i], 0);
	return g->has[i] || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Tables are in order of time, mostly: merged, so are all operations. */
static int read_ops(struct why_model *m)
{
	struct merge g = {0};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < TABLES && rc == SQLITE_OK; i++) {
		char *sql = why_near_sql(m, ops_sql[i], "globalPid");

		rc = sql ? sqlite3_prepare_v2(m->db, sql, -1, &g.stmt[i], NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
		if (rc == SQLITE_OK)
			rc = step(&g, i);
	}
	while (rc == SQLITE_OK) {
		size_t best = TABLES;

		for (size_t i = 0; i < TABLES; i++)
			if (g.has[i] && (best == TABLES || g.start[i] < g.start[best]))
				best = i;
		if (best == TABLES)
			break;
		rc = op_row(m, g.stmt[best]) ? step(&g, best) : SQLITE_NOMEM;
	}
	for (size_t i = 0; i < TABLES; i++)
		sqlite3_finalize(g.stmt[i]);
	return rc;
}

int why_read_gpu(struct why_model *m)
{
	int rc = why_rows(m->db,
			  "SELECT DISTINCT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE "
			  "WHERE gpuId IS NOT NULL LIMIT 65536",
			  device_row, m);

	if (rc == SQLITE_OK)
		rc = read_ops(m);
	if (rc != SQLITE_OK)
		return rc;
	why_sort(m->ops, m->ops_cnt, sizeof(*m->ops), by_start);
	find_launches(m);
	m->reach = calloc(m->ops_cnt + 1, sizeof(*m->reach));
	if (!m->reach)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < m->ops_cnt; i++)
		m->reach[i] =
			i && m->reach[i - 1] > m->ops[i].end ? m->reach[i - 1] : m->ops[i].end;
	return SQLITE_OK;
}
